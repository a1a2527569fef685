"""Column lineage derived from a job's `sql` facet, for outputs whose columns the event lacks.

Airflow's SQL operators, dbt and many JDBC jobs send the statement of a run. Their datasets have no columns,
or columns named by numbers, or by the query where an INSERT writes by position. The description of each
derived input marks it as derived. When events are merged, other columns override derived ones.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import msgspec
from cachetools import LRUCache

from fll_hbase.model import run_events
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.run_events import DERIVED, DatasetMention, InputColumn, OutputColumn
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import InvalidLineage, LineageError, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.dialect_names import dialect_of, scheme_of

SQL_CHARACTERS_MAX = 100_000
"""Longest statement that is read; stated in docs/record/openlineage.md."""
_RESULTS_BYTES_MAX = 16 * 2**20
"""Memory for statements with cached lineage; the events of a run repeat their statement."""
_BYTES_PER_CHARACTER, _BYTES_PER_NAME, _BYTES_PER_INPUT = 4, 100, 200
_UNLISTED_MAX = 10
"""Number of tables, and of statements, that a warning names."""

_TABLE = "\n{}"
"""Name of the table with an index when the SQL is read; no table of an event has such a name."""
_DBT_SUFFIX = "__dbt_tmp"
"""End of the name under which dbt creates a table before renaming it."""

Name = tuple[str, str]
_Output = tuple[int, tuple[OutputColumn, ...], tuple[InputColumn, ...]]
"""An output by its index, its columns, and the inputs of all its rows."""
_Table = tuple[tuple[str, ...], tuple[str, ...], bool]
"""A dataset of an event: its names, its fields in order, and whether the run writes it."""
_Derived = tuple[tuple[_Output, ...], str]

_results: LRUCache[tuple[str, str, tuple[_Table, ...]], tuple[int, _Derived]] = LRUCache(
    _RESULTS_BYTES_MAX, getsizeof=lambda item: item[0]
)
_results_lock = threading.Lock()


def with_derived_columns(
    mentions: tuple[DatasetMention, ...],
    names: Sequence[Name],
    statement: str,
    fields: Mapping[Name, Sequence[str]],
) -> tuple[tuple[DatasetMention, ...], str]:
    """Return an event's mentions, with its SQL's columns for missing or wrong ones, and a text of problems.

    Columns are wrong if they are numbered or if the schema lacks them. `names` are the datasets by index,
    `fields` their schemas in order. SQL that cannot be read adds nothing, and the text says why, or names
    statements and tables that are left out, or is empty. Raises the errors of `deadline.check`.
    """
    lacking = {item.dataset_index: item for item in mentions if _lacks_columns(item)}
    if not statement or not lacking:
        return mentions, ""
    if len(statement) > SQL_CHARACTERS_MAX:
        return mentions, f"is longer than {SQL_CHARACTERS_MAX} characters: no columns are derived from it"
    aliases = {mention.dataset_index: mention.aliases for mention in mentions}
    tables = tuple(
        (
            (name[1], *(alias[1] for alias in aliases.get(index, ()))),
            tuple(fields.get(name, ())),
            index in lacking,
        )
        for index, name in enumerate(names)
    )
    # The output may be on an engine without a dialect of its own.
    dialect = dialect_of(scheme_of(names[min(lacking)][0])) or "spark"
    outputs, fault = _derive(statement, dialect, tables)
    derived = {
        index: msgspec.structs.replace(lacking[index], columns=columns, dataset_inputs=rows)
        for index, columns, rows in outputs
    }
    with_columns = (
        replacement
        if mention.written
        and (replacement := derived.get(mention.dataset_index))
        and not _is_worse(mention, replacement)
        else mention
        for mention in mentions
    )
    return tuple(with_columns), fault


def _lacks_columns(mention: DatasetMention) -> bool:
    """Return whether an output has no columns, or columns named by numbers or missing from the schema.

    An output that is dropped, renamed or truncated lacks none.
    """
    if not mention.written or mention.lifecycle in ("DROP", "RENAME", "TRUNCATE"):
        return False
    has_numbers = run_events.has_numbered_columns(mention)
    return not mention.columns or has_numbers or run_events.has_misnamed_columns(mention)


def _is_worse(mention: DatasetMention, derived: DatasetMention) -> bool:
    """Return whether derived columns are missing from the schema, while the event names its own columns.

    If the run replaces the table, the schema describes the table before the run.
    """
    is_named = bool(mention.columns) and not run_events.has_numbered_columns(mention)
    return is_named and run_events.has_misnamed_columns(derived)


def _derive(statement: str, dialect: str, tables: tuple[_Table, ...]) -> _Derived:
    """Return the result of `_read_statement`, cached by its arguments."""
    key = statement, dialect, tables
    with _results_lock:
        cached = _results.get(key)
    if cached is None:
        derived = _read_statement(statement, dialect, tables)
        cached = _memory_bytes(statement, tables, derived), derived
        with _results_lock:
            # LRUCache raises ValueError for an item larger than the whole cache.
            if cached[0] <= _RESULTS_BYTES_MAX:
                _results[key] = cached
    return cached[1]


def _memory_bytes(statement: str, tables: tuple[_Table, ...], derived: _Derived) -> int:
    """Return the approximate memory of a cached statement with its tables and derived columns."""
    names = [name for names, fields, _ in tables for name in (*names, *fields)]
    outputs, fault = derived
    columns = [column for _, listed, _ in outputs for column in listed]
    inputs = sum(len(column.inputs) for column in columns) + sum(len(rows) for _, _, rows in outputs)
    return (
        _BYTES_PER_CHARACTER * (len(statement) + len(fault) + sum(map(len, names)))
        + _BYTES_PER_NAME * len(names)
        + _BYTES_PER_INPUT * (len(columns) + inputs)
    )


def _read_statement(statement: str, dialect: str, tables: tuple[_Table, ...]) -> _Derived:
    """Read a statement; return its outputs, and a string that says what was not read, "" if all was read.

    Raises the errors of `deadline.check`. They are not cached, since other requests have more time.
    """
    schemas = _table_schemas(tables)
    outputs = [index for index, (_, _, is_written) in enumerate(tables) if is_written]
    try:
        try:
            reading = sql.read_script(statement, dialect=dialect, tables=schemas)
        except LineageError as error:
            deadline.check()
            if isinstance(error, InvalidLineage) and error.errors[0].detail == sql.NO_WRITE:
                # CREATE TABLE and the like have no columns to leave out.
                return (), ""
            # dbt sends only the query, which must then write the only output.
            if len(outputs) != 1 or isinstance(error, TooLarge):
                raise
            target = Dataset("", _TABLE.format(outputs[0]))
            reading = sql.read_query(
                statement, dialect=dialect, target=target, verb="SELECT", tables=_table_schemas(tables)
            )
    except LineageError as error:
        deadline.check()
        return (), f"no columns are derived from it: {_with_table_names(str(error), tables)}"
    operations = reading.info.operations
    left_out = [_with_table_names(item.detail, tables) for item in reading.warnings[:_UNLISTED_MAX]]
    left_out += filter(None, [_describe_unlisted(operations, set(outputs))])
    return tuple(_outputs(operations, set(outputs))), "; ".join(left_out)


def _with_table_names(detail: str, tables: Sequence[_Table]) -> str:
    """Replace the placeholder table names, under which SQL is read, by the datasets' names."""
    for index, (names, _, _) in enumerate(tables):
        detail = detail.replace(repr(_TABLE.format(index)), repr(names[0]))
    return detail


