"""A page, taken apart: its tags, and what a reader sees."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from pytest_bertsize.reports.html.page import render_page
from tests.support.run_reports import run

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport

VOID = {"meta", "wbr"}
APART = {"td", "th", "tr", "p", "li", "dt", "dd", "div", "ul"}
"""What a reader sees set off from its neighbours."""


class Page(HTMLParser):
    """A page as a tree of tags: fails on one that is not closed, or closed in the wrong place."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), (tag, attrs)
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in APART or dict(attrs).get("class") == "detail":
            self.words.append(("", " "))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert [*self._open[-1:]] == [tag]
        self._open.pop()
        if tag in APART:
            self.words.append(("", " "))

    def handle_data(self, data: str) -> None:
        self.words.append((self._open[-1] if self._open else "", data))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join("".join(words for tag, words in self.words if tag not in {"style", "title"}).split())


def words(*models: ModelReport, **more: Any) -> str:
    return Page(render_page(run(*models, **more))).text
