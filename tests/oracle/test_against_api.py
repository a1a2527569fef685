"""The server answers as the oracle does, over random histories and a few written by hand."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from tests.oracle.documents import Documents
from tests.oracle.operations import filtered, read, run, transform, write
from tests.oracle.questions import Ask, Questions
from tests.oracle.world import History, record_history, report
from tests.support.profiles import scaled

CHUNKS = 8
HISTORIES = int(os.environ.get("ORACLE_HISTORIES", "0")) or scaled(200)  # in each chunk
FIRST_SEED = int(os.environ.get("ORACLE_FIRST_SEED", "0"))
QUESTIONS = 50  # about each history


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_histories(chunk: int) -> None:
    """Each seed a new history, a new store and new questions."""
    first = FIRST_SEED + chunk * HISTORIES
    for seed in range(first, first + HISTORIES):
        disagreement = one_history(seed)
        assert not disagreement, disagreement


def one_history(seed: int) -> str:
    """The first disagreement about one history, told with the fewest documents; empty when there is none."""
    random = Random(seed)
    documents = Documents(random, end_points=random.randint(2, 5), fields=random.randint(2, 5))
    documents_given = documents.history(random.randint(1, 12))
    level_max = random.choice([32, 32, 2, 1])
    return disagreement(seed, documents_given, Questions(random, documents).sample_asks(QUESTIONS), level_max)


def disagreement(seed: int, documents_given: History, asks: list[Ask], level_max: int = 32) -> str:
    """The first thing that the two say differently: of the history, or asked about it."""
    world, wrong = record_history(documents_given, level_max)
    if wrong:
        return report(seed, documents_given, None, level_max)
    return next((report(seed, documents_given, ask, level_max) for ask in asks if world.ask(ask)), "")


def both_ways(names: list[str], field: str) -> list[Ask]:
    """Every kind of question about one field of these end points."""
    options = [
        {"direction": direction, "view": view, "indirect": indirect}
        for direction in ("backward", "forward")
        for view in ("detailed", "simple")
        for indirect in ("true", "false")
    ]
    detailed = [Ask("detailed", "ns1", n, field, options=tuple(o.items())) for n in names for o in options]
    return detailed + [Ask(kind, "ns1", name, field) for kind in ("high", "first", "runs") for name in names]


def documents_given(*contents: list[dict[str, Any]]) -> History:
    """A history of these operations, one run a second."""
    return [("ns1", {"run": run(n), "operations": item}) for n, item in enumerate(contents, 1)]


def test_unlisted_field_that_is_only_an_influence() -> None:
    """It is treated as though it were listed, also where `indirect=false` leaves the influence out."""
    operations = [read("r", "s", "a"), transform("t", [filtered("r.b"), "r.a"], "c"), write("w", "d", "t.c")]
    wrong = disagreement(0, documents_given(operations), both_ways(["s"], "b") + both_ways(["d"], "c"))
    assert not wrong, wrong


def test_paths_show_unlisted_outputs() -> None:
    """A transform whose unlisted output is taken makes it, and must not stand there like a drop."""
    operations = [read("r", "s", "a"), transform("t", ["r.a"]), write("w", "d", "t.new")]
    wrong = disagreement(0, documents_given(operations), both_ways(["d"], "new"))
    assert not wrong, wrong


def test_contents_that_together_go_round() -> None:
    """Three runs share operations such that all connections together are a cycle; no run has one."""
    single, two, three = (
        transform("x", ["z.f"], "f"),
        transform("y", ["x.f"], "f"),
        transform("z", ["y.f"], "f"),
    )
    reads = {name: read(name, "s", "f") for name in "xyz"}
    contents = [
        [reads["z"], single, two, write("w", "d", "y.f")],
        [reads["x"], two, three, write("w", "d", "z.f")],
        [reads["y"], three, single, write("w", "d", "x.f")],
    ]
    wrong = disagreement(0, documents_given(*contents), both_ways(["s", "d"], "f"))
    assert not wrong, wrong


@pytest.mark.parametrize("level", [1, 31, 32, 33, 40])
def test_a_chain_longer_than_the_cap(level: int) -> None:
    """Forty runs in a row, asked from both ends and the middle."""
    links = [[read("r", f"e{n}", "x"), write("w", f"e{n + 1}", "r.x")] for n in range(40)]
    asks = [Ask("high", "ns1", f"e{n}", options=(("level", str(level)),)) for n in (0, 7, 8, 20, 32, 33, 40)]
    wrong = disagreement(0, documents_given(*links), asks)
    assert not wrong, wrong
