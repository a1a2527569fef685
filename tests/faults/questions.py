"""Queries of the fault tests, and their answers from a plain list of runs."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.faults.ledger import NAMESPACE, SINK, SOURCE, Version, Window, window

_BASE = f"/v3/namespaces/{NAMESPACE}"


class Question(Protocol):
    """A question whose answer is a set."""

    def path(self) -> str:
        """Where it is asked."""

    def results(self, body: Any) -> list[Hashable]:
        """The items of an answer, or of one page of it."""

    def expected(self, versions: Iterable[Version]) -> set[Hashable]:
        """The items when just these versions are true."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that read or wrote the dataset."""

    window: Window
    end_point: str = SINK

    def path(self) -> str:
        return f"{_BASE}/endpoints/{self.end_point}/runs?{_times(self.window)}&limit=5000"

    def results(self, body: Any) -> list[Hashable]:
        return [(run["run"], run["startTime"]) for run in body["runs"]]

    def expected(self, versions: Iterable[Version]) -> set[Hashable]:
        return {(version.run, version.start_ms) for version in versions if version in self.window}


@dataclass(frozen=True, slots=True)
class Lineage:
    """High-level lineage: the contents of the window."""

    window: Window
    end_point: str = SINK

    def path(self) -> str:
        return f"{_BASE}/endpoints/{self.end_point}/fields/lineage?{_times(self.window)}"

    def results(self, body: Any) -> list[Hashable]:
        pairs = [(pair["from"], pair["to"]) for entry in body for pair in entry["fieldmap"]]
        strange = [pair for pair in pairs if pair[0] != "s" + pair[1][1:]]
        assert not strange, f"{self}: pairs that nobody recorded: {strange}"
        return [int(field[1:]) for _, field in pairs]

    def expected(self, versions: Iterable[Version]) -> set[Hashable]:
        return {version.content for version in versions if version in self.window}


@dataclass(frozen=True, slots=True)
class Ways:
    """The runs that produced one field, by the route of the first design."""

    window: Window
    content: int

    def path(self) -> str:
        return f"{_BASE}/datasets/{SINK}/fields/d{self.content}/lineage?{_times(self.window)}"

    def results(self, body: Any) -> list[Hashable]:
        return [run for way in body["paths"] for run in way["runs"]]

    def expected(self, versions: Iterable[Version]) -> set[Hashable]:
        return {
            version.run for version in versions if version in self.window and version.content == self.content
        }


def random_question(versions: list[Version], chance: random.Random) -> Question:
    """Any question about runs that are known."""
    query_window = window(versions, chance)
    if chance.random() < 0.3:
        return Ways(query_window, chance.choice(versions).content)
    return chance.choice((Runs, Lineage))(query_window, chance.choice((SOURCE, SINK)))


def wrong(
    question: Question, results: list[Hashable], must: Iterable[Version], may: Iterable[Version]
) -> str:
    """Explain how an answer is wrong, given what it must and may contain; empty if it is right."""
    missing = question.expected(must) - set(results)
    invented = set(results) - question.expected(may)
    twice = len(results) - len(set(results))
    if not (missing or invented or twice):
        return ""
    return f"{question}: missing {_examples(missing)}, invented {_examples(invented)}, repeated {twice}"


def _examples(items: set[Hashable]) -> str:
    return f"{len(items)} {sorted(items, key=str)[:5]}" if items else "none"


def _times(query_window: Window) -> str:
    return f"start={_seconds(query_window.start_ms)}&end={_seconds(query_window.stop_ms)}"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"
