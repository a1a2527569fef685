"""A damaged page of a SQLite file: a server goes on without it, a check finds it, the rest can be rescued."""

from __future__ import annotations

import json
from pathlib import Path

import requests

from tests.support.commands import complaint, fll, printed, serving
from tests.support.flipped_bits import flipped
from tests.support.small_documents import document


def damaged_store(folder: Path) -> str:
    """Return the URL of a store of many runs; a bit of a page of run rows differs."""
    store, url = folder / "store.db", f"sqlite:///{folder}/store.db"
    lines = (json.dumps(document(f"run-{number}")) for number in range(200))
    (folder / "runs.ndjson").write_text("\n".join(lines))
    assert fll("record", f"{folder}/runs.ndjson", "--store", url).exit_code == 0
    content = store.read_bytes()
    store.write_bytes(flipped(content, 8 * content.index(b"|run-100+shopd:z|") + 17))
    return url


def test_a_server_shows_no_damaged_byte_and_goes_on(tmp_path: Path) -> None:
    with serving(damaged_store(tmp_path), tmp_path) as server:
        runs = requests.get(f"{server}/v3/namespaces/shop/endpoints/invoices/runs?start=0", timeout=60)
        assert runs.status_code == 500 or "damaged" in runs.json()["truncatedBy"]
        assert str(tmp_path) not in runs.text
        assert requests.get(f"{server}/readyz", timeout=60).status_code == 200


def test_a_check_finds_it_and_a_copy_of_the_file_rescues_the_rest(tmp_path: Path) -> None:
    url, rescued = damaged_store(tmp_path), str(tmp_path / "rescued.db")
    assert "damaged pages" in complaint("store", "check", "--store", url, code=1)
    assert "damaged pages" in complaint("store", "backup", rescued, "--store", url, code=1)
    printed("store", "backup", rescued, "--damaged", "--store", url)
    report = json.loads(fll("store", "check", "--store", f"sqlite:///{rescued}").stdout)
    assert report["wrong"]["unreadable"] == 1
