"""Golden files: another answer has other lines, an update keeps the input, variants are found again."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.queries import acknowledgements
from fll_hbase.sources import cdap
from tests.support import golden_facts, golden_pipeline, golden_sql
from tests.support.golden_cases import FOLDER, Case, merge, read_case
from tests.support.golden_facts import Notation

OTHER_INFLUENCE = {"direct": "indirect", "indirect": "direct"}


def answers(source: str, name: str) -> tuple[dict[str, Any], Notation]:
    """The answer of a dry run of a golden case, and the notation of its source."""
    case = read_case(FOLDER / source / f"{name}.txt")
    if source == "sql":
        document = golden_sql.document(case)
        reading, notation = golden_sql.read(document), golden_sql.notation(document)
    else:
        notation = golden_pipeline.NOTATION
        reading = cdap.read_document(case.json("document"), namespace=notation.namespace)
    return acknowledgements.dry_run(reading.operations.info), notation


def changes(value: Any) -> Iterator[None]:
    """Make one change after the other: of each text, and of each item that differs from the one before."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(item, str) and key != "origin":
            value[key] = OTHER_INFLUENCE.get(item, f"{item}x")
            yield
        elif isinstance(item, dict | list):
            yield from changes(item)
            if isinstance(value, list) and value[key - 1] != item:
                value[key] = value[key - 1]
                yield
        value[key] = item


def rename(operations: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The same operations; one of them has another name, also where its outputs are used."""
    renamed = copy.deepcopy(operations)
    for operation in renamed:
        for item in (operation, *operation.get("inputs", ())):
            member = "origin" if "origin" in item else "name"
            if item[member] == name:
                item[member] = f"{name}x"
    return renamed


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pipeline", "join"),
        ("pipeline", "wrangler_csv"),
        ("sql", "hive_partition_columns"),
        ("sql", "spark_unknown_star"),
        ("sql", "tsql_merge_output"),
    ],
)
def test_other_operations_have_other_lines(source: str, name: str) -> None:
    """Even with the same checksum."""
    body, notation = answers(source, name)
    lines = list(golden_facts.lineage(body, notation))
    changed = copy.deepcopy(body)
    names = {(operation["name"], operation["type"]) for operation in body["operations"]}
    for operation in changed["operations"]:
        for _ in changes(operation):
            if (operation["name"], operation["type"]) in names:
                assert list(golden_facts.lineage(changed, notation)) != lines
    for operation in body["operations"]:
        renamed = body | {"operations": rename(body["operations"], operation["name"])}
        assert list(golden_facts.lineage(renamed, notation)) != lines


def case(folder: Path) -> Case:
    path = folder / "case.txt"
    path.write_bytes(b"dialect: hive\n--sql\nSELECT 1\r\n-- a comment\n\n--expect\no.a <- s.a\no.b <- s.b\n")
    return read_case(path)


def test_a_case_has_its_texts_as_they_are(tmp_path: Path) -> None:
    read = case(tmp_path)
    assert read.members == {"dialect": "hive"}
    assert read.texts("sql") == ["SELECT 1\r\n-- a comment\n"]
    assert read.expected == "o.a <- s.a\no.b <- s.b\n"


def test_other_lines_fail_with_a_diff(tmp_path: Path) -> None:
    read = case(tmp_path)
    read.check(["o.a <- s.a", "o.b <- s.b"], update=False)
    with pytest.raises(pytest.fail.Exception, match=re.escape("-o.a <- s.a\n+o.a <- s.c\n o.b <- s.b")):
        read.check(["o.a <- s.c", "o.b <- s.b"], update=False)


def test_an_update_keeps_the_input(tmp_path: Path) -> None:
    old = case(tmp_path)
    old.check(["o.a <- s.c"], update=True)
    new = read_case(old.path)
    assert new.expected == "o.a <- s.c\n"
    assert (new.members, new.sections) == (old.members, old.sections)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=4))
def test_variants_are_found_again(texts: list[list[str]]) -> None:
    variants = {f"v{number}": lines for number, lines in enumerate(texts)}
    merged = [re.fullmatch(r"(?:\[(.*)\] )?(.*)", line) for line in merge(variants)]
    for name, lines in variants.items():
        assert [match[2] for match in merged if match and name in (match[1] or name).split(", ")] == lines
