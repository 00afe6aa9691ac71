"""Build README.md and docs/ as a site with Sphinx: ``tox run -e docs``."""

from __future__ import annotations

from typing import Any

project = author = "pytest-bertsize"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = project
html_copy_source = False
REPOSITORY = "https://github.com/pytest-bertsize/pytest-bertsize/blob/main/"
PICTURES = "https://raw.githubusercontent.com/pytest-bertsize/pytest-bertsize/main/docs/"


def lead_links(_: object, *read: Any) -> None:
    """Let links of README.md stay in the site, and those to files beside docs/ lead to the repository."""
    *_, text = read
    here = text[0].replace(f"{REPOSITORY}docs/", "").replace(PICTURES, "")
    text[0] = here.replace("](../../", f"]({REPOSITORY}")


def setup(app: Any) -> None:
    """Connect the hooks of Sphinx."""
    app.connect("source-read", lead_links)
    app.connect("include-read", lead_links)
