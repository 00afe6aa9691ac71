"""The commands of ``bertsize``, a module or a folder for each; pytest is not needed.

In: arguments. Out: lines and an exit status.
"""
