"""Operations as they are shown to a principal who may not see all of their datasets.

A hidden dataset has a label for a name and one field, `*`. Transforms that lead only to hidden datasets are
left out; lineage between visible datasets stays complete.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from fll_hbase.model import checksum as checksums
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, Field
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    dataset_of,
    inputs_of,
)
from fll_hbase.model.unique_names import UniqueNames

HIDDEN_NAMESPACE = ""
"""The namespace of hidden datasets and programs: documents cannot name it, since no name may be empty."""

HIDDEN = "hidden"
"""The limit reported when an answer contains a hidden dataset; nothing else of the dataset is shown."""

# New in each process, since a number replaces each label before anything is shown.
_KEY = os.urandom(16)

MARK = f"\x00{os.urandom(8).hex()}"
"""The beginning of the names of hidden operations, and of hidden names without a number.

The mark has a random part, since a document may name an operation in any way.
"""

MARK_END = "\x00"

# The mark as it is in a name, or as JSON escapes it.
_LABEL = re.compile(rf"(?:\x00|\\u0000){MARK[1:]}[a-z]+[0-9a-f]{{24}}(?:\x00|\\u0000)")
_SUFFIX = re.compile(r"#[0-9]{1,9}\Z")


@lru_cache(maxsize=100_000)
def hide_name(kind: str, *names: str) -> str:
    """Return a label for a name that may not be shown, equal for equal arguments within this process."""
    text = "\x00".join((kind, *names)).encode()
    return f"{MARK}{kind}{hashlib.blake2b(text, key=_KEY, digest_size=12).hexdigest()}{MARK_END}"


def hide_dataset(dataset: Dataset) -> Dataset:
    """Return the placeholder of a hidden dataset: HIDDEN_NAMESPACE, with a label as name."""
    return Dataset(HIDDEN_NAMESPACE, hide_name("dataset", dataset.namespace, dataset.name))


def is_hidden(dataset: Dataset | None) -> bool:
    """Return whether a dataset is the placeholder of a hidden dataset; False for None."""
    return dataset is not None and dataset.namespace == HIDDEN_NAMESPACE


def without_labels(text: str) -> str:
    """Return a string with `hidden` in place of each label, so that no name can be confirmed by guessing."""
    return _LABEL.sub("hidden", text) if MARK in text else text


def is_hidden_operation(name: str) -> bool:
    """Return whether an operation is a placeholder for reading or writing a hidden dataset."""
    return name.startswith(MARK)


def mask_operations(
    operations: Sequence[Operation], is_visible: Callable[[str], bool]
) -> tuple[Operation, ...]:
    """Return the operations of one content as shown to a caller who sees the namespaces `is_visible`.

    Without a hidden dataset they are unchanged. Otherwise placeholders of hidden operations follow the
    visible ones. Names of visible operations do not depend on the names of hidden datasets and fields.
    """
    hidden = {
        operation.name: hide_dataset(dataset)
        for operation in operations
        if (dataset := dataset_of(operation)) is not None and not is_visible(dataset.namespace)
    }
    if not hidden:
        return tuple(operations)
    masking = _Masking(operations, hidden)
    visible = [masking.mask(operation) for operation in operations if masking.keeps(operation.name)]
    return tuple(_renumber([*visible, *masking.hidden_operations()]))


def public_checksum(operations: Sequence[Operation]) -> str:
    """Return the checksum of masked operations as they are shown, without the labels."""
    texts = sorted(_LABEL.sub("hidden", checksums.canonical(_sorted_inputs(item))) for item in operations)
    return checksums.digest("\n".join(("masked", *texts)).encode())


class _Masking:
    """Masks the operations of one content, all together, because they depend on each other.

    `hidden` maps the name of each hidden READ and WRITE to the label of its dataset.
    """

    def __init__(self, operations: Sequence[Operation], hidden: Mapping[str, Dataset]) -> None:
        """Find what is connected to hidden operations, and which transforms lead only to hidden WRITEs."""
        self._operations = {operation.name: operation for operation in operations}
        self._hidden = hidden
        origins = {op.name: {item.origin for item in inputs_of(op)} for op in operations}
        consumers = _inverted(origins)
        writes = [operation for operation in operations if isinstance(operation, Write)]
        reads = {name for name in hidden if isinstance(self._operations[name], Read)}
        self._hidden_writes = [write for write in writes if write.name in hidden]
        visible_writes = [write for write in writes if write.name not in hidden]
        self._hidden_reads = reads
        self._tainted = _reachable(reads, consumers)
        upstream = _reachable((write.name for write in self._hidden_writes), origins)
        self._connected = self._tainted | upstream
        # The name of a transform may contain the name of the dataset that it writes to.
        self._dropped = {
            name
            for name in upstream - _reachable((write.name for write in visible_writes), origins)
            if isinstance(self._operations[name], Transform)
        }
        # Outputs are named after the fields that they are written to.
        self._shown = set(_written(visible_writes))
        self._unshown = set(_written(self._hidden_writes)) - self._shown
        self._passed: dict[InputField, Dataset] = {}

    def keeps(self, name: str) -> bool:
        """Return whether an operation is shown under its own name: not hidden, and not dropped."""
        return name not in self._hidden and name not in self._dropped

    def mask(self, operation: Operation) -> Operation:
        """Return a visible operation with masked names, and note its fields for `hidden_operations`.

        A WRITE loses its description, as does any operation connected to a hidden one. Others stay unchanged.
        """
        # The description of a WRITE may be an SQL statement, with tables that do not lead to its fields.
        if operation.name not in self._connected and not isinstance(operation, Write):
            return operation
        match operation:
            case Read():
                return replace(operation, description="")
            case Write():
                inputs = (self._written_input(item) for item in operation.inputs)
                origins = operation.unknown_origins
                if origins is not None:
                    # Only the lineage may show which hidden datasets are related.
                    origins = tuple(name for name in origins if name not in self._hidden)
                in_order = _in_order(inputs)
                return replace(operation, description="", inputs=in_order, unknown_origins=origins)
            case Transform():
                names = {output: self._output(operation.name, output.name) for output in operation.outputs}
                outputs = {
                    name: Field(name, "" if name == WHOLE_DATASET else output.type)
                    for output, name in names.items()
                }
                inputs = (self._input(item) for item in operation.inputs)
                return Transform(operation.name, "", _in_order(inputs), tuple(outputs.values()))

    def hidden_operations(self) -> Iterator[Operation]:
        """Yield one READ for each hidden source, and a TRANSFORM and a WRITE for each destination.

        Call it after all visible operations are masked. The TRANSFORM has all fields that lead to the
        destination. A field that a visible WRITE takes from a hidden READ has a TRANSFORM of its own.
        """
        for label in sorted({self._hidden[name] for name in self._hidden_reads}):
            yield Read(f"{label.name}r", "", label, "", (Field(WHOLE_DATASET),))
        for item, label in self._passed.items():
            inputs = (InputField(f"{label.name}r", WHOLE_DATASET),)
            yield Transform(item.origin, "", inputs, (Field(item.name),))
        by_label: dict[Dataset, dict[tuple[str, str], InputField]] = {}
        for write in self._hidden_writes:
            _add_all(by_label.setdefault(self._hidden[write.name], {}), self._inputs_behind(write))
        for label, inputs_by_node in by_label.items():
            merged = f"{label.name}s"
            # Sorted, because the order of the written fields would reveal the order of hidden names.
            in_order = tuple(inputs_by_node[node] for node in sorted(inputs_by_node))
            yield Transform(merged, "", in_order, (Field(WHOLE_DATASET),))
            yield Write(f"{label.name}w", "", label, "", (InputField(merged, WHOLE_DATASET),))

    def _inputs_behind(self, write: Write) -> Iterator[InputField]:
        """Yield, unsorted, the shown outputs that lead to a hidden WRITE only through dropped transforms."""
        remaining = [(item, item.influence) for item in write.inputs]
        seen: set[tuple[str, Influence]] = set()
        while remaining:
            item, influence = remaining.pop()
            if item.origin not in self._dropped:
                # Lineage between two hidden datasets is not shown.
                if item.origin not in self._hidden:
                    name = self._output(item.origin, item.name)
                    yield InputField(item.origin, name, influence)
            elif (item.origin, influence) not in seen:
                seen.add((item.origin, influence))
                remaining += [
                    (step, influence if step.influence is Influence.DIRECT else Influence.INDIRECT)
                    for step in inputs_of(self._operations[item.origin])
                ]

    def _input(self, item: InputField) -> InputField:
        """Return an input with masked names; for a hidden READ, the whole dataset of its placeholder."""
        if item.origin in self._hidden:
            return replace(item, origin=f"{self._hidden[item.origin].name}r", name=WHOLE_DATASET)
        return replace(item, name=self._output(item.origin, item.name))

    def _written_input(self, item: InputField) -> InputField:
        """Return a masked input of a WRITE.

        A field written as a hidden READ has it keeps its name there, and is noted for `hidden_operations`.
        """
        if item.influence is Influence.INDIRECT or item.origin not in self._hidden:
            return self._input(item)
        label = self._hidden[item.origin]
        passed = InputField(f"{label.name}p{item.name}", item.name)
        self._passed[passed] = label
        return passed

    def _output(self, origin: str, name: str) -> str:
        """Return the shown name of an output: `*` if it is, or may be, the name of a hidden field."""
        node = origin, name
        is_shown = node in self._shown or (origin not in self._tainted and node not in self._unshown)
        return name if is_shown or isinstance(self._operations.get(origin), Read) else WHOLE_DATASET


def _reachable(starts: Iterable[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the starts and everything that edges lead to from there."""
    reached = set(starts)
    remaining = list(reached)
    while remaining:
        following = set(edges.get(remaining.pop(), ())) - reached
        reached |= following
        remaining += following
    return reached


