"""Closed forms that a project's files and installed packages contribute: they run in a process of their own."""
