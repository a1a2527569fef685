"""A store with the sample and with names that trip up whoever is not careful."""

from __future__ import annotations

import json
from pathlib import Path

from fll_hbase.sample import load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.commands import END_MS, fll
from tests.support.small_documents import AWKWARD


def load_sampled(folder: Path) -> str:
    """Make the store in a folder; return its URL. Tests only read it."""
    url = f"sqlite:///{folder}/store.db"
    store = LineageStore(open_table(url))
    load(store, END_MS)
    store.close()
    lines = "".join(json.dumps(payload) + "\n" for payload in AWKWARD)
    assert fll("record", "-", "--store", url, stdin=lines.encode()).exit_code == 0
    return url
