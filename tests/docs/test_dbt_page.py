"""docs/record/dbt.md cannot rot: members, versions and adapters are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fll_hbase.runtime.errors import ERRORS_LISTED_MAX
from fll_hbase.sources.dbt.artifact import CATALOG, MANIFEST, RUN_RESULTS, ArtifactKind
from fll_hbase.sources.dbt.document import FIXED_NAMESPACES, MEMBERS
from fll_hbase.sources.dialect_names import ENGINES

PAGE = (Path(__file__).parents[2] / "docs" / "record" / "dbt.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    """The cells of the rows of the table with this header."""
    (table,) = re.findall(re.escape(header) + r"\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()]


def test_every_member_is_documented() -> None:
    assert {row[0] for row in rows("| member | meaning |")} == {f"`{member}`" for member in MEMBERS}


@pytest.mark.parametrize("kind", [MANIFEST, CATALOG, RUN_RESULTS], ids=lambda kind: kind.word)
def test_schema_versions(kind: ArtifactKind) -> None:
    (text,) = (row[1] for row in rows("| member | meaning |") if row[0] == f"`{kind.member}`")
    versions = [int(version) for version in re.findall(r"v(\d+)", text)]
    assert (versions[0], versions[-1]) == (kind.version_min, kind.version_max)


def test_namespaces_of_adapters() -> None:
    namespaces = dict(rows("| adapter | namespace |"))
    names = {name for cell in namespaces for name in cell.split(", ")}
    assert names <= set(ENGINES)
    assert all(namespace in namespaces[adapter] for adapter, namespace in FIXED_NAMESPACES.items())


def test_the_bound_of_warnings() -> None:
    assert f"At most {ERRORS_LISTED_MAX:,} warnings" in PAGE
