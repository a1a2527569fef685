"""Golden cases of Spline: a section `plan`, and a section `execution` for each of its executions."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fll_hbase.capture.spline import read_executions
from fll_hbase.runtime.errors import InputError
from fll_hbase.sources import openlineage
from tests.support import golden_facts, golden_openlineage
from tests.support.golden_cases import Case


def lines(case: Case) -> Iterator[str]:
    """Yield what each execution of a plan means."""
    executions = [json.loads(text) for text in case.texts("execution")]
    raw = json.dumps({"executionPlan": case.json("plan"), "executionEvents": executions}).encode()
    try:
        for item in read_executions(raw, namespace="shop"):
            if isinstance(item, InputError):
                yield from golden_facts.error(item)
                continue
            reading = openlineage.read(json.loads(item))
            assert reading.event is not None
            yield from golden_openlineage.run_lines([reading.event])
            yield from golden_facts.problems("warning", reading.warnings)
    except InputError as error:
        yield from golden_facts.error(error)
