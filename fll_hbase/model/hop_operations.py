"""Operations between two fields of one content, by their descriptions: how a hop happens, what masks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fll_hbase.model import topology
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.operation_graph import NodeId
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write, inputs_of
from fll_hbase.model.simple_view import Steps

# IDENTITY is OpenLineage's word, COPY DataHub's; a text may follow.
_COPIES = re.compile(r"(?:IDENTITY|COPY|RENAME)(?P<text>:.*)?(?<!, masked)", re.IGNORECASE | re.DOTALL)

# The parts of a column's name, quoted or not, and the last part; anything else is an expression.
_PART = r"(?:[\w$]+|`[^`]*`|\"[^\"]*\"|\[[^\]]*\])"
_COLUMN = re.compile(rf"(?:{_PART}\.)*(?P<last>{_PART})")

_MASKS = (
    r"(?:sha[-_]?(?:1|2|3|224|256|384|512)\w*|md[245]\w*|hmac\w*|xxhash\w*|murmur\w*|farm_fingerprint|hash(?!tag)\w*"
    r"|standard_hash|ora_hash|blake[23]\w*|digest|mask\w*|redact\w*|tokeni[sz]e\w*|encrypt\w*|aes_encrypt"
    r"|anonymi[sz]e\w*|pseudonymi[sz]e\w*|obfuscate\w*)"
)
"""Names of functions, and first words of texts, whose result does not show the value."""

_WRAPPERS = "(?:cast|try_cast|upper|lower|hex|to_hex|base64|to_base64|trim|substr|substring|left|right)"
"""Functions of one value: masked if their first argument is."""

_CALL = re.compile(rf"(?:[\w$]+\.)*(?:(?P<mask>{_MASKS})|{_WRAPPERS})\s*\(", re.IGNORECASE)

_TEXT = re.compile(
    rf"{_MASKS}(?![^\s,:])(?!\s*\()(?! (?:join|partition|key|map|and|or|is|in|like|between)\b)[^|&*/%^<>=+]*",
    re.IGNORECASE,
)
"""A text that begins with such a word. With an operator, it may be an expression of a column of that name."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_HEAD = re.compile(r"(?:[^:;|()]*: )?[A-Z_]+: ")
"""What an OpenLineage event puts before a description: an input and a subtype, `k: TRANSFORMATION: `."""

_DEPTH_MAX = 20
_TEXT_MAX = 10_000
"""The longest description that is read; a longer one counts as not masked."""


class Copied(NamedTuple):
    """The inputs that a transform passes on unchanged, and whether it does nothing else."""

    inputs: tuple[InputField, ...]
    is_all: bool


class Hop(NamedTuple):
    """How a field leads to another: the transforms on all ways, in an executable order.

    `is_copied` is true if one way only copies. Transforms that only copy, by their own description, are left
    out unless all ways are indirect. Only a hop to a whole dataset (`*`) includes WRITEs.
    """

    operations: tuple[Operation, ...]
    is_copied: bool


class HopOperations:
    """Finds the operations between fields of one content, whose fields are indexed once for all hops."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        transforms = [item for item in operations if isinstance(item, Transform)]
        copied = {item.name: copied_inputs(item) for item in transforms}
        # A transform that only copies all its inputs is left out of a hop; any other transform is named.
        self._copying = {item.name for item in transforms if copied[item.name].is_all}
        copying = (
            replace(item, inputs=copied[item.name].inputs) if isinstance(item, Transform) else item
            for item in operations
            if not isinstance(item, Transform) or copied[item.name].inputs
        )
        self._copies = _Ways(Steps(copying, indirect=False))
        # Direct ways take precedence over ways with indirect inputs.
        self._direct, self._all = (_Ways(Steps(operations, indirect=item)) for item in (False, True))
        self._operations = {operation.name: operation for operation in operations}
        ordered = topology.sort_operations(operations)
        self._ranks = {operation.name: rank for rank, operation in enumerate(ordered)}
        self._reads: dict[Dataset, list[str]] = defaultdict(list)
        # By destination field; `*` has the inputs that shape the whole destination.
        self._written: dict[DatasetField, dict[NodeId, list[str]]] = defaultdict(lambda: defaultdict(list))
        for operation in operations:
            if isinstance(operation, Read):
                self._reads[operation.source].append(operation.name)
            elif isinstance(operation, Write):
                # One field may be both: a written value, and a condition that decides which rows are written.
                for item in inputs_of(operation):
                    name = item.name if item.influence is Influence.DIRECT else WHOLE_DATASET
                    field = DatasetField(operation.destination, name)
                    self._written[field][item.origin, item.name].append(operation.name)

    def between(
        self, sources: Iterable[Dataset], source: str, destinations: Iterable[Dataset], destination: str
    ) -> Hop | None:
        """Return how a source field leads to a destination field, or None if the content has no such way.

        If there are ways over direct inputs alone, only these count. The datasets of each end are names of
        one dataset. An influence on a whole destination (`*`) ends with the WRITEs that the source reaches.
        """
        starts = {(read, source) for name in sources for read in self._reads.get(name, ())}
        ends: dict[NodeId, set[str]] = defaultdict(set)
        for name in destinations:
            for node, writes in self._written.get(DatasetField(name, destination), {}).items():
                ends[node].update(writes)
        is_copied = any(start in ends for start in starts) or bool(self._copies.names_between(starts, ends))
        passed = self._direct.names_between(starts, ends)
        names = passed - self._copying
        if not names and not is_copied:
            names = passed = self._all.names_between(starts, ends)
        if not names and not is_copied:
            return None
        if destination == WHOLE_DATASET:
            reached = (ends[node] for node in ends if node in starts or node[0] in passed)
            names = names.union(*reached)
            is_copied = False
        return Hop(
            tuple(self._operations[name] for name in sorted(names, key=self._ranks.__getitem__)), is_copied
        )


class _Ways:
    """Finds the transforms on the ways of a content to one destination field after another.

    The upstream operations of the last destination are cached: many hops may end at one field.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._origins: frozenset[str] = frozenset()
        self._reachable: Mapping[str, Influence] = {}

    def names_between(self, starts: Iterable[NodeId], ends: Iterable[NodeId]) -> set[str]:
        """Return the names of the transforms on any way from source nodes to nodes that Writes take."""
        steps = self._steps
        origins = frozenset(origin for origin, _ in ends if origin in steps.operations)
        if origins != self._origins:
            self._origins = origins
            direct = dict.fromkeys(origins, Influence.DIRECT)
            self._reachable = steps.reachable_operations(direct, steps.origins)
        first = {name for start in starts for name in steps.consumers_within(start, self._reachable)}
        return steps.reachable_within(self._reachable, first, steps.consumers)


