"""Without pytest: a module or a folder for each command of ``python -m pytest_bertsize``.

In: arguments. Out: lines and an exit status.
"""
