"""The commands of ``bertsize``: each command is a module or a folder, and works without pytest.

In: arguments. Out: lines and an exit status.
"""
