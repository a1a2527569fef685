"""Server and oracle with the same history."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.oracle.compare import differences
from tests.oracle.content import Content, Json, Operation
from tests.oracle.history import read_document
from tests.oracle.oracle import Oracle
from tests.oracle.questions import Ask

History = list[tuple[str, Json]]


class World:
    """A new server over an empty store in memory, and a new oracle."""

    def __init__(self, level_max: int = 32) -> None:
        store = LineageStore(open_table("sqlite:///:memory:"), Settings(level_max=level_max))
        self.client = create_app(store, Settings(level_max=level_max)).test_client()
        self.oracle = Oracle(level_max)
        self.checksums: dict[frozenset[Operation], str] = {}
        self.contents: dict[str, frozenset[Operation]] = {}

    def record(self, namespace: str, document: Json) -> str:
        """Tell both; what differs between their answers, or nothing."""
        url = f"/v3/namespaces/{quote(namespace, safe='')}/lineage"
        dry = self.client.post(f"{url}?replace=true&dryRun=true", json=document)
        response = self.client.post(f"{url}?replace=true", json=document)
        checksum = response.get_json().get("checksum", "")
        wrong = self._dry_run(namespace, document, checksum, dry)
        due = self.oracle.record(namespace, document, checksum)
        return wrong or _recorded(response.status_code, response.get_json(), *due)

    def _dry_run(self, namespace: str, document: Json, checksum: str, response: Any) -> str:
        status, due = self.oracle.dry_run(namespace, document, checksum)
        body = response.get_json()
        if status != 200 or response.status_code != 200:
            return _recorded(response.status_code, body, status, due)
        got = {
            **body,
            "operations": Oracle.operations(namespace, body),
            "warnings": _warning_paths(body["warnings"]),
        }
        due = {**due, "warnings": _warning_paths(due["warnings"])}
        if got != due:
            return f"dry run said {_text(got)}\n due {_text(due)}"
        return self._one_to_one(read_document(namespace, document)[0], checksum)

    def _one_to_one(self, content: Content, checksum: str) -> str:
        """One content has one checksum, another content another."""
        key = frozenset(content)
        first_seen = self.checksums.setdefault(key, checksum), self.contents.setdefault(checksum, key)
        return "" if first_seen == (checksum, key) else f"checksum {checksum}, but also {first_seen}"

    def ask(self, ask: Ask) -> str:
        """Ask both; what differs between their answers, or nothing."""
        response = self.client.get(ask.url)
        truncated = response.headers.get("Truncated") == "true"
        return differences(self.oracle, ask, response.status_code, response.get_json(), truncated)


def _recorded(status: int, body: Json, due_status: int, due: Json) -> str:
    if status != due_status:
        return f"status {status} {_text(body)}, due {due_status} {_text(due)}"
    if status == 422:
        return _faults(body["errors"], due["errors"])
    body, due = ({**item, "warnings": _warning_paths(item.get("warnings", []))} for item in (body, due))
    return "" if body == due else f"said {_text(body)}\n due {_text(due)}"


def _faults(response: list[Json], due: list[Json]) -> str:
    """Each fault due is named at its place or within, and nothing else is."""
    missing = [item for item in due if not any(_within(s["at"], item["at"]) for s in response)]
    more = [item for item in response if not any(_within(item["at"], d["at"]) for d in due)]
    return f"not named {missing}, named without reason {more}" if missing or more else ""


def _within(path: str, outer: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")


def _warning_paths(warned: list[Json]) -> list[str]:
    # This world begins in the first days of 1970: see tests/api/routes/test_recording_run_owners.py.
    return sorted(item["at"] for item in warned if item["at"] != "run.startTime")


def _text(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True, default=lambda item: sorted(map(str, item)))


def record_history(recorded: History, level_max: int) -> tuple[World, str]:
    """A world that was told a history, and the first difference in the answers to that."""
    world = World(level_max)
    for number, (namespace, document) in enumerate(recorded):
        wrong = world.record(namespace, document)
        if wrong:
            return world, f"document {number}: {wrong}"
    return world, ""


def differs(recorded: History, ask: Ask | None, level_max: int) -> str:
    """Return the first difference of a history, in recording or in a query."""
    world, wrong = record_history(recorded, level_max)
    return wrong if wrong or ask is None else world.ask(ask)


def fewest(recorded: History, ask: Ask | None, level_max: int) -> History:
    """A history that is as short as leaving documents out makes it, and differs still."""
    for number in range(len(recorded) - 1, -1, -1):
        less = recorded[:number] + recorded[number + 1 :]
        if differs(less, ask, level_max):
            recorded = less
    return recorded


def report(seed: int, recorded: History, ask: Ask | None, level_max: int) -> str:
    """The seed, the shortest history, the question, and what differs."""
    recorded = fewest(recorded, ask, level_max)
    lines = [f"seed {seed}, level_max {level_max}"]
    lines += [f"POST {namespace!r} {_text(document)}" for namespace, document in recorded]
    lines += [f"GET {ask.url}" if ask else "(recording)"]
    return "\n".join([*lines, differs(recorded, ask, level_max)])
