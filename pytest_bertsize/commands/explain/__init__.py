"""``explain``: what the count of a config is made of, component by component, as a formula and as numbers."""
