"""``[tool.bertsize]`` in pyproject.toml: read, checked, described by a JSON Schema, and rewritten in place.

In: the text of pyproject.toml. Out: Settings of Models and Limits; the text with other budgets.
Doors: ``settings``, ``model``; ``rewrite`` for a change, ``toml`` for text. tomlkit lives here alone.
"""
