"""The HTML pages: one file each, with its style inside and nothing to fetch."""
