"""``[tool.bertsize]`` in pyproject.toml: read, checked, described by a JSON Schema, and rewritten in place.

In: the text of pyproject.toml. Out: Settings with Models and Limits, and the text with other budgets.
Entry points: ``settings`` and ``model`` to read, ``rewrite`` to write, ``toml`` for text; only ``toml`` uses tomlkit.
"""