def _describe_unlisted(operations: Sequence[Operation], outputs: set[int]) -> str:
    """Return a text that names tables the event does not list, if `outputs` come from any, else ""."""
    unlisted = {
        item.name: item.source.name
        for item in operations
        if isinstance(item, Read) and _index(item.source.name) < 0
    }
    inputs = {item.name: item.inputs for item in operations if isinstance(item, Transform)}
    origins: set[str] = set()
    for write in operations:
        if isinstance(write, Write) and _index(write.destination.name) in outputs:
            for used in write.inputs:
                origins.update(item.origin for item in inputs.get(used.origin, (used,)))
    # A READ without fields comes from `SELECT *`, and where its fields go is unknown.
    origins.update(item.name for item in operations if isinstance(item, Read) and not item.outputs)
    names = sorted({name for origin, name in unlisted.items() if origin in origins})
    if not names:
        return ""
    more = f" and {len(names) - _UNLISTED_MAX} more" if len(names) > _UNLISTED_MAX else ""
    return f"left out are tables that the event does not list: {', '.join(names[:_UNLISTED_MAX])}{more}"


def _table_schemas(tables: Sequence[_Table]) -> sql.TableSchemas:
    """Build the schemas of an event's tables, each found by its index and any end of a name it alone has."""
    # A table that the script creates and the event lacks is dropped later or an irrelevant step.
    schemas = sql.TableSchemas("", {}, lambda _: None, is_transient=lambda dataset: _index(dataset.name) < 0)
    owners: dict[str, set[int]] = {}
    for index, (names, fields, is_written) in enumerate(tables):
        for name in (*names, *(f"{name}{_DBT_SUFFIX}" for name in names if is_written)):
            parts = name.split(".")
            for start in range(len(parts)):
                owners.setdefault(".".join(parts[start:]).lower(), set()).add(index)
        if fields:
            schemas.declare(Dataset("", _TABLE.format(index)), list(map(Field, fields)))
    for name, indexes in owners.items():
        # An end that two tables share identifies neither of them.
        if len(indexes) == 1:
            schemas.add_alias(name, _TABLE.format(min(indexes)))
    return schemas


def _outputs(operations: Sequence[Operation], outputs: set[int]) -> list[_Output]:
    """Return index, columns and dataset-wide inputs of each written output with known columns."""
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
    """Return the index of a table by the name under which it is read, or -1 if the event lacks the table."""
    return int(name[1:]) if name.startswith(_TABLE[0]) else -1


def _column(name: str, transform: Transform, reads: Mapping[str, int]) -> OutputColumn | None:
    """Return a column, or None if all of its values come from outside the event's datasets."""
    inputs = _inputs(transform.inputs, reads, f"{DERIVED}{transform.description}")
    has_value = any(item.direct for item in inputs)
    had_value = any(item.influence is Influence.DIRECT for item in transform.inputs)
    return OutputColumn(name, inputs) if has_value or not had_value else None


def _inputs(
    inputs: Sequence[InputField], reads: Mapping[str, int], description: str
) -> tuple[InputColumn, ...]:
    """Return the inputs that datasets of the event have, sorted, without inputs from other tables."""
    return tuple(
        sorted(
            InputColumn(
                reads[item.origin], item.name, item.influence is Influence.DIRECT, item.kind, description
            )
            for item in inputs
            if reads[item.origin] >= 0
        )
    )
