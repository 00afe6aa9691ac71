"""``bertsize log``: how each declared model grew. In: a range of commits. Out: a row a change, quoted, or on a page."""
