"""Strategies for documents close to the events of real agents."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

RUNS = ("run-1", "run-2")
DATASETS = (("db", "orders"), ("db", "customers"), ("s3://b", "a/day=1"), ("db", "orders_old"))
FIELDS = ("id", "name", "who.first", "é|x")
KINDS = ("START", "RUNNING", "OTHER", "COMPLETE", "ABORT", "FAIL")
SUBTYPES = ("IDENTITY", "AGGREGATION", "FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL", "ODD")

_fields = st.sampled_from(FIELDS)
_names = st.sampled_from(DATASETS).map(lambda name: {"namespace": name[0], "name": name[1]})

times = st.integers(0, 5).map(lambda second: f"2026-03-01T00:00:0{second}.250Z")
"""Few, so that events are at the same time."""

transformations = st.builds(
    lambda type_, subtype, masking: {
        "type": type_,
        "subtype": subtype,
        "description": "",
        "masking": masking,
    },
    st.sampled_from(["DIRECT", "INDIRECT"]),
    st.sampled_from(SUBTYPES),
    st.booleans(),
)
inputs = st.builds(
    lambda name, field, transformations: {**name, "field": field, "transformations": transformations},
    _names,
    _fields,
    st.lists(transformations, max_size=2),
)
_columns = st.dictionaries(
    _fields, st.lists(inputs, max_size=3).map(lambda input_fields: {"inputFields": input_fields}), max_size=3
)
column_lineages = st.builds(
    lambda columns, dataset: (
        {"fields": columns} if dataset is None else {"fields": columns, "dataset": dataset}
    ),
    _columns,
    st.none() | st.lists(inputs, max_size=2),
)

schemas = st.lists(_fields, max_size=3, unique=True).map(
    lambda names: {"fields": [{"name": name, "type": "int"} for name in names]}
)
changes = st.builds(
    lambda change, name: (
        {"lifecycleStateChange": change} | ({"previousIdentifier": name} if change == "RENAME" else {})
    ),
    st.sampled_from(["CREATE", "OVERWRITE", "DROP", "TRUNCATE", "RENAME"]),
    _names,
)
symlinks = _names.map(lambda name: {"identifiers": [{**name, "type": "TABLE"}]})

dataset_facets = st.fixed_dictionaries(
    {},
    optional={
        "columnLineage": column_lineages,
        "schema": schemas,
        "lifecycleStateChange": changes,
        "symlinks": symlinks,
        "unheardOf": st.just({"x": [1]}),
    },
)
datasets = st.builds(lambda name, facets: {**name, "facets": facets}, _names, dataset_facets)

parents = st.sampled_from(["p-1", "p-2"]).map(
    lambda run: {"run": {"runId": run}, "job": {"namespace": "jobs", "name": "parent"}}
)
run_facets = st.fixed_dictionaries(
    {}, optional={"parent": parents, "errorMessage": st.just({"message": "no", "programmingLanguage": "JVM"})}
)


def run_events(run: str = RUNS[0]) -> st.SearchStrategy[dict[str, Any]]:
    """Events that tell of one run."""
    return st.fixed_dictionaries(
        {
            "eventTime": times,
            "eventType": st.sampled_from(KINDS),
            "run": run_facets.map(lambda facets: {"runId": run, "facets": facets}),
            "job": st.sampled_from(["unknown", "app.write", "app"]).map(
                lambda name: {"namespace": "jobs", "name": name}
            ),
        },
        optional={"inputs": st.lists(datasets, max_size=2), "outputs": st.lists(datasets, max_size=2)},
    )
