"""The commands of ``bertsize``: each is a module or a folder, works without pytest, and returns an exit status."""
