"""``init``: finds the configs of a project, counts them, and proposes a table."""
