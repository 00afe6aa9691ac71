"""For readers: a Review as plain data, and that as text, JSON, Markdown, HTML, for GitHub.

In: Reviews. Out: ModelReport (plain data), files, lines, and the exit status of a run.
Doors: ``shape``, ``model_report``, ``files``, ``outcome``, ``terminal``, ``github``. jinja2 lives in ``html`` alone.
"""
