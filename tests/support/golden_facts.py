"""Notation of golden cases: a line for each fact about fields, runs, datasets and problems.

    o.total double <- s.price, s.rate | conditional s.day: price * rate

The field `total` of dataset `o`, of type double, is derived from two fields of `s`; a third one decides on
its value. The text after the colon is the description of the operation. `o.*` is all of `o`. Inputs after a
kind are indirect ones (`indirect` if the kind is unknown). Lines leave out what follows from the conventions
of a source: names of operations, the fields that are read, and the description of a column that is copied.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.runs import ProgramRun
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.errors import FieldError, InputError
from fll_hbase.sources.native.document import Reading

Json: TypeAlias = dict[str, Any]
End: TypeAlias = tuple[str, str]
"""Namespace and name of a dataset."""

Target: TypeAlias = tuple[End, str | None]
"""A field of a dataset, or all of it."""

NOWHERE: End = ("", "")
"""The source of generated fields, and the destination of dropped ones."""

GENERATED, NO_FIELDS, ALL_FIELDS = "(generated)", "(no fields)", "*"

_PLAIN = re.compile(r"""[^\s,"'|=()\[\]{}<>*.:]+""")
_PLAIN_DATASET = re.compile(r"""[^\s,"'|=()\[\]{}<>*]*[^\s,"'|=()\[\]{}<>*:.]""")
_PLAIN_TYPE = re.compile(r"(?!.*, )[\w()<>,?.:]+( [\w()<>?]+)*")


@dataclass(frozen=True)
class Notation:
    """Conventions of a source: what its lines leave out."""

    namespace: str
    """Datasets of this namespace are written without it."""
    describes_columns: bool = False
    """Whether the description of a column that is copied is its name."""
    has_full_names: bool = False
    """Whether operations are named `read namespace/name` and `derive field`."""

    def operation(self, verb: str, end: End) -> str:
        """Return the name of a read or a write."""
        return f"{verb} {'/'.join(end) if self.has_full_names else end[1]}"

    def transform(self, end: End, name: str) -> str:
        """Return the name of the transform of one field."""
        return f"derive {name}" if self.has_full_names else f"{end[1]}.{name}"

    def description(self, inputs: list[Json]) -> str:
        """Return the description that a transform without a text has."""
        is_copy = self.describes_columns and [item["influence"] for item in inputs] == ["direct"]
        return str(inputs[0]["name"]) if is_copy else ""

    def dataset(self, end: End) -> str:
        """Return the name of a dataset, with `{namespace}` if it is another one."""
        namespace, name = end
        prefix = "" if namespace == self.namespace else f"{{{namespace}}}"
        return prefix + (name if _PLAIN_DATASET.fullmatch(name) else _quoted(name))

    def field(self, end: End, name: str | None) -> str:
        """Return `dataset.field`, or `dataset.*` without a name; a field of no dataset is generated."""
        if end == NOWHERE:
            return GENERATED
        return f"{self.dataset(end)}.{ALL_FIELDS if name is None else word(name)}"


def word(text: str) -> str:
    """Return a name, in quotes unless it is plain."""
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def described(head: str, text: str) -> str:
    """Return a line with a text, whose further lines are indented; without text the head alone."""
    if not text:
        return head
    lines = [_visible(line) for line in text.split("\n")]
    if any(line == "|" or "·" in line or not line.isprintable() for line in text.split("\n")):
        return f"{head}: json {_quoted(text)}"
    rest = "".join(f"\n    {line or '|'}" for line in lines[1:])
    return f"{head}:{' ' * bool(lines[0])}{lines[0]}{rest}"


def _visible(line: str) -> str:
    """Return a line with its last spaces as dots, because editors remove them."""
    stripped = line.rstrip(" ")
    return stripped + "·" * (len(line) - len(stripped))


