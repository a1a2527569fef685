"""Pipeline configs of any shape: a run or an input error, never another exception, never slowly."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.errors import InputError, TooLarge
from fll_hbase.sources import cdap, strict_json
from fll_hbase.sources.native.document import Reading
from tests.support.pipelines import NAMES, SINK, Json, chain, document, known_pipelines, record, source
from tests.support.work import calls_allowed, count_calls

CALLS_PER_100_KB = 6_000_000

WORDS = (
    *("", "?", *NAMES, "s0", "t0", "k0", "t0.x", "${a}", "${b${a}}", "${a:", "\\${", "}", "READ", "WRITE"),
    *("batchsource", "batchsink", "batchjoiner", "rename", "delete", "create", "\ud800", "a" * 5_000),
    *(json.dumps(record(["x", "p/q"])), '{"name": "x", "type": "int"}', "{", '{"type": "record"}'),
)
MEMBERS = (
    *("run", "config", "arguments", "namespace", "stages", "connections", "from", "to", "name", "plugin"),
    *("type", "properties", "schema", "referenceName", "endPoint", "operations", "fieldMutations", "inputs"),
    *("outputs", "mutation", "inputFields", "outputField", "outputFields", "inputSchema", "outputSchema"),
    *(
        "source",
        "destination",
        "description",
        "influence",
        "kind",
        "fields",
        "items",
        "values",
        "logicalType",
    ),
)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=4)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def mutated_documents(draw: st.DrawFn) -> Any:
    """A pipeline document with parts replaced, removed or added."""
    mutated: Any = json.loads(json.dumps(draw(known_pipelines())[0]))
    mutated["arguments"] = {"a": draw(st.sampled_from(WORDS))}
    for _ in range(draw(st.integers(1, 4))):
        holder, key = draw(st.sampled_from([*_locations(mutated)]))
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                holder[key] = draw(anything)
            case "remove":
                del holder[key]
            case _ if isinstance(holder, dict):
                holder[draw(st.sampled_from(MEMBERS))] = draw(anything)
            case _:
                holder.append(draw(anything))
    return mutated


def _locations(value: Any) -> Any:
    for key, inner in [*value.items()] if isinstance(value, dict) else [*enumerate(value)]:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _locations(inner)


def read_or_error(body: Any) -> Reading | InputError:
    """Read a document; return the error if it is refused."""
    try:
        return cdap.read_document(body, namespace="ns")
    except InputError as error:
        return error


@given(mutated_documents() | anything)
def test_mutated_documents(body: Any) -> None:
    first = read_or_error(body)
    if isinstance(first, Reading):
        assert read_or_error(body) == first
        json.dumps([str(warning) for warning in first.warnings], ensure_ascii=False).encode()
    else:
        assert first.errors
        assert all(error.detail for error in first.errors)


@given(known_pipelines())
def test_order_of_stages_and_connections_is_irrelevant(case: Any) -> None:
    body = case[0]
    first = read_or_error(body)
    shuffled = json.loads(json.dumps(body))
    random.Random(0).shuffle(shuffled["config"]["stages"])
    random.Random(1).shuffle(shuffled["config"]["connections"])
    again = read_or_error(shuffled)
    assert isinstance(first, Reading)
    assert isinstance(again, Reading)
    assert again.recorded == first.recorded


FIELDS = [f"f{number}" for number in range(200)]


def wide(count: int) -> Json:
    return source("src", [f"f{number}" for number in range(count)])


def fan(count: int, *others: Json, **stage: Any) -> Json:
    """One source of 1,500 fields connected to many stages."""
    stages = [{"name": f"t{number}", **stage} for number in range(count)]
    return document([wide(1_500), *stages, *others], [("src", stage["name"]) for stage in stages])


def ladder() -> Json:
    """Two parallel chains, and for each pair of their stages one where both meet."""
    names = [f"{kind}{step}" for step in range(250) for kind in "abm"]
    arrows = [(f"{kind}{step}", f"{kind}{step + 1}") for step in range(249) for kind in "ab"]
    arrows += [(f"{kind}{step}", f"m{step}") for step in range(250) for kind in "ab"]
    ends = [wide(1_500), {**wide(1_500), "name": "src2"}, SINK]
    return document(
        [*ends, *({"name": name} for name in names)],
        [("src", "a0"), ("src2", "b0"), *arrows, ("m9", "out")],
    )


def billion_laughs() -> Json:
    """Named records that refer to the previous one twice each."""
    fields: list[Json] = [{"name": "x0", "type": {**record(["a"]), "name": "r0"}}]
    for number in range(1, 40):
        pair = [{"name": name, "type": f"r{number - 1}"} for name in "pq"]
        fields.append(
            {"name": f"x{number}", "type": {"type": "record", "name": f"r{number}", "fields": pair}}
        )
    schema = {"type": "record", "name": "r", "fields": fields}
    sources = [
        {"name": f"s{number}", "plugin": {"type": "batchsource", "properties": {"schema": schema}}}
        for number in range(20)
    ]
    return document([*sources, SINK], [("s0", "out")])


SLOW: dict[str, Json] = {
    "undeclared": chain(
        source("src", FIELDS),
        *(
            {"name": f"t{number}", "outputSchema": record([f"{name}_{number}" for name in FIELDS])}
            for number in range(500)
        ),
        SINK,
    ),
    "passing": chain(source("src", FIELDS), *({"name": f"t{number}"} for number in range(2_000)), SINK),
    "made again": chain(
        source("src", FIELDS),
        *(
            {
                "name": f"t{number}",
                "operations": [{"name": name, "inputs": [name], "outputs": [name]} for name in FIELDS[:20]],
            }
            for number in range(100)
        ),
        SINK,
    ),
    "many sinks": fan(30, plugin={"type": "batchsink"}),
    "too many sinks": fan(500, plugin={"type": "batchsink"}),
    "comb": fan(500, SINK, fieldMutations=[{"mutation": "create", "outputField": "x"}]),
    "ladder": ladder(),
    "billion laughs": billion_laughs(),
    "one name": chain(
        source("src", FIELDS),
        {"name": "t", "fieldMutations": [{"mutation": "x", "outputField": "y"}] * 3_000},
        SINK,
    ),
    "many meet": document(
        [
            *({**source(f"s{number}", ["x", "y", "z"]), "type": "batchsource"} for number in range(700)),
            SINK,
        ],
        [(f"s{number}", "out") for number in range(700)],
    ),
    "macros": chain(
        {**source("src", []), "endPoint": "${m9}" * 1_000, "outputSchema": "${m9}"},
        SINK,
        arguments={f"m{number}": f"${{m{number - 1}}}" * 10 for number in range(1, 10)} | {"m0": "x" * 100},
    ),
    "braces": chain({**source("src", []), "endPoint": "${" * 50_000}, SINK),
    "dots": chain(
        source("src", FIELDS),
        {"name": "t", "operations": [{"name": str(n), "inputs": [f"{'.' * 4_000}{n}"]} for n in range(25)]},
        SINK,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_work_is_limited_for_every_config(name: str) -> None:
    raw = json.dumps(SLOW[name]).encode()

    def read_or_refuse() -> None:
        try:
            read_or_error(strict_json.parse(raw))
        except TooLarge as error:
            assert "in parts" in str(error)  # noqa: PT017 (either may be, and both must be cheap)

    assert count_calls(read_or_refuse) < calls_allowed(len(raw), CALLS_PER_100_KB)
