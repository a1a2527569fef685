"""What is asked, and answered: one question in the words of the REST contract, and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from fll_hbase.cli.options import WindowText
from fll_hbase.model.operations import Dataset, DatasetField

MORE = "a greater --limit shows more"


@dataclass(frozen=True, slots=True)
class LineageAsked:
    """The high-level question; `direction` is both, backward or forward."""

    end_point: Dataset
    window: WindowText
    level: int
    direction: str
    indirect: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class FieldAsked:
    """The detailed question; `view` is simple or detailed."""

    field: DatasetField
    window: WindowText
    direction: str
    view: str
    indirect: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The body that the API answers with, and what bounded it, with a way on; empty where it is complete."""

    body: Any
    bound: str = ""


def bounded_by(settings: Iterable[str]) -> str:
    """What to say of settings such as `pairs_max=250000` that bounded an answer."""
    named = ", ".join(settings)
    return f"bounded by {named}; ask a shorter window, or raise that setting" if named else ""


class Side(Protocol):
    """Answers questions. Raises LineageError."""

    def lineage(self, asked: LineageAsked) -> Answer:
        """Which fields of which end points made which."""

    def field(self, asked: FieldAsked) -> Answer:
        """By which operations a field was made, or what was made of it."""

    def runs(self, end_point: Dataset, window: WindowText, *, limit: int) -> Answer:
        """Every run that touched an end point, newest first."""

    def export(self, end_point: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        """Every run that touched an end point as an event of OpenLineage, newest first."""

    def find(self, text: str, *, limit: int) -> Answer:
        """End points and fields whose names hold a text."""
