"""``explain``: the count of a config, component by component, as a formula and as numbers."""
