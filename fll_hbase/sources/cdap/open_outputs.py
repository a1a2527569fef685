"""Outputs whose names depend on data, found through the names in later operations and in the schema.

A parser of CSV or JSON makes columns that its directive does not name. Later directives and the schema of the
stage name the columns that matter. The parser makes each such column that no entering field provides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fll_hbase.model.datasets import Field
from fll_hbase.runtime import deadline
from fll_hbase.sources.cdap.plugin_properties import NotImplied
from fll_hbase.sources.cdap.stage_operations import NameChange, StageInput, StageOperation, rename_operation


def resolve_operations(
    operations: Sequence[StageOperation],
    *,
    entering: Iterable[str],
    records: Collection[str],
    schema: Collection[str],
    is_complete: bool,
) -> tuple[StageOperation, ...]:
    """Return the operations of a stage with all outputs and inputs listed.

    `entering` are the fields that reach the stage, in order. With `is_complete`, no others do. `records` are
    the names of records among them, and `schema` the fields that leave the stage. Raises NotImplied if a
    field may come from several operations, or if a rule of names cannot be applied.
    """
    resolution = _Resolution(list(entering), records, dict.fromkeys(schema), is_complete=is_complete)
    for operation in deadline.watched(operations):
        resolution.add(operation)
    for name in deadline.watched(schema):
        resolution.require(name)
    return resolution.finish()


@dataclass(slots=True)
class _OpenOperation:
    """An operation with further outputs: its number, and the outputs found so far.

    `root` is the number of the first of several operations that parse the outputs of each other.
    """

    number: int
    prefix: str
    root: int
    outputs: dict[str, None] = field(default_factory=dict)


class _Resolution:
    """Reads the operations in order; `_present` are the fields after the operations read so far."""

    def __init__(
        self, entering: Sequence[str], records: Collection[str], schema: dict[str, None], *, is_complete: bool
    ) -> None:
        self._schema = schema
        self._present = dict.fromkeys(entering)
        self._seen = {*entering, *records}
        self._is_complete = is_complete
        self._open: list[_OpenOperation] = []
        self._resolved: list[StageOperation] = []
        self._has_reordered = False

    def add(self, operation: StageOperation) -> None:
        """Add the next operation with its present inputs; an open operation gets its outputs later."""
        if operation.name_change is not None:
            self._change_names(operation, operation.name_change)
            return
        if operation.blurred is not None:
            # If the fields of a source are unknown, the fields that leave the stage may have entered it.
            possible = self._present if self._is_complete else self._present | self._schema
            fields = [word for word in dict.fromkeys(operation.blurred) if word in possible] or possible
            operation = replace(operation, outputs=tuple(map(Field, fields)))
        elif operation.reads_all:
            if not self._is_complete:
                raise NotImplied(f"{operation.name} takes fields that are not known")
            operation = replace(operation, inputs=tuple(map(StageInput, self._present)), reads_all=False)
        inputs = [item for item in operation.inputs if self.require(item.name) or not item.is_optional]
        for name in operation.retained or ():
            self.require(name)
        resolved = replace(
            operation, inputs=tuple(replace(item, is_optional=False) for item in inputs), open_prefix=None
        )
        if operation.open_prefix is not None:
            number = len(self._resolved)
            parsed = {item.name for item in inputs}
            root = next((source.root for source in self._open if parsed & source.outputs.keys()), number)
            self._open.append(_OpenOperation(number, operation.open_prefix, root))
        self._apply(resolved)

    def require(self, name: str) -> bool:
        """Return whether a field is, was or may be present, or else becomes an output of an open operation.

        Raises NotImplied if several operations may make the field.
        """
        if name in self._seen:
            return True
        source = self._source(name)
        if source is None:
            # The field may enter the stage without being known.
            return not self._is_complete
        source.outputs[name] = None
        self._seen.add(name)
        self._present[name] = None
        return True

    def finish(self) -> tuple[StageOperation, ...]:
        """Return all operations with the outputs found for open ones; skip open ones without outputs."""
        for source in self._open:
            operation = self._resolved[source.number]
            outputs = (*operation.outputs, *map(Field, source.outputs))
            self._resolved[source.number] = replace(operation, outputs=outputs)
        numbers = {source.number for source in self._open}
        return tuple(
            item for number, item in enumerate(self._resolved) if item.outputs or number not in numbers
        )

    def _apply(self, operation: StageOperation) -> None:
        """Append an operation, and update the present fields by the fields it drops, retains and outputs."""
        self._resolved.append(operation)
        for name in operation.dropped:
            self._present.pop(name, None)
        if operation.retained is not None:
            retained = set(operation.retained)
            self._present = {name: None for name in self._present if name in retained}
        for output in operation.outputs:
            self._has_reordered = self._has_reordered or output.name not in self._present
            self._seen.add(output.name)
            self._present[output.name] = None

    def _source(self, name: str) -> _OpenOperation | None:
        """Return the open operation that outputs a field, or None if there is none.

        Raises NotImplied if several could, or if the field may also have entered the stage.
        """
        by_prefix = [item for item in self._open if item.prefix and name.startswith(item.prefix)]
        if by_prefix:
            return max(by_prefix, key=lambda item: (len(item.prefix), item.number))
        # If operations parse each other's outputs, the first of them represents all.
        candidates = [item for item in self._open if not item.prefix and item.number == item.root]
        if len(candidates) > 1 or (candidates and not self._is_complete):
            raise NotImplied(f"the operation that makes {name[:100]!r} depends on data")
        return candidates[0] if candidates else None

    def _change_names(self, operation: StageOperation, change: NameChange) -> None:
        """Rename the present fields as a directive does. Raises NotImplied if new names depend on data."""
        if change.headers:
            renames = self._header_renames(change)
        elif change.rename is not None:
            renames = [(name, change.rename(name)) for name in self._present]
            # From here on, fields that are not present yet have changed names, too.
            for source in self._open:
                source.prefix = ""
        renames = [(old, new) for old, new in renames if old != new]
        if len({source.root for source in self._open}) > 1 or {new for _, new in renames} & {*self._present}:
            raise NotImplied(f"{operation.name} gives names that depend on data")
        for old, new in renames:
            self._apply(rename_operation(old, new, operation.path))

    def _header_renames(self, change: NameChange) -> list[tuple[str, str]]:
        """Return the renames of the first fields; an open operation outputs the rest. Raises NotImplied."""
        is_ordered = not self._has_reordered and not any(source.outputs for source in self._open)
        if not is_ordered or not self._is_complete:
            raise NotImplied("set-headers behind directives that change the order of columns")
        present = [name for name in self._present if not change.first or name == change.first]
        for name in change.headers[len(present) :] if self._open else ():
            self._open[0].outputs[name] = None
            self._seen.add(name)
            self._present[name] = None
        return list(zip(present, change.headers, strict=False))
