"""Reports: one report of typed structs, drawn as text, JSON, Markdown, HTML and GitHub's annotations.

In: Reviews. Out: ModelReport and RunReport (``report``, made by ``from_review``), files, lines, the status of a run.
The views (``terminal``, ``markdown``, ``html``, ``ci``) read only the report. rich and jinja2 are imported for drawing.
"""
