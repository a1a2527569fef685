"""Output of `fll history` and `fll diff`: runs without the field, limits, and names of any kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import complaint, fll, printed

NAME = "orders\n2"
COMPARED = "{} to {} UTC compared with {} to {} UTC".format(
    "2025-06-15 15:13:20", "2025-06-15 15:15:00", "1970-01-01 00:00:00", "2025-06-15 15:13:20"
)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Three nights make `total`, the last one of another field; between them is a run without `total`."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    lines = [
        _document("r1", 100, "net", "total"),
        _document("r2", 200, "net", "note"),
        _document("r3", 300, "net", "total"),
        _document("r4", 400, "gross", "total"),
        _document("r5", 500, "gross", "note"),
    ]
    path = tmp_path / "runs.ndjson"
    path.write_text("\n".join(lines))
    assert fll("record", str(path), "--namespace", "shop", "--store", url).exit_code == 0
    return url


def _document(run: str, start_seconds: int, source: str, field: str) -> str:
    start_ms = 1_750_000_000_000 + 1_000 * start_seconds
    members = {
        "application": "shop",
        "type": "spark",
        "program": "nightly",
        "run": run,
        "startTime": start_ms,
    }
    operations = [
        {"type": "READ", "name": "read", "source": {"name": "raw"}, "outputs": [source]},
        {
            "type": "TRANSFORM",
            "name": "add",
            "inputs": [{"origin": "read", "name": source}],
            "outputs": [field],
        },
        {
            "type": "WRITE",
            "name": "store",
            "destination": {"name": NAME},
            "inputs": [{"origin": "add", "name": field}],
        },
    ]
    return json.dumps({"run": members, "operations": operations})


def test_runs_without_the_field_have_lines(store: str) -> None:
    lines = printed("history", "shop", NAME, "total", "--start", "0", "--store", store).splitlines()
    assert (
        lines[0] == r"How shop/orders\n2.total was produced, 1970-01-01 00:00:00 to 2025-10-09 08:53:20 UTC"
    )
    rows = [re.split(r" {3,}", line.strip()) for line in lines[3:]]
    assert [row[-2] for row in rows] == ["1", "1", "2", "1"]
    assert rows[0][-1] == "(without the field)"
    assert [row[0] for row in rows[1:3]] == ["2025-06-15 15:13:20", "2025-06-15 15:08:20"]
    assert rows[3][-1] == "(without the field between these)"


def test_a_window_without_any_run(store: str) -> None:
    window = ("--start", "5", "--end", "6", "--store", store)
    assert "Nothing from 1970-01-01 00:00:05 to" in printed("history", "shop", NAME, "total", *window)
    assert "No difference." in printed("diff", "shop", NAME, "total", *window)


def test_both_sides_of_a_diff_have_signs(store: str) -> None:
    window = ("--start", "1750000400", "--end", "1750000500", "--base-start", "0")
    lines = printed("diff", "shop", NAME, "total", *window, "--store", store).splitlines()
    assert lines[0].endswith(COMPARED)
    words = [line.split() for line in lines[3:-1]]
    assert [line[:2] if line[1] == "way" else line[:3] for line in words] == [
        ["+", "way"],
        ["+", "source", "shop/raw.gross"],
        ["+", "edge", "read.gross"],
        ["-", "way"],
        ["-", "source", "shop/raw.net"],
        ["-", "edge", "read.net"],
    ]
    (gained, lost) = (re.split(r" {3,}", line.strip())[-1] for line in lines[3:-1] if " way " in line)
    assert gained == "1 run, the last at 2025-06-15 15:13:20 UTC"
    assert lost == "2 runs, the last at 2025-06-15 15:11:40 UTC"
    assert lines[-1] == "ways gained: 1, ways lost: 1; 4 operations and edges in both"


def test_every_changed_field_of_a_dataset_has_its_diff(store: str) -> None:
    window = ("--start", "1750000400", "--end", "1750000500", "--base-start", "0", "--store", store)
    field = printed("diff", "shop", NAME, "total", *window).splitlines()
    lines = printed("diff", "shop", NAME, *window).splitlines()
    assert lines[0].endswith(COMPARED)
    assert lines[lines.index("total") + 1 :][: len(field) - 1] == field[1:]
    same = printed("diff", "shop", NAME, "--start", "5", "--end", "6", "--store", store)
    assert same.splitlines()[-1] == "No difference."


@pytest.mark.parametrize("field", [".total", ""], ids=["field", "dataset"])
def test_a_file_is_a_page_to_print_or_json(store: str, tmp_path: Path, field: str) -> None:
    window = ("--start", "1750000400", "--end", "1750000500", "--base-start", "0", "--store", store)
    question = ("diff", f"shop/{NAME}{field}", *window)
    page, data = tmp_path / "changes.HTML", tmp_path / "changes.json"
    for file in (page, data):
        result = fll(*question, "--output", str(file))
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"Wrote {file}.\n")
    assert data.read_text() == printed(*question, "--json")
    # But for the time at which it was made.
    lines = zip(
        page.read_text().splitlines(), printed(*question, "--format", "html").splitlines(), strict=True
    )
    assert all(line == other or "<dt>Made</dt>" in line for line, other in lines)
    text = page.read_text()
    assert "<dd>from 2025-06-15 15:13:20 until 2025-06-15 15:15:00 UTC, the end not included</dd>" in text
    assert "<dd>from 1970-01-01 00:00:00 until 2025-06-15 15:13:20 UTC, the end not included</dd>" in text
    assert "shop/raw.gross" in text
    assert f"<dd>{store}, fll_hbase" in text


def test_times_of_a_page_are_in_the_zone(store: str) -> None:
    window = ("--start", "1750000400", "--end", "1750000500", "--timezone", "Europe/Berlin")
    text = printed("diff", f"shop/{NAME}.total", *window, "--format", "html", "--store", store)
    assert "from 2025-06-15 17:13:20 until 2025-06-15 17:15:00 Europe/Berlin" in text


def test_a_diff_has_no_csv(store: str, tmp_path: Path) -> None:
    file = tmp_path / "changes.csv"
    question = ("diff", f"shop/{NAME}.total", "--store", store, "--output", str(file))
    assert "its name must end with .html or .json" in complaint(*question, code=2)
    assert not file.exists()


def test_what_a_limit_cut_is_not_reported_as_no_difference(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_CONNECTIONS_MAX", "0")
    result = fll(
        "diff",
        "shop",
        NAME,
        "total",
        "--start",
        "0",
        "--base-start",
        "0",
        "--base-end",
        "9",
        "--store",
        store,
    )
    assert result.exit_code == 0
    assert "Not complete, because a limit cut the answer: what was lost." in result.stdout
    assert "connections_max=0" in result.stderr
