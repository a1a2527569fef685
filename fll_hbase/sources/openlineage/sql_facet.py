"""Column lineage derived from the `sql` facet of a job, for outputs of which an event gives none.

Airflow's SQL operators, dbt and many JDBC jobs send the statement of a run and its datasets without columns,
or with columns under numbers. Each derived input is marked by its description; columns that any event of the
run gives have priority over derived ones when events are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from fll_hbase.errors import LineageError
from fll_hbase.model import run_events
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.run_events import DERIVED, DatasetMention, InputColumn, OutputColumn
from fll_hbase.sources import sql

SQL_CHARACTERS_MAX = 100_000
"""Length of a statement that is read; docs/sources/openlineage.md states it."""
_RESULTS_MAX = 512
"""Number of statements whose lineage stays in memory; the events of a run repeat theirs."""

_DIALECTS = {
    # By scheme of a dataset's namespace, as the naming page of OpenLineage has them.
    "awsathena": "athena",
    "bigquery": "bigquery",
    "databricks": "databricks",
    "duckdb": "duckdb",
    "hive": "hive",
    "mssql": "tsql",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgres": "postgres",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "sqlserver": "tsql",
    "teradata": "teradata",
    "trino": "trino",
}
_TABLE = "\n{}"
"""Name under which the SQL is read of the table with an index: one that no table of an event has."""

Name = tuple[str, str]
_Output = tuple[int, tuple[OutputColumn, ...], tuple[InputColumn, ...]]
"""An output by its index, its columns, and the inputs of all its rows."""
_Table = tuple[tuple[str, ...], tuple[str, ...], bool]
"""A dataset of an event: its names, its fields in order, and whether the run writes it."""


def with_derived_columns(
    mentions: tuple[DatasetMention, ...],
    names: Sequence[Name],
    statement: str,
    fields: Mapping[Name, Sequence[str]],
) -> tuple[tuple[DatasetMention, ...], str]:
    """Return the mentions of an event, with columns of its SQL for outputs that have none, and what is wrong.

    `names` are the datasets by index, `fields` their schemas in order. SQL that cannot be read adds nothing:
    the text says why, else it is empty.
    """
    lacking = [mention for mention in mentions if _lacks_columns(mention)]
    if not statement or not lacking:
        return mentions, ""
    if len(statement) > SQL_CHARACTERS_MAX:
        return mentions, f"is longer than {SQL_CHARACTERS_MAX} characters: no columns are derived from it"
    aliases = {mention.dataset_index: mention.aliases for mention in mentions}
    written = {mention.dataset_index for mention in lacking}
    tables = tuple(
        (
            (name[1], *(alias[1] for alias in aliases.get(index, ()))),
            tuple(fields.get(name, ())),
            index in written,
        )
        for index, name in enumerate(names)
    )
    outputs, fault = _derive(statement, _dialect(names, lacking), tables)
    derived = {index: rest for index, *rest in outputs}
    with_columns = tuple(
        msgspec.structs.replace(mention, columns=derived[index][0], dataset_inputs=derived[index][1])
        if (index := mention.dataset_index) in derived and _lacks_columns(mention)
        else mention
        for mention in mentions
    )
    return with_columns, fault


def _lacks_columns(mention: DatasetMention) -> bool:
    """Return whether an output has no columns, or only numbers in place of their names."""
    is_plain = mention.written and mention.lifecycle not in ("DROP", "RENAME", "TRUNCATE")
    return is_plain and run_events.has_numbered_columns(mention)


def _dialect(names: Sequence[Name], lacking: Sequence[DatasetMention]) -> str:
    """Return the dialect of the engine of the first output; "spark" for one that has no engine of its own."""
    scheme = names[lacking[0].dataset_index][0].partition(":")[0]
    return _DIALECTS.get(scheme, "spark")


@lru_cache(_RESULTS_MAX)
def _derive(statement: str, dialect: str, tables: tuple[_Table, ...]) -> tuple[tuple[_Output, ...], str]:
    """Read a statement; return the outputs, and why it cannot be read, empty if it can."""
    schemas = _table_schemas(tables)
    outputs = [index for index, (_, _, is_written) in enumerate(tables) if is_written]
    try:
        try:
            reading = sql.read_script(statement, dialect=dialect, tables=schemas)
        except LineageError:
            # dbt sends the query alone; what it writes is then the only output.
            if len(outputs) != 1:
                raise
            target = Dataset("", _TABLE.format(outputs[0]))
            reading = sql.read_query(
                statement, dialect=dialect, target=target, verb="SELECT", tables=_table_schemas(tables)
            )
    except LineageError as error:
        return (), f"no columns are derived from it: {error}"
    return tuple(_outputs(reading.info.operations, set(outputs))), ""


def _table_schemas(tables: Sequence[_Table]) -> sql.TableSchemas:
    """Build the schemas of the tables of an event, each under its index and found by any end of its names."""
    schemas = sql.TableSchemas("", {}, lambda _: None)
    owners: dict[str, set[int]] = {}
    for index, (names, fields, _) in enumerate(tables):
        for name in names:
            parts = name.split(".")
            for start in range(len(parts)):
                owners.setdefault(".".join(parts[start:]).lower(), set()).add(index)
        if fields:
            schemas.declare(Dataset("", _TABLE.format(index)), list(map(Field, fields)))
    for name, indexes in owners.items():
        # An end that two tables share is the name of neither.
        if len(indexes) == 1:
            schemas.add_alias(name, _TABLE.format(min(indexes)))
    return schemas


def _outputs(operations: Sequence[Operation], outputs: set[int]) -> list[_Output]:
    reads = {item.name: _index(item.source.name) for item in operations if isinstance(item, Read)}
    transforms = {item.name: item for item in operations if isinstance(item, Transform)}
    result: list[_Output] = []
    for write in operations:
        if not isinstance(write, Write) or (index := _index(write.destination.name)) not in outputs:
            continue
        written = [item for item in write.inputs if item.origin in transforms]
        columns = [_column(item.name, transforms[item.origin], reads) for item in written]
        rows = [item for item in write.inputs if item.origin not in transforms]
        resolved = tuple(sorted((column for column in columns if column is not None), key=lambda c: c.name))
        if resolved:
            result.append((index, resolved, _inputs(rows, reads, DERIVED)))
    return result


def _index(name: str) -> int:
    """Return the index of a table by the name it is read under, -1 for one that the event does not have."""
    return int(name[1:]) if name.startswith(_TABLE[0]) else -1


def _column(name: str, transform: Transform, reads: Mapping[str, int]) -> OutputColumn | None:
    """Return a column; None if none of its values comes from a dataset of the event."""
    inputs = _inputs(transform.inputs, reads, f"{DERIVED}{transform.description}")
    has_value = any(item.direct for item in inputs)
    had_value = any(item.influence is Influence.DIRECT for item in transform.inputs)
    return OutputColumn(name, inputs) if has_value or not had_value else None


def _inputs(
    inputs: Sequence[InputField], reads: Mapping[str, int], description: str
) -> tuple[InputColumn, ...]:
    return tuple(
        sorted(
            InputColumn(
                reads[item.origin], item.name, item.influence is Influence.DIRECT, item.kind, description
            )
            for item in inputs
            if reads[item.origin] >= 0
        )
    )
