"""A pytest plugin that guards the size of BERT-family models."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: importing the plugin stays free of metadata scans."""
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-bertsize")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
