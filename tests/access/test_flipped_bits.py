"""Bits that flip in the file of a SQLite store: an answer is right, or an error that says so."""

from __future__ import annotations

import json
import random
import re
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from api import create_app
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.access import queries, worlds
from tests.support.flipped_bits import flipped
from tests.support.profiles import PROFILE

FLIPS = 2_000 if PROFILE == "long" else 30
TARGETS = 25
"""Queries that are asked of each damaged file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with documents, events, tags and policies."""
    path = tmp_path_factory.mktemp("flipped")
    draw = random.Random(5)
    names = [worlds.Name(False, number % 2, number // 2) for number in range(4)]
    columns = (worlds.Column(0, (0, 1), ()), worlds.Column(1, (1,), (0,)))
    specs = [
        worlds.Spec(
            names[number % 2],
            tuple((name, 2) for name in draw.sample(names, 2)),
            ((draw.choice(names), columns),),
            number % 3 * 7,
            "COMPLETE" if number % 7 else "FAIL",
            "document" if number % 3 else "events",
        )
        for number in range(24)
    ]
    with closing(open_table(f"sqlite:///{path}/x.db")) as table:
        client = create_app(LineageStore(table, clock=lambda: queries.NOW_MS)).test_client()
        for target, body in worlds.documents(queries.FIRST, specs):
            assert client.post(target, json=body).status_code in (200, 201, 409)
        queries._set_tags(client, queries.FIRST)
    return path


class Answer(NamedTuple):
    """Status and body, without the times of answers; partial: says that something damaged is left out."""

    status: int
    body: bytes
    is_partial: bool

    @property
    def is_reported(self) -> bool:
        """Whether it is the error for a damaged row, without any byte of it."""
        return self.status == 500 and json.loads(self.body)["type"].endswith(":corrupt-row")


def answers(path: Path, targets: list[str]) -> dict[str, Answer]:
    """Return the answer to each query."""
    with closing(open_table(f"sqlite:///{path}/x.db", create=False)) as table:
        client = create_app(LineageStore(table, clock=lambda: queries.NOW_MS)).test_client()
        requested = targets or list(queries.targets(client))
        given = {target: client.get(target, headers={"X-Request-ID": "one"}) for target in requested}
    return {
        target: Answer(
            answer.status_code,
            re.sub(rb'(Report of</dt><dd>)[^<]*|("time":)[0-9]+', rb"\1\2", answer.data),
            "damaged" in answer.headers.get("Truncated-By", "")
            or re.search(rb'"truncatedBy":\[[^]]*"damaged"', answer.data) is not None,
        )
        for target, answer in given.items()
    }


def test_answers_are_right_or_errors(folder: Path, tmp_path: Path) -> None:
    content, draw = (folder / "x.db").read_bytes(), random.Random(17)
    right = {target: answer for target, answer in answers(folder, []).items() if answer.status == 200}
    reported, silent = 0, []
    for _ in range(FLIPS):
        bit = draw.randrange(8 * len(content))
        for file in tmp_path.iterdir():
            file.unlink()
        (tmp_path / "x.db").write_bytes(flipped(content, bit))
        targets = draw.sample(sorted(right), TARGETS)
        try:
            given = answers(tmp_path, targets)
        except LineageError:
            # The file is not taken for a store.
            reported += 1
            continue
        wrong = [target for target, answer in given.items() if answer != right[target]]
        silent += [
            (bit, target) for target in wrong if not (given[target].is_reported or given[target].is_partial)
        ]
        reported += bool(wrong)
    assert not silent
    # Nearly every page is read by some query.
    assert reported > FLIPS * 3 // 4
