"""The provenance report as a document: where a field comes from, and how it was made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.reports.report_document import (
    FIRST_STEP,
    VALUE,
    VALUE_LEGEND,
    Document,
    Section,
    Stamp,
    count_text,
    names_text,
    programs_section,
    reached_section,
    subject_facts,
    tags_legend,
    unknown_columns_section,
    warnings,
    window_facts,
)
from fll_hbase.runtime.json_types import Json

LEGEND = {
    "True source": "a field that no run of the window made from another one",
    FIRST_STEP: "the operations between a field and the next field of a path, or `copied` if there are"
    " none. ` | ` separates several paths, the newest first",
    VALUE: VALUE_LEGEND,
    "By way of": "the fields between, in the direction of the data",
    "Shapes it": "the field decides which rows or groups there are, its value is not taken",
    "Way": "the operations that lead into the field; a changed operation or connection is another way",
    "Which rows it has": "the field decides which rows a whole dataset has, so it shapes every field of it",
    "What lineage cannot know": "whether the values were right, what a program did beside the operations that"
    " were recorded for it, and runs that were not recorded",
}


def provenance_document(body: Json, window: Window, stamp: Stamp) -> Document:
    """Return a provenance report as a document."""
    name = name_json.text(body["field"])
    sources, upstream = ([_along(item) for item in body[part]] for part in ("sources", "upstream"))
    ways = body["derivations"]
    source_names = _source_names(body["detailed"])
    datasets = {
        item["name"]: name_json.text(item["endPoint"])
        for item in body["detailed"]["operations"]
        if "endPoint" in item
    }
    numbers = range(len(ways), 0, -1)
    facts = subject_facts(body["field"]) | window_facts(window, stamp)
    fields = [
        reached_section("True sources", sources, stamp, step=FIRST_STEP, marks_influence=True),
        reached_section("Fields between", upstream, stamp, step=FIRST_STEP, marks_influence=True),
    ]
    return Document(
        title=f"Provenance of {name}",
        question=f"Where does {name} come from, and how was it made?",
        facts=facts,
        stamp=stamp,
        verdict=[body["verdict"], *_changes(ways, stamp)],
        warnings=[*warnings(body, stamp)],
        sections=[
            *fields,
            programs_section("Programs that wrote it", body["programs"], stamp),
            *unknown_columns_section(body, "written", stamp),
            *(
                _way(way, number, source_names, datasets, stamp)
                for way, number in zip(ways, numbers, strict=True)
            ),
        ],
        annex=[_stretches(body["stretches"], stamp)],
        legend=LEGEND | tags_legend(facts, fields),
    )


def _along(field: Json) -> Json:
    """Return a field with its path reversed into the direction of the data."""
    return {**field, "path": field["path"][::-1]}


def _source_names(graph: Json) -> Mapping[tuple[str, str], list[str]]:
    """Return source fields as text, by the names of an operation and of its inputs, which may be equal."""
    sources = {
        node["id"]: f"{name_json.text(node['sourceEndPoint'])}.{node['label']}"
        for node in graph["nodes"]
        if "sourceEndPoint" in node and "hidden" not in node
    }
    labels = {node["id"]: node["label"] for node in graph["nodes"]}
    names = defaultdict(list)
    for connection in graph["connections"]:
        if connection["from"] in sources:
            key = connection["operation"], labels[connection["from"]]
            names[key].append(sources[connection["from"]])
    return names


def _way(
    way: Json,
    number: int,
    source_names: Mapping[tuple[str, str], list[str]],
    datasets: Mapping[str, str],
    stamp: Stamp,
) -> Section:
    """Return the operations of one way in an order in which they can run, with datasets of source fields."""
    rows = []
    for step in way["operations"]:
        dataset, inputs = datasets.get(step["name"], ""), step["inputs"]
        inputs_text = [text for name in inputs for text in source_names.get((step["name"], name), [name])]
        # The input of a READ is its dataset, without the namespace. A WRITE has no outputs.
        if dataset and step["outputs"]:
            inputs_text = [dataset]
        gives = ", ".join(step["outputs"]) or dataset
        rows.append([step["name"], step["description"], ", ".join(dict.fromkeys(inputs_text)), gives])
    note = (
        f"{count_text(way['runCount'], 'run')}, from {stamp.time(way['firstStart'])} to"
        f" {stamp.time(way['lastStart'])}; operations in an order in which they can run."
    )
    return Section(f"Way {number}", ("Operation", "What it does", "Takes", "Gives"), rows, note)


def _changes(ways: Sequence[Json], stamp: Stamp) -> Iterator[str]:
    """Yield a sentence about what each way changed since the way before it, the newest way first."""
    for number, (newer, older) in enumerate(pairwise(ways)):
        texts = [
            *_listed("new", newer, older),
            *_listed("gone", older, newer),
        ]
        changed = _changed(newer, older)
        if changed:
            texts.append(f"changed: {names_text(changed)}")
        changes_text = "; ".join(texts) or "the same operations, connected in another way"
        yield f"Way {len(ways) - number}, since {stamp.time(newer['firstStart'])}: {changes_text}."


def _listed(word: str, way: Json, other: Json) -> Iterator[str]:
    """Yield `word` and the names of the operations of `way` that `other` lacks, if there are any."""
    names = {step["name"] for step in other["operations"]}
    listed = [step["name"] for step in way["operations"] if step["name"] not in names]
    if listed:
        yield f"{word}: {names_text(listed)}"


def _changed(newer: Json, older: Json) -> list[str]:
    """Return the operations of both ways whose text, inputs or outputs differ, with the differences."""
    earlier = {step["name"]: step for step in older["operations"]}
    changed = []
    for step in newer["operations"]:
        former = earlier.get(step["name"])
        if former is None or former == step:
            continue
        text = step["name"]
        if former["description"] != step["description"]:
            text += f" (“{step['description']}”, before “{former['description']}”)"
        for part in ("inputs", "outputs"):
            for sign, names, others in (("+", step[part], former[part]), ("−", former[part], step[part])):
                differing = set(names) - set(others)
                if differing:
                    text += f" ({sign} {names_text(sorted(differing))})"
        changed.append(text)
    return changed


def _stretches(stretches: Sequence[Json], stamp: Stamp) -> Section:
    """Return the stretches of consecutive runs that made the field in the same way, as a table."""
    rows = [
        [
            stamp.time(item["firstStart"]),
            stamp.time(item["lastStart"]),
            f"{item['runs']:,}",
            item["firstRun"],
            item["lastRun"],
        ]
        for item in stretches
    ]
    columns = ("First run", "Last run", "Runs", "Id of the first", "Id of the last")
    return Section(f"Stretches of runs that made it in the same way: {len(rows):,}", columns, rows)
