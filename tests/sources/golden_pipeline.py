"""Golden cases of CDAP pipelines."""

from __future__ import annotations

from collections.abc import Iterator

import golden_facts
from golden_cases import Case
from golden_facts import Notation

from fll_hbase.sources import cdap

NOTATION = Notation("myns")


def lines(case: Case) -> Iterator[str]:
    """Yield what is read from a case."""
    document = case.json("document")
    return golden_facts.dry_run(lambda: cdap.read_document(document, namespace=NOTATION.namespace), NOTATION)
