"""Golden cases of OpenMetadata: a section `lineage`, and lines `NAME=NS` of the section `services`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fll_hbase.runtime.errors import InputError
from fll_hbase.sources import openlineage
from fll_hbase.sources.lineage_exports.openmetadata import ExportSettings, read_lineage
from tests.support import golden_facts, golden_openlineage
from tests.support.golden_cases import Case


def lines(case: Case) -> Iterator[str]:
    """Yield what each event of a lineage means."""
    services = dict(line.split("=", 1) for text in case.texts("services") for line in text.split())
    raw = json.dumps(case.json("lineage")).encode()
    try:
        for item in read_lineage(raw, ExportSettings("catalogue", services)):
            reading = openlineage.read(json.loads(item))
            assert reading.event is not None
            yield from golden_openlineage.run_lines([reading.event])
            yield from golden_facts.problems("warning", reading.warnings)
    except InputError as error:
        yield from golden_facts.error(error)
