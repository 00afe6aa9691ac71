"""Parts that families share: heads, rules, and keys."""
