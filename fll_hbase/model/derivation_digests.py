"""Digests of how a content derives each field of a dataset, to compare instead of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fll_hbase.model import checksum, simple_view, topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import Influence, Operation, Write, dataset_of, type_of


def derivation_digests(
    operations: Sequence[Operation],
    dataset: Dataset,
    *,
    indirect: bool,
    shown: Callable[[str], str] = str,
) -> dict[str, str]:
    """Return a digest of 32 hex digits for each field that the operations of a content write to the dataset.

    Two contents have equal digests of a field if, and only if, all operations that lead into the field have
    equal names, types, descriptions, datasets and connections. Other outputs of these operations do not
    change the digests, nor do indirect inputs without `indirect`. The work grows with the operations and
    their inputs, not the fields. `shown` replaces names and descriptions: published digests must not depend
    on labels of hidden names.
    """
    # Names identify the operations of a content, so the digest of an operation covers all that leads into it.
    digests: dict[str, str] = {}
    ways: dict[str, set[tuple[str, ...]]] = {}
    for operation in topology.sort_operations(operations):
        inputs = simple_view.input_influences(operation)
        if isinstance(operation, Write):
            if operation.destination == dataset:
                for (origin, name), influence in inputs.items():
                    # The operations of one field may lack the origins of others.
                    if influence is Influence.DIRECT and origin in digests:
                        head = shown(operation.name), shown(operation.description)
                        way = *head, shown(origin), digests[origin]
                        ways.setdefault(name, set()).add(way)
            continue
        members = sorted(
            (shown(origin), name, influence.value, digests[origin])
            for (origin, name), influence in inputs.items()
            if indirect or influence is Influence.DIRECT
        )
        source = dataset_of(operation)
        read = source and Dataset(source.namespace, shown(source.name))
        identity = shown(operation.name), type_of(operation), shown(operation.description), read
        digests[operation.name] = _digest((identity, members))
    return {name: _digest((dataset, sorted(members))) for name, members in ways.items()}


def field_digest(
    operations: Sequence[Operation],
    field: DatasetField,
    *,
    indirect: bool,
    shown: Callable[[str], str] = str,
) -> str:
    """Return the digest that `derivation_digests` has for one field, or "" if no operation writes it.

    `operations` must include all operations of the content that lead into the field.
    """
    return derivation_digests(operations, field.dataset, indirect=indirect, shown=shown).get(field.name, "")


def _digest(value: object) -> str:
    """Return 32 hex digits that are equal only for values with equal `repr`."""
    # `repr` quotes every text, so only equal values have equal bytes.
    return checksum.digest(repr(value).encode())
