"""Golden cases of CDAP pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.sources import cdap
from tests.support import golden_facts
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation

NOTATION = Notation("myns")


def lines(case: Case) -> Iterator[str]:
    """Yield what is read from a case."""
    document = case.json("document")
    return golden_facts.dry_run(lambda: cdap.read_document(document, namespace=NOTATION.namespace), NOTATION)
