"""Stores with the sample, or its last runs, and with names that trip up whoever is not careful."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.sample import documents, load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.commands import END_MS, fll
from tests.support.small_documents import AWKWARD

RECENT_RUNS = 100


def load_sampled(folder: Path) -> str:
    """Make the store in a folder; return its URL. Tests only read it."""
    url = f"sqlite:///{folder}/store.db"
    store = LineageStore(open_table(url))
    load(store, END_MS)
    store.close()
    _record(url, AWKWARD)
    return url


def load_recent(folder: Path) -> str:
    """Make a store with few runs in a folder; return its URL."""
    url = f"sqlite:///{folder}/store.db"
    _record(url, [*list(documents(END_MS))[-RECENT_RUNS:], *AWKWARD])
    return url


def shorten_sample(monkeypatch: pytest.MonkeyPatch, *, days: int) -> None:
    """Leave only the runs of its last days in the sample, for tests of how it is loaded."""
    monkeypatch.setitem(documents.__globals__, "DAYS", days)


def _record(url: str, payloads: Iterable[Any]) -> None:
    lines = "".join(json.dumps(payload) + "\n" for payload in payloads)
    assert fll("record", "-", "--store", url, stdin=lines.encode()).exit_code == 0
