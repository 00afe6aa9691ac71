"""The table of what was compared in each release of transformers, which ``benchmarks/compatibility.py`` makes."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.release import NEWEST, OLDEST, of_metadata

compatibility = SimpleNamespace(**run_path(str(Path(__file__).parents[2] / "benchmarks" / "compatibility.py")))
AGREES = compatibility.Found("bert", "BertModel", "agree", 60)
OFF = compatibility.Found("bert", "BertForMaskedLM", "off", 60, "cls.predictions.bias: closed form None, built (9,)")
LATER = compatibility.Found("gte", "GteModel", "absent")


def test_a_family_of_which_all_classes_are_alike_says_so_in_a_word() -> None:
    assert compatibility.cell("bert", [AGREES, LATER]) == "agree"
    assert compatibility.cell("gte", [AGREES, LATER]) == "absent"
    assert compatibility.cell("bert", [AGREES, OFF, LATER]) == "1 agree, 1 off"


def test_every_class_that_does_not_agree_is_named_with_its_release() -> None:
    found = "\n".join(compatibility.lines({"4.57.6": [AGREES, OFF, LATER], "5.23.0": [AGREES]}))
    assert "| `bert` | 1 agree, 1 off | agree |" in found
    assert "- off in 4.57.6: BertForMaskedLM" in found
    assert "- absent in 4.57.6: all of `gte`" in found
    assert re.search(r"^\d{4}-\d\d-\d\d, torch [\d.]+\.$", found, re.MULTILINE)
    assert "## The twenty most used families\n\n60 configs of each class in each release." in found


def test_the_table_is_of_releases_from_the_oldest_to_the_newest_and_of_twenty_families_first() -> None:
    known = [of_metadata(release) for release in compatibility.RELEASES]
    assert (known[0][:2], known[-1]) == (OLDEST[:2], NEWEST)
    assert known == sorted(known)
    assert len(compatibility.MOST_USED) == 20
    assert set(compatibility.MOST_USED) <= FAMILIES.keys()


def test_the_page_has_a_place_for_it() -> None:
    assert re.search(
        f"{re.escape(compatibility.BEGIN)}.*{re.escape(compatibility.END)}",
        compatibility.PAGE.read_text("utf-8"),
        re.DOTALL,
    )
