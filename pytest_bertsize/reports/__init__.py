"""The report of a run, made of typed structs, and its views: text, JSON, Markdown, HTML, GitHub's annotations.

In: Reviews. Out: ModelReport and RunReport (``report``, made by ``from_review``), report files, the
lines of a summary, and the status of a run.
The views (``terminal``, ``markdown``, ``html``, ``ci``) read only the report.
rich and jinja2 are imported only to draw it.
"""