def copied_inputs(transform: Transform) -> Copied:
    """Return the direct inputs that a transform passes on: described as IDENTITY, COPY or RENAME, or by name.

    Sources that parse SQL describe an unchanged column by its name; a UNION has one name for each query. If
    inputs have several names, a description by a single name copies nothing.
    """
    direct = tuple(item for item in transform.inputs if item.influence is Influence.DIRECT)
    words = _COPIES.fullmatch(transform.description)
    if words is not None:
        # With several inputs, a text may describe only one of them.
        is_all = words["text"] is None or len(direct) == 1
        return Copied(direct if is_all else (), is_all)
    parts = transform.description.casefold().split("; ")
    if len(parts) > 1:
        # An event describes several inputs like this: `k: TRANSFORMATION: sha2; uid: IDENTITY`.
        copies = {text.removesuffix(": identity") for text in parts if text.endswith(": identity")}
        copied = tuple(item for item in direct if item.name.casefold() in copies)
        return Copied(copied, is_all=bool(copied) and len(copies) == len(parts))
    texts = _alternatives(transform.description)
    columns = set(map(_column_name, texts))
    copied = tuple(item for item in direct if _last_name(item) in columns)
    names = set(map(_last_name, direct))
    if len(texts) == 1 and len(names) > 1:
        return Copied((), is_all=False)
    return Copied(copied, is_all=bool(direct) and columns == names)


def _alternatives(description: str) -> list[str]:
    """Return the texts between ` | ` outside parentheses; inside, it is an operator."""
    texts: list[str] = []
    depth = 0
    for part in description.split(" | "):
        if depth > 0:
            texts[-1] = f"{texts[-1]} | {part}"
        else:
            texts.append(part)
        depth += part.count("(") - part.count(")")
    return texts


def _column_name(text: str) -> str:
    """Return the last part of a column's name, case-folded, or "" for any other expression."""
    column = _COLUMN.fullmatch(text)
    return column["last"].strip('`"[]').casefold() if column else ""


def _last_name(item: InputField) -> str:
    """Return the name of a field within its struct, case-folded."""
    return item.name.rpartition("/")[2].casefold()


def masks_values(transform: Transform) -> bool:
    """Return whether every part of a transform's description is a masking operation.

    Parts are joined by ` | ` or `; `. A call counts if it is the whole part: `sha2(uid, 256) || uid` shows
    the value. Without a description, the name of the operation counts. A transform that copies an input
    masks nothing, nor does one whose text has more than _TEXT_MAX characters.
    """
    text = transform.description.strip() or transform.name
    if len(text) > _TEXT_MAX or copied_inputs(transform).inputs:
        # A copied column may be called `hash_id`.
        return False
    return all(_is_masked(part.strip()) for part in re.split(r" \| |; ", text))


def without_masked_ways(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations, with masking transforms that generate their outputs instead of deriving them."""
    return [
        replace(item, inputs=()) if isinstance(item, Transform) and masks_values(item) else item
        for item in operations
    ]


def _is_masked(part: str) -> bool:
    """Return whether one part of a description is a masking operation."""
    # Events state it apart from the expression.
    if part.lower() == "masked" or part.endswith(", masked"):
        return True
    head = _HEAD.match(part)
    text = part[head.end() :] if head else part
    # Text in quotes may contain parentheses and commas.
    return _TEXT.fullmatch(text) is not None or _is_masking_call(_QUOTED.sub("_", text))


def _is_masking_call(text: str) -> bool:
    """Return whether a text is one call of a masking function, possibly within wrappers."""
    for _ in range(_DEPTH_MAX):
        call = _CALL.match(text)
        if call is None or _closing(text, call.end()) != len(text) - 1:
            return False
        if call["mask"]:
            return True
        text = _first_argument(text[call.end() : -1]).strip()
    return False


def _closing(text: str, start: int) -> int:
    """Return the position of the parenthesis that closes the one before `start`, or -1."""
    depth = 1
    for position, character in enumerate(text[start:], start):
        depth += (character == "(") - (character == ")")
        if not depth:
            return position
    return -1


def _first_argument(text: str) -> str:
    """Return the first argument of a call, without ` AS type`, given all arguments."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth and (character == "," or text[position : position + 4].lower() == " as "):
            return text[:position]
    return text
