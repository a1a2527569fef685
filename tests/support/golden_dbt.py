"""Golden cases of dbt: artifacts that dbt wrote, described in tests/golden/dbt/README.md.

A case has `builds`, folders of `project` with artifacts that have nearly the same lineage; a line that holds
for some builds only begins with their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from fll_hbase.queries import acknowledgements
from tests.support import golden_cases, golden_facts
from tests.support.dbt_artifacts import GOLDEN, NAMESPACES, golden_document, read
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation


def lines(case: Case) -> list[str]:
    """Return what the artifacts of a case mean."""
    project = case.members["project"]
    builds = case.members["builds"].split(", ")
    return golden_cases.merge({build: list(_build(project, build)) for build in builds})


def _build(project: str, build: str) -> Iterator[str]:
    notation = Notation(NAMESPACES[project], describes_columns=True)
    with TemporaryDirectory() as folder:
        parsed = read(golden_document(GOLDEN / project / build, Path(folder)))
    for recorded in parsed.runs:
        yield from golden_facts.run(recorded.run)
        yield from golden_facts.lineage(acknowledgements.dry_run(recorded.info), notation)
    yield from golden_facts.datasets(parsed.metadata, notation)
    yield from golden_facts.problems("warning", parsed.warnings)
