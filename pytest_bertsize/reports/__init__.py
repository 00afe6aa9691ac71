"""The report of a run, made of typed structs, and its views: text, JSON, Markdown, HTML, GitHub's annotations.

The views read only the report (``report``), which ``from_review`` makes; jinja2 is imported only to draw it.
"""
