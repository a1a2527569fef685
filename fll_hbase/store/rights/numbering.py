"""Numbering of hidden datasets and programs in one answer, in an order independent of their names."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import cache
from operator import is_
from typing import Any, TypeVar

from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.derivation_parts import DerivationParts
from fll_hbase.model.masking import MARK, MARK_END, is_hidden
from fll_hbase.model.operation_graph import OperationGraph
from fll_hbase.store import results
from fll_hbase.store.read.content_cache import Content
from fll_hbase.store.read.field_programs import FieldPrograms, PerformedOperations
from fll_hbase.store.read.field_summaries import RelatedFields

T = TypeVar("T")

_names: ContextVar[dict[str, str]] = ContextVar("hidden_names")
"""The shown name of each label of the current answer."""

_LABEL = re.compile(rf"{MARK}([a-z]+?)[0-9a-f]{{24}}{MARK_END}")

_COMPOSED = (
    results.ChangedField,
    Content,
    results.DatasetDiff,
    results.DatasetLineageResult,
    results.Derivation,
    DerivationParts,
    results.Derivations,
    results.FieldDiff,
    results.FieldLineageResult,
    FieldPrograms,
    results.FlowReport,
    OperationGraph,
    PerformedOperations,
    results.Reach,
    RelatedFields,
    results.RetentionReport,
    results.RunDetails,
)
"""Results whose members are compared one by one, because their order may depend on labels."""

_COLLECTIONS = frozenset({tuple, list, set, frozenset})

_LABELS_MAX = 50
"""Maximum number of labels that one part distinguishes."""

_ROUNDS_MAX = 4
"""Maximum number of refinements of the order; labels that are still equal look the same in the answer."""


def begin_answer() -> None:
    """Forget the numbers given in this thread, so that the next result begins another answer."""
    _names.set({})


def number_hidden(result: T) -> T:
    """Return a result with each label of a hidden name replaced by `hidden <number>`; itself if it has none.

    Labels of datasets, programs and runs are numbered separately, from 1, by what the result shows of them.
    Labels in earlier results of the same answer keep their numbers.
    """
    contexts = _Contexts()
    contexts.add(result)
    if not contexts.labels:
        return result
    names = number_in_order(contexts.new_labels(_names.get({})))
    return _replaced(result, names)  # type: ignore[no-any-return]


def number_in_order(labels: Iterable[str]) -> Mapping[str, str]:
    """Number labels in order of appearance; return the names, `hidden <number>`, of all labels of the answer.

    Labels in earlier results of the same answer keep their numbers. Kinds of labels are numbered separately.
    """
    names = _names.get(None)
    if names is None:
        _names.set(names := {})
    counts = Counter(map(_kind, names))
    for label in labels:
        if label not in names:
            counts[_kind(label)] += 1
            names[label] = f"hidden {counts[_kind(label)]}"
    return names


class _Contexts:
    """The parts of a result that contain each label."""

    def __init__(self) -> None:
        self.labels: dict[str, list[int]] = {}
        """The numbers of the parts that contain each label."""
        self._parts: list[tuple[object, int]] = []
        """Each part with the number of its labels."""
        self._single_label_texts: dict[int, str] = {}
        """The normalized text of each part with only one label; no rank changes it."""

    def add(self, value: object) -> None:
        """Note the labels of the smallest parts of a result, such as an edge, ignoring parts without any."""
        for part in _parts(value):
            marked = [text for text in _texts(part) if MARK in text]
            labels = {match[0] for text in marked for match in _LABEL.finditer(text)}
            for label in labels:
                self.labels.setdefault(label, []).append(len(self._parts))
            if labels:
                self._parts.append((part, len(labels)))

    def new_labels(self, names: Mapping[str, str]) -> list[str]:
        """Return the labels without a name in `names`, by kind, then by what the result shows of them.

        `names` has the shown names, `hidden <number>`, of the labels of earlier results.
        """
        ranks = dict.fromkeys(self.labels, 0)
        ranks |= {label: int(names[label].split()[1]) for label in self.labels if label in names}
        for _ in range(_ROUNDS_MAX):
            refined = self._refine(ranks)
            if refined == ranks:
                break
            ranks = refined
        return sorted(self.labels.keys() - names.keys(), key=ranks.__getitem__)

    def _refine(self, ranks: Mapping[str, int]) -> dict[str, int]:
        """Return new ranks: by kind, old rank, and the parts with labels replaced by their old ranks."""
        signatures = {}
        common: dict[int, str] = {}
        for label, numbers in self.labels.items():
            texts = sorted(self._signature(number, label, ranks, common) for number in numbers)
            signatures[label] = (_kind(label), ranks[label], tuple(texts))
        order = {signature: rank for rank, signature in enumerate(sorted(set(signatures.values())))}
        return {label: order[signature] for label, signature in signatures.items()}

    def _signature(self, number: int, label: str, ranks: Mapping[str, int], common: dict[int, str]) -> str:
        """Return what a part shows of a label, or one text, put into `common`, if it has over _LABELS_MAX."""
        part, labels = self._parts[number]
        if 1 < labels <= _LABELS_MAX:
            return repr(_normal(part, label, ranks)[0])
        # Separate texts for very many labels would cost the square of their number.
        texts, own_label = (self._single_label_texts, label) if labels == 1 else (common, "")
        if number not in texts:
            texts[number] = repr(_normal(part, own_label, ranks)[0])
        return texts[number]


def _kind(label: str) -> str:
    """Return the kind that a label of a hidden name contains, such as `program`."""
    return label[len(MARK) : -25]


def _parts(value: object) -> Iterator[object]:
    """Yield the smallest parts of a result, such as edges, without parts that follow from other parts."""
    if isinstance(value, Content):
        # Skip the field map, which is in label order and says the same as the operations.
        yield from value.operations
    elif isinstance(value, OperationGraph) and value.operations and not value.truncated:
        # Nodes and connections follow from the operations, unless a limit left some of them out.
        members: tuple[object, ...] = (value.operations, value.paths, value.failed)
        for member in members:
            yield from _parts(member)
    elif isinstance(value, _COMPOSED):
        for member in _members(value) or ():
            yield from _parts(member)
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, set, frozenset)) or type(value) is tuple:
        for member in value:
            is_composed = isinstance(member, _COMPOSED) or (
                type(member) is tuple and any(isinstance(item, _COMPOSED) for item in member)
            )
            yield from _parts(member) if is_composed else (member,)
    else:
        yield value


def _members(value: object) -> Sequence[object] | None:
    """Return the members of a dataclass, a struct or a collection, or None for any other value."""
    kind: Any = type(value)
    if kind in _COLLECTIONS:
        return tuple(value)  # type: ignore[arg-type]
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    names = _names_of_members(kind)
    return None if names is None else [getattr(value, name) for name in names]


@cache
def _names_of_members(kind: Any) -> tuple[str, ...] | None:
    """Return the members' names in a class of values, in constructor order, or None for other classes."""
    if issubclass(kind, (Enum, str)):
        return None
    if kind is DatasetLineage:
        # Its pairs are names of visible fields, or not shown.
        return "source", "destination"
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "__struct_fields__", getattr(kind, "_fields", None))


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a value and, recursively, in its members."""
    if isinstance(value, str):
        yield value
        return
    for member in _members(value) or ():
        if type(member) is str:
            yield member
        else:
            yield from _texts(member)


def _normal(value: object, label: str, ranks: Mapping[str, int]) -> tuple[object, bool]:
    """Return a value for comparison, with labels replaced by ranks, and whether it has any label.

    `label` is replaced by `self`. The members of sets and mappings are sorted. In a sequence, members with
    labels come last and are sorted, because they may be in label order.
    """
    if type(value) is str:
        return (_with_ranks(value, label, ranks), True) if MARK in value else (value, False)
    members = _members(value)
    if members is None:
        return value, False
    pairs = [_normal(member, label, ranks) for member in members]
    has_label = any(is_labelled for _, is_labelled in pairs)
    normal = [item for item, _ in pairs]
    if isinstance(value, dict):
        half = len(normal) // 2
        return sorted(zip(normal[:half], normal[half:], strict=True), key=repr), has_label
    if isinstance(value, (set, frozenset)):
        return sorted(normal, key=repr), has_label
    if type(value) in (tuple, list):
        if not has_label:
            return tuple(normal), False
        plain = [item for item, is_labelled in pairs if not is_labelled]
        others = [item for item, is_labelled in pairs if is_labelled]
        return (*plain, *sorted(others, key=repr)), True
    return (type(value).__name__, *normal), has_label


def _with_ranks(text: str, label: str, ranks: Mapping[str, int]) -> str:
    """Return a string with `label` replaced by `self`, and other labels by `other <rank>`."""
    return _LABEL.sub(lambda match: "self" if match[0] == label else f"other {ranks[match[0]]}", text)


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with its labels replaced by names. Without labels only dicts are copied."""
    if isinstance(value, str):
        return _replaced_text(value, names) if MARK in value else value
    if isinstance(value, DatasetLineage):
        return _replaced_lineage(value, names)
    if isinstance(value, Enum):
        return value
    if isinstance(value, dict):
        return {_replaced(key, names): _replaced(item, names) for key, item in value.items()}
    members = _members(value)
    if members is None:
        return value
    replaced = [_replaced(member, names) for member in members]
    if all(map(is_, replaced, members)):
        return value
    if isinstance(value, (list, set, frozenset)) or type(value) is tuple:
        return type(value)(replaced)
    # All members, in order, of dataclasses, structs and named tuples.
    return type(value)(*replaced)


def _replaced_text(text: str, names: Mapping[str, str]) -> str:
    """Return a string with its labels replaced by names, between marks unless the whole text is a label."""
    # The name of an operation keeps the mark, which identifies it as hidden.
    if text in names:
        return names[text]
    return _LABEL.sub(lambda match: f"{MARK}{names[match[0]]}{MARK_END}", text)


def _replaced_lineage(lineage: DatasetLineage, names: Mapping[str, str]) -> DatasetLineage:
    """Return the lineage with the labels of its datasets replaced, without fields if either is hidden."""
    ends = _replaced(lineage.source, names), _replaced(lineage.destination, names)
    if is_hidden(lineage.source) or is_hidden(lineage.destination):
        return DatasetLineage(*ends)
    return lineage
