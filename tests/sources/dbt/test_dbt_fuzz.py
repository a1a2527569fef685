"""Any JSON gives runs or input errors, never another exception."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.runtime.errors import InputError
from fll_hbase.sources import dbt, strict_json
from tests.support.dbt_artifacts import OK, SNAPSHOT, SOURCE, A, B, catalog, document, node, read

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["\ud800", "model.p.a", "success", "2026-01-31", "select * from a", "select", '"', "ephemeral"]
    )
)
member_names = st.sampled_from(
    [
        *(
            "manifest",
            "catalog",
            "runResults",
            "datasetNamespace",
            "namespace",
            "metadata",
            "nodes",
            "sources",
        ),
        *(
            "dbt_schema_version",
            "generated_at",
            "invocation_id",
            "adapter_type",
            "resource_type",
            "alias",
            "name",
        ),
        *(
            "relation_name",
            "config",
            "materialized",
            "depends_on",
            "columns",
            "compiled_code",
            "results",
            "args",
        ),
        *(
            "unique_id",
            "status",
            "timing",
            "started_at",
            "index",
            "strategy",
            "unique_key",
            "updated_at",
            "model.p.a",
        ),
    ]
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(member_names | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=25,
)


def full_document() -> dict[str, Any]:
    """A document with something of everything."""
    config = {"strategy": "timestamp", "unique_key": "k", "updated_at": "u", "hard_deletes": "new_record"}
    given = document(
        A,
        B,
        node("e", "select 1", materialized="ephemeral"),
        node("h", SNAPSHOT, type="snapshot", config=config),
        node("f", type="seed", columns={"c": {"name": "c", "data_type": "int"}}),
        node("py", "x", language="python", depends_on=("model.p.e", "source.p.raw.t")),
        node("t", type="test"),
        results=[
            OK,
            OK | {"unique_id": "model.p.py", "timing": [{"name": "execute", "started_at": "2026-01-31"}]},
        ],
        catalog=catalog(a={"id": "int", "x": "text"}),
    )
    given["manifest"]["sources"] = {"source.p.raw.t": SOURCE}
    return copy.deepcopy(given)


def attempt(function: Any, argument: object) -> Any:
    """Call a function; return its result, or the input error that it raises."""
    try:
        return function(argument)
    except InputError as error:
        return error


def check(document: object) -> None:
    """Read a document: runs that the model takes, or errors."""
    parsed = attempt(read, document)
    if isinstance(parsed, InputError):
        assert parsed.errors
        return
    for recorded in parsed.runs:
        json.dumps(
            [recorded.run.run, recorded.run.details, recorded.run.program], ensure_ascii=False
        ).encode()
        assert lineage.build_lineage_lenient(recorded.info.operations) == recorded.info


@given(anything)
def test_any_json(document: object) -> None:
    check(document)


@pytest.mark.slow
@given(st.data())
def test_a_document_with_anything_in_a_few_keys(data: st.DataObject) -> None:
    document = full_document()
    if data.draw(st.booleans()):
        del document["runResults"]
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Any = document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            key = data.draw(st.sampled_from(keys))
            inner = holder[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 4)) == 0:
                holder[key] = data.draw(anything)
                break
            holder = inner
    check(document)


@pytest.mark.slow
@given(st.text(max_size=60) | st.text("()'\"`;,.*-/[] aselctfrom\n", max_size=60))
def test_any_code_and_any_key(text: str) -> None:
    config = {"strategy": "timestamp", "unique_key": text or "k", "updated_at": text or "u"}
    check(
        document(
            node("b", text),
            node("h", SNAPSHOT, type="snapshot", config=config),
            node("i", text, type="snapshot"),
        )
    )


@given(st.binary(max_size=200) | anything.map(lambda value: json.dumps(value).encode()))
def test_any_file(tmp_path_factory: Any, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("target")
    (folder / "manifest.json").write_bytes(raw)
    result = attempt(dbt.read_target, folder)
    if isinstance(result, InputError):
        assert result.errors
        return
    assert isinstance(strict_json.parse_with_halves(json.dumps(result).encode()), dict)
    check(result)
