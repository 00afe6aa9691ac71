"""Without pytest: a module or a folder for each command of ``bertsize``.

In: arguments. Out: lines and an exit status.
"""
