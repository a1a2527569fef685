"""One line for each figure, with its bar."""

from __future__ import annotations


def said(what: str, value: float, unit: str, bar: str = "") -> None:
    """One line of the report."""
    print(f"{what:66} {value:>12,.3f} {unit:7} {'(bar: ' + bar + ')' if bar else ''}".rstrip(), flush=True)