def _inverted(edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the edges reversed: for each end, the names that lead to it."""
    inverted: dict[str, set[str]] = {}
    for start, ends in edges.items():
        for end in ends:
            inverted.setdefault(end, set()).add(start)
    return inverted


def _written(writes: Iterable[Write]) -> Iterator[tuple[str, str]]:
    """Yield the direct inputs of Writes as pairs of origin and field."""
    for write in writes:
        yield from ((item.origin, item.name) for item in write.inputs if item.influence is Influence.DIRECT)


def _add_all(inputs: dict[tuple[str, str], InputField], added: Iterable[InputField]) -> None:
    """Add inputs by origin and field where they are missing, or where the added input is direct."""
    for item in added:
        node = item.origin, item.name
        if node not in inputs or item.influence is Influence.DIRECT:
            inputs[node] = item


def _in_order(inputs: Iterable[InputField]) -> tuple[InputField, ...]:
    """Return distinct inputs: visible ones in their order, then each hidden one once, without its kind."""
    visible: dict[InputField, None] = {}
    hidden: dict[tuple[str, str], InputField] = {}
    for item in inputs:
        if is_hidden_operation(item.origin):
            _add_all(hidden, [replace(item, kind="")])
        else:
            visible[item] = None
    return (*visible, *(hidden[node] for node in sorted(hidden)))


def _sorted_inputs(operation: Operation) -> Operation:
    """Return an operation whose hidden inputs come last, in an order that is independent of their labels."""
    if isinstance(operation, Read):
        return operation
    visible = (item for item in operation.inputs if not is_hidden_operation(item.origin))
    hidden = (item for item in operation.inputs if is_hidden_operation(item.origin))
    in_order = sorted(hidden, key=lambda item: (item.name, item.influence.value, item.origin[-1:]))
    return replace(operation, inputs=(*visible, *in_order))


def _renumber(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Yield operations with the suffixes `#2`, `#3` of visible names, and of origins, assigned again.

    A suffix reveals another operation, possibly a hidden one, with the same name.
    """
    names = UniqueNames()
    visible = (operation.name for operation in operations if not is_hidden_operation(operation.name))
    in_order = sorted(visible, key=_name_and_number)
    renamed = {name: names.assign(_SUFFIX.sub("", name)) for name in in_order}
    for operation in operations:
        operation = replace(operation, name=renamed.get(operation.name, operation.name))
        if not isinstance(operation, Read):
            inputs = (
                replace(item, origin=renamed.get(item.origin, item.origin)) for item in operation.inputs
            )
            operation = replace(operation, inputs=tuple(inputs))
        if isinstance(operation, Write) and operation.unknown_origins:
            origins = tuple(renamed.get(name, name) for name in operation.unknown_origins)
            operation = replace(operation, unknown_origins=origins)
        yield operation


def _name_and_number(name: str) -> tuple[str, int]:
    """Split a name such as `x#3` into ("x", 3); the number of a name without a suffix is 1."""
    suffix = _SUFFIX.search(name)
    return (name[: suffix.start()], int(suffix[0][1:])) if suffix else (name, 1)
