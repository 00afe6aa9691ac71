"""For readers: reviews as one report of typed structs, and that as text, JSON, Markdown, HTML, for GitHub.

In: Reviews. Out: ModelReport and RunReport (``report``, made by ``from_review``), files, lines, the status of a run.
Views read the report alone: ``terminal``, ``markdown``, ``html``, ``ci``. rich and jinja2 load where they draw.
"""
