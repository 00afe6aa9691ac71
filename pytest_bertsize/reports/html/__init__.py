"""The HTML pages: each is one file, which contains its style and fetches nothing."""
