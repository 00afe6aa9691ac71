"""Parts that families share: heads, ignored keys, and relative and rotary positions."""
