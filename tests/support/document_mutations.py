"""Hypothesis strategies: valid documents, and the same with members removed, replaced or added."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from fll_hbase.model.checksum import operation_to_dict
from tests.support.strategies import (
    descriptions,
    end_points,
    few_fields,
    names,
    operation_sets,
    starts,
    texts,
    types,
)

Json = dict[str, Any]

WORDS = [
    *("", "?", "ns1", "direct", "indirect", "filter", "sort", "READ", "TRANSFORM", "WRITE", "read", "FAIL"),
    *(
        "COMPLETE",
        "a" * 1_024,
        "a" * 1_025,
        "é" * 512,
        "é" * 513,
        "a" * 4_096,
        "a" * 4_097,
        "\ud800",
        "x\udfff",
    ),
]
NUMBERS = [0, 1, -1, True, 1.0, 1.5, 2**63 - 2, 2**63 - 1, 2**64, 10**30]
MEMBERS = [
    *("run", "operations", "namespace", "destination", "application", "version", "type", "program", "state"),
    *("startTime", "name", "description", "source", "inputs", "outputs", "origin", "influence", "kind"),
    *("field", "fields", "colour", "", "a/b"),
]

scalars = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.integers() | st.floats(allow_nan=False)
values = st.recursive(
    scalars | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(MEMBERS) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any JSON, halves of surrogate pairs included, and often what a document could mean."""

described_end_points = st.builds(
    lambda dataset, more: {"namespace": dataset.namespace, "name": dataset.name, **more},
    end_points,
    st.sampled_from([{}, {"description": "A file"}]),
)
outputs = few_fields | st.builds(lambda name, kind: {"name": name, "type": kind}, few_fields, types)


@st.composite
def runs(draw: st.DrawFn) -> Json:
    run: Json = {name: draw(names) for name in ("application", "type", "program", "run")}
    run["startTime"] = draw(starts)
    if draw(st.booleans()):
        run["version"] = draw(texts)
    if draw(st.booleans()):
        run["state"] = draw(st.sampled_from(["RUNNING", "COMPLETE", "FAIL", "ABORT"]))
    return run


@st.composite
def lineage_documents(draw: st.DrawFn) -> Json:
    """A run with its operations; the shape is right, and mostly the lineage too."""
    operations = [operation_to_dict(operation) for operation in draw(operation_sets(transforms_max=2))]
    return _with_namespace(draw, {"run": draw(runs()), "operations": operations})


@st.composite
def first_design_documents(draw: st.DrawFn) -> Json:
    """The same in the first design's form; many of them take fields that nothing made."""
    destination = draw(described_end_points)
    if draw(st.booleans()):
        destination["fields"] = draw(st.lists(outputs, max_size=2))
    read: Json = {
        "name": "read",
        "inputs": [{"source": draw(described_end_points)}],
        "outputs": draw(st.lists(outputs, max_size=3)),
    }
    operations = [read, *draw(st.lists(_first_design_operations(), max_size=3))]
    return _with_namespace(draw, {"run": draw(runs()), "destination": destination, "operations": operations})


@st.composite
def _first_design_operations(draw: st.DrawFn) -> Json:
    fields = st.builds(lambda field: {"field": field}, outputs)
    sources = st.builds(lambda source: {"source": source}, described_end_points)
    operation: Json = {"name": draw(names), "inputs": draw(st.lists(fields | sources, max_size=2))}
    operation["outputs"] = draw(st.lists(outputs, max_size=2))
    if draw(st.booleans()):
        operation["description"] = draw(descriptions)
    return operation


def _with_namespace(draw: st.DrawFn, document: Json) -> Json:
    return document | ({"namespace": draw(names)} if draw(st.booleans()) else {})


documents = lineage_documents() | first_design_documents()


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A valid document after a few changes, or none."""
    return draw(mutations(draw(documents)))


@st.composite
def mutations(draw: st.DrawFn, document: Any) -> Any:
    """A copy of a document after a few changes, or none."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.sampled_from([1, 0, 1, 2, 3]))):
        document = _changed(draw, document)
    return document


def _changed(draw: st.DrawFn, document: Any) -> Any:
    """The document with one place of it changed, in place but for the root."""
    positions = list(_positions(document)) if isinstance(document, dict | list) else []
    holder, key = draw(st.sampled_from(positions)) if positions else (None, None)
    match draw(st.sampled_from(["replace", "remove", "add", "swap", "root"])):
        case "root" if draw(st.integers(0, 9)) == 0:
            return draw(values)
        case "remove" if holder is not None:
            del holder[key]
        case "add" if isinstance(holder, dict):
            holder[draw(st.sampled_from(MEMBERS))] = draw(values)
        case "add" if isinstance(holder, list):
            holder.append(draw(values))
        case "swap" if positions:
            other, other_key = draw(st.sampled_from(positions))
            holder[key] = copy.deepcopy(other[other_key])
        case _ if holder is not None:
            holder[key] = draw(values)
    return document


def _positions(value: Any) -> Any:
    """Every member and item anywhere in a value, as holder and key."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _positions(inner)


@st.composite
def written(draw: st.DrawFn, document: Any) -> bytes:
    """One of the ways to write a document as JSON."""
    if isinstance(document, dict):
        document = dict(draw(st.permutations(list(document.items()))))
    return json.dumps(
        document,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 1])),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    ).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """Bytes with a few of them lost, doubled, or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(raw)))
        stop = min(begin + draw(st.sampled_from([0, 1, 1, 2, 10, 1_000])), len(raw))
        part = draw(st.sampled_from(PIECES) | st.binary(max_size=3) | st.just(raw[begin:stop] * 2))
        raw = raw[:begin] + part + raw[stop:]
    return raw


PIECES = [
    *(b"", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b'"', b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n"),
    *(b"0", b"-", b"1e999", b"NaN", b"Infinity", b"null", b"\\", b"\\ud800", b"\\u0000", b"\xef\xbb\xbf"),
    *(b'"operations":0,', b'"operations":[],', b'"run":{},', b'"destination":{"name":"x"},', b'"x":"\xff",'),
    *(b'"namespace":"ns1",', b'{"operations":', b',"operations":0', b',"x":1,"x":1'),
]
