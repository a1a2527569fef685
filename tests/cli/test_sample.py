"""`fll sample` loads the sample once and names the next commands."""

from __future__ import annotations

import json
import shlex

from cli.commands import END_MS, fll, printed
from fll_hbase.sample import documents


def test_it_loads_and_names_next_commands() -> None:
    lines = printed("sample").splitlines()
    count = sum(1 for _ in documents(END_MS))
    assert lines[0].startswith(
        f"{count} runs in sqlite:///data/field_level_lineage.db, 0 of them there already."
    )
    for line in lines[1:-1]:
        assert len(printed(*shlex.split(line)[1:]).splitlines()) > 3
    assert lines[-1] == "  fll serve"
    assert printed("sample").startswith(f"{count} runs in sqlite:///data/field_level_lineage.db, {count} of")


def test_its_documents_can_be_recorded_elsewhere() -> None:
    printed_documents = printed("sample", "--json", "--end", "1700000000")
    payloads = [json.loads(line) for line in printed_documents.splitlines()]
    assert payloads == list(documents(1_700_000_000_000))
    result = fll("record", "-", "--store", "sqlite:///own.db", stdin=printed_documents.encode())
    assert result.output == f"{len(payloads)} recorded, 0 replaced, 0 repeated, 0 refused\n"
    assert printed("sample", "--end", "1700000000", "--store", "sqlite:///own.db").startswith(
        f"{len(payloads)} runs in sqlite:///own.db, {len(payloads)} of them there already."
    )
