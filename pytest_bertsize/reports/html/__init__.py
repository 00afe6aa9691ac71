"""The page: one file, with its style in it and nothing to fetch."""
