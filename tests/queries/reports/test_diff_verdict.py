"""The verdict of a diff: numbers of changes, names of operations, and what is not known."""

from __future__ import annotations

import pytest

from fll_hbase.queries.reports.diff_verdict import (
    CHARACTERS_MAX,
    dataset_verdict,
    field_verdict,
    operations_text,
)
from tests.support.diff_bodies import diff_body, link, operation, way
from tests.support.lineage_documents import Json

SOURCE = {"namespace": "ns1", "name": "raw", "field": "tax"}
LIMIT = {"truncatedBy": ["connections_max=1"]}


def test_each_kind_is_counted_and_unchanged_ones_are_left_out() -> None:
    gained = {"derivations": [way("a"), way("b")], "sources": [SOURCE], "edges": [link("r.a", "t.b")] * 2}
    verdict = field_verdict(diff_body(gained, {"derivations": [way("c")]}, common=5))
    assert verdict == [
        "2 ways gained, 1 lost; 1 source gained; 2 links gained. 5 operations and links are in both windows."
    ]
    verdict = field_verdict(
        diff_body({}, {"derivations": [way("c")], "edges": [link("r.a", "t.b")]}, common=1)
    )
    assert verdict == ["1 way lost; 1 link lost. 1 operation or link is in both windows."]


def test_operations_are_new_gone_or_changed() -> None:
    read = operation("read", "", "READ", endPoint={"namespace": "ns1", "name": "raw"})
    moved = operation("read", "late", "READ", endPoint={"namespace": "ns1", "name": "raw v2"})
    gained = {"operations": [operation("hash", "sha256"), moved, operation("new")]}
    lost = {"operations": [operation("hash", "md5"), operation("old"), read]}
    assert operations_text(diff_body(gained, lost)) == (
        "Operations that are new: new; gone: old; changed: hash (“sha256”, before “md5”),"
        " read (“reads ns1/raw v2: late”, before “reads ns1/raw”)"
    )
    assert operations_text(diff_body()) == ""


def test_long_texts_and_many_names_are_cut() -> None:
    gained = {"operations": [operation(f"o{number:02}") for number in range(30)]}
    assert operations_text(diff_body(gained)).endswith("o19, and 10 more")
    texts = [{"operations": [operation("sql", letter * 1_000)]} for letter in "ab"]
    text = operations_text(diff_body(*texts))
    assert f"“{'a' * (CHARACTERS_MAX - 1)}…”" in text
    assert len(text) < 3 * CHARACTERS_MAX


def test_different_operations_of_one_name_have_no_text_of_one() -> None:
    gained = {"operations": [operation("hash", "sha256"), operation("hash", "md5")]}
    text = operations_text(diff_body(gained, {"operations": [operation("hash", "crc")]}))
    assert text == "Operations that are changed: hash"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"common": 3}, "Nothing differs: the derivations in both windows are the same."),
        ({}, "Nothing differs: no run of either window made it."),
        ({"common": 3, **LIMIT}, "No difference was found, but this answer is not complete."),
        ({"common": 3, "retainedFrom": 9}, "No difference was found, but this answer is not complete."),
    ],
    ids=["same", "nothing", "cut", "deleted"],
)
def test_no_difference(members: Json, expected: str) -> None:
    assert field_verdict(diff_body(**members)) == [expected]


@pytest.mark.parametrize(
    ("gained", "lost", "sentence"),
    [(["a"], [], "No run of the base window made it."), ([], ["a"], "No run of the window made it.")],
    ids=["base", "window"],
)
def test_a_window_that_lacks_the_field(gained: list[str], lost: list[str], sentence: str) -> None:
    parts = [{"derivations": list(map(way, ways))} for ways in (gained, lost)]
    assert sentence in field_verdict(diff_body(*parts))[0]
    # Not where the window may have had it: among what was cut or deleted, or with a common part.
    for members in (LIMIT, {"retainedFrom": 9}, {"common": 1}):
        assert sentence not in field_verdict(diff_body(*parts, **members))[0]


def test_fields_of_a_dataset() -> None:
    changed = [
        {"field": name, **diff_body({"derivations": [way("a")]}, {"derivations": [way("b")] * 2})}
        for name in ("a", "b")
    ]
    assert dataset_verdict({"fields": changed, "truncated": False}) == [
        "2 fields differ: a, b.",
        "2 ways gained, 4 lost.",
    ]
    assert dataset_verdict({"fields": changed[:1], "truncated": False})[0] == "1 field differs: a."
    (same,) = dataset_verdict({"fields": [], "truncated": False})
    assert same.startswith("Nothing differs: all fields")
    (cut,) = dataset_verdict({"fields": [], "truncated": True})
    assert cut == "No difference was found, but this answer is not complete."
