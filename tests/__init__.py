"""The tests of pytest-bertsize."""
