"""SQL to recorded runs: the column lineage of every write of a script."""

from __future__ import annotations

from fll_hbase.sources.sql.document import read
from fll_hbase.sources.sql.parsing import DIALECTS
from fll_hbase.sources.sql.tables import Lookup

__all__ = ["DIALECTS", "Lookup", "read"]
