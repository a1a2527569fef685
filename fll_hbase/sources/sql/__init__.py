"""SQL source: column lineage of every write of a script, or of a single query."""

from fll_hbase.sources.dialect_names import DIALECT_ALIASES, DIALECTS
from fll_hbase.sources.sql.document import (
    ALIASES_MAX,
    NO_WRITE,
    SELECT_ALONE,
    ScriptReading,
    read_document,
    read_query,
    read_script,
)
from fll_hbase.sources.sql.names.table_schemas import FieldLookup, TableSchemas
from fll_hbase.sources.sql.parser import without_literals

__all__ = [
    "ALIASES_MAX",
    "DIALECTS",
    "DIALECT_ALIASES",
    "NO_WRITE",
    "SELECT_ALONE",
    "FieldLookup",
    "ScriptReading",
    "TableSchemas",
    "read_document",
    "read_query",
    "read_script",
    "without_literals",
]