def time(milliseconds: int) -> str:
    """Return a time with all its milliseconds."""
    moment = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def members(name: str, value: Any) -> Iterator[str]:
    """Yield `name: value` for a string or number, and such lines for everything in an object or a list."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from members(f"{name}.{word(key)}" if name else word(key), item)
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield f"{name}: {', '.join(map(word, value))}".rstrip()
    elif isinstance(value, list):
        for item in value:
            yield from members(name, item)
    else:
        yield described(name, value if isinstance(value, str) else json.dumps(value))


def fields(items: Iterable[Json]) -> str:
    """Return names with their types: `id long, v string`."""
    return ", ".join(word(item["name"]) + _type(item) for item in items) or NO_FIELDS


def run(recorded: ProgramRun) -> Iterator[str]:
    """Yield the run and its program."""
    for name in ("run", "namespace", "application", "type", "program"):
        yield f"{name}: {getattr(recorded, name)}"
    yield f"startTime: {time(recorded.start_ms)}"
    yield f"state: {recorded.state.value}"
    yield from members("details", json.loads(recorded.details or "{}"))


def datasets(catalogue: Iterable[DatasetMetadata], notation: Notation) -> Iterator[str]:
    """Yield datasets with their fields, descriptions, aliases and tags."""
    for metadata in catalogue:
        name = notation.dataset(_end_of(metadata.dataset))
        yield f"dataset {name}: {fields({'name': item.name, 'type': item.type} for item in metadata.fields)}"
        if metadata.description:
            yield described(f"dataset {name} is described", metadata.description)
        for alias in metadata.aliases:
            yield f"dataset {name} is also {notation.dataset(_end_of(alias))}"
        for tag in metadata.tags:
            field = notation.field(_end_of(metadata.dataset), tag.field)
            yield f"field {field} has the tag {word(tag.tag)}{f' of {word(tag.by)}' if tag.by else ''}"


def error(failure: InputError) -> Iterator[str]:
    """Yield the error of a document with its places."""
    yield f"error {type(failure).__name__}"
    yield from problems("fault", failure.errors)


def problems(kind: str, errors: Iterable[FieldError]) -> Iterator[str]:
    """Yield faults or warnings, with their places."""
    for problem in acknowledgements.field_errors(errors):
        yield described(f"{kind} {problem['at']}".rstrip(), problem["detail"])


def dry_run(read: Callable[[], Reading], notation: Notation) -> Iterator[str]:
    """Yield what a dry run of a document answers, or the error of the document."""
    try:
        reading = read()
    except InputError as failure:
        yield from error(failure)
        return
    yield from lineage(acknowledgements.dry_run(reading.operations.info), notation)
    yield from problems("warning", reading.warnings)


def lineage(body: Json, notation: Notation) -> Iterator[str]:
    """Yield the facts of a run: of its `operations`, its `lineage` and its `checksum`.

    If all transforms derive fields of a dataset from fields that are read, a fact is a line. Otherwise the
    lineage comes first, and below it the graph of the operations. Warnings are not yielded.
    """
    # As clients receive it: arrays are lists.
    body = json.loads(json.dumps(body))
    _check(body)
    facts = _Facts(notation, body["operations"])
    if facts.represent(body):
        yield from facts.lines
        yield from _answered([entry for entry in body["lineage"] if "unknown" in entry], notation)
    else:
        yield from _answered(body["lineage"], notation)
        yield ""
        yield from (_operation(operation, notation) for operation in body["operations"])
    yield f"checksum {body['checksum']}"


class _Facts:
    """The lines of a run whose operations follow the conventions, and the lineage that they mean."""

    def __init__(self, notation: Notation, operations: list[Json]) -> None:
        self._notation = notation
        self._operations = {operation["name"]: operation for operation in operations}
        self._ends = {name: _end(operation) for name, operation in self._operations.items()}
        self._represented: list[str] = []
        self._times: dict[str, int] = defaultdict(int)
        self._targets: set[Target] = set()
        self._pairs: dict[tuple[Target, Target], str] = {}
        self.lines: list[str] = []
        for operation in operations:
            if operation["type"] == "WRITE":
                self._add_write(operation)
        for operation in operations:
            if operation["type"] == "READ":
                self._add_read(operation)

    def represent(self, body: Json) -> bool:
        """Return whether the lines mean all operations, and all lineage but unknown relations."""
        entries = [entry for entry in body["lineage"] if "unknown" not in entry]
        return sorted(self._represented) == list(self._operations) and self._lineage() == entries

    def _lineage(self) -> list[Json]:
        entries: dict[tuple[End, End], list[Json]] = defaultdict(list)
        derived = {target for (_, target), influence in self._pairs.items() if influence == "direct"}
        pairs = self._pairs | {((NOWHERE, None), target): "direct" for target in self._targets - derived}
        for ((source, start), (destination, stop)), influence in pairs.items():
            entries[source, destination].append(_pair(start, stop, influence))
        return [
            {
                "source": _dataset(source),
                "destination": _dataset(destination),
                "fieldmap": sorted(entries[source, destination], key=_pair_key),
                "level": 1,
                "direction": "backward" if source == NOWHERE else "forward",
            }
            for source, destination in sorted(entries)
        ]

    def _add_write(self, write: Json) -> None:
        end = self._ends[write["name"]]
        if (
            write["name"] == self._notation.operation("write", end)
            and not write["destination"]["description"]
        ):
            self._represented.append(write["name"])
        self.lines.append(described(f"write {self._notation.dataset(end)}", write["description"]))
        for is_direct, group in groupby(write["inputs"], lambda item: item["influence"] == "direct"):
            inputs = list(group)
            if is_direct:
                self.lines += [self._written(end, item) for item in inputs]
            else:
                self.lines.append(f"{self._notation.field(end, None)} <- {self._inputs(inputs)}")
                self._add_pairs((end, None), inputs)

    def _written(self, end: End, written: Json) -> str:
        origin, name = self._operations[written["origin"]], written["name"]
        line = self._notation.field(end, name)
        self._targets.add((end, name))
        if origin["type"] == "READ":
            self._add_pairs((end, name), [written])
            return f"{line} <- {self._inputs([written])} (copied)"
        inputs, (output, *others) = origin["inputs"], origin["outputs"]
        if origin["name"] == self._transform(end, name) and output["name"] == name and not others:
            self._represented.append(origin["name"])
        self._add_pairs((end, name), inputs)
        line += f"{_type(output)} <- {self._inputs(inputs)}"
        if origin["description"] == self._notation.description(inputs):
            return line
        return described(line, origin["description"] or "(nothing)")

    def _transform(self, end: End, name: str) -> str:
        """Return the name of the next transform of a field: `t.a`, then `t.a#2`."""
        transform = self._notation.transform(end, name)
        self._times[transform] += 1
        return transform + (f"#{self._times[transform]}" if self._times[transform] > 1 else "")

    def _add_read(self, read: Json) -> None:
        end = self._ends[read["name"]]
        if read["name"] == self._notation.operation("read", end) and not (
            read["description"] or read["source"]["description"]
        ):
            self._represented.append(read["name"])
        operations = self._operations.values()
        inputs = [item for operation in operations for item in operation.get("inputs", ())]
        used = sorted({item["name"] for item in inputs if item["origin"] == read["name"]})
        if not used or read["outputs"] != [{"name": name} for name in used]:
            self.lines.append(f"read {self._notation.dataset(end)}: {fields(read['outputs'])}")

    def _inputs(self, inputs: list[Json]) -> str:
        return _sources(inputs, lambda item: self._notation.field(self._ends[item["origin"]], item["name"]))

    def _add_pairs(self, target: Target, inputs: list[Json]) -> None:
        """Add pairs; one that is both direct and indirect is direct."""
        for item in inputs:
            ends = (self._ends[item["origin"]], item["name"]), target
            if item["influence"] == "direct" or ends not in self._pairs:
                self._pairs[ends] = item["influence"]


def _answered(entries: list[Json], notation: Notation) -> Iterator[str]:
    """Yield lines of answered lineage: of each field all sources, direct ones first."""
    inputs: dict[tuple[End, str | None], list[Json]] = defaultdict(list)
    for entry in entries:
        source, destination = _ends(entry)
        if entry.get("unknown"):
            yield f"{notation.dataset(destination)} <- {notation.dataset(source)} (fields unknown)"
        for pair in entry["fieldmap"]:
            name = None if "scope" in pair else pair["to"]
            inputs[destination, name].append({"influence": "direct", **pair, "source": source})
    for (destination, name), items in inputs.items():
        items.sort(key=lambda item: item["influence"])
        target = "(dropped)" if destination == NOWHERE else notation.field(destination, name)
        yield f"{target} <- {_sources(items, lambda item: notation.field(item['source'], item['from']))}"


def _operation(operation: Json, notation: Notation) -> str:
    """Return an operation of a graph; its inputs are `operation.field`."""
    name = _operand(operation["name"])
    inputs = _sources(
        operation.get("inputs", ()), lambda item: f"{_operand(item['origin'])}.{word(item['name'])}"
    )
    match operation["type"]:
        case "READ":
            line = f"{name} reads {_described_dataset(operation['source'], notation)}"
            line += f": {fields(operation['outputs'])}"
        case "WRITE":
            line = f"{name} writes {_described_dataset(operation['destination'], notation)} <- "
            line += inputs if operation["inputs"] else NO_FIELDS
        case _ if operation["outputs"]:
            line = f"{name} makes {fields(operation['outputs'])} <- {inputs}"
        case _:
            line = f"{name} drops {inputs}"
    return described(line, operation["description"])


def _described_dataset(member: Json, notation: Notation) -> str:
    name = notation.dataset((member["namespace"], member["name"]))
    return f"{name} {_quoted(member['description'])}" if member["description"] else name


def _sources(inputs: Iterable[Json], name_of: Callable[[Json], str]) -> str:
    """Return inputs in their order; those of one kind that follow each other are one group."""
    groups = groupby(inputs, lambda item: (item["influence"], item.get("kind", "")))
    texts = []
    for (influence, kind), group in groups:
        head = "" if influence == "direct" else f"{kind or influence} "
        texts.append(head + ", ".join(map(name_of, group)))
    return " | ".join(texts) or GENERATED


def _end_of(dataset: Dataset) -> End:
    return dataset.namespace, dataset.name


def _end(operation: Json) -> End:
    member = operation.get("source") or operation.get("destination")
    return (member["namespace"], member["name"]) if member else NOWHERE


def _ends(entry: Json) -> tuple[End, End]:
    members = (entry[name] or {"namespace": "", "name": ""} for name in ("source", "destination"))
    source, destination = ((member["namespace"], member["name"]) for member in members)
    return source, destination


def _dataset(end: End) -> Json | None:
    return None if end == NOWHERE else {"namespace": end[0], "name": end[1]}


def _pair(start: str | None, stop: str | None, influence: str) -> Json:
    pair: Json = {"from": start, "to": ALL_FIELDS if stop is None else stop}
    if influence != "direct":
        pair["influence"] = influence
    return pair if stop is not None else {**pair, "scope": "dataset"}


def _pair_key(pair: Json) -> tuple[str, str, str]:
    return pair["from"] or "", pair["to"] or "", pair.get("scope", "")


def _check(body: Json) -> None:
    """Refuse what the lines do not show: other members, and another order than that of answers."""
    assert set(body) == {"operations", "checksum", "lineage", "warnings"}
    assert body["lineage"] == sorted(body["lineage"], key=_ends)
    for entry in body["lineage"]:
        assert set(entry) - {"unknown"} == {"source", "destination", "fieldmap", "level", "direction"}
        assert (entry["level"], entry["direction"]) == (1, "forward" if entry["source"] else "backward")
        assert entry["fieldmap"] == sorted(entry["fieldmap"], key=_pair_key)
        assert all(set(pair) <= {"from", "to", "influence", "scope"} for pair in entry["fieldmap"])


def _operand(name: str) -> str:
    return name if _PLAIN_DATASET.fullmatch(name) else _quoted(name)


def _type(field: Json) -> str:
    text = field.get("type", "")
    return "" if not text else f" {text if _PLAIN_TYPE.fullmatch(text) else _quoted(text)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())
