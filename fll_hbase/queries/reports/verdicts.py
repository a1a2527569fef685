"""Verdicts: the answer of a report in a few sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.queries.programs import Program
from fll_hbase.queries.reach import UnknownRelation
from fll_hbase.queries.reports.reached_fields import ReachedField
from fll_hbase.queries.reports.report_document import count_text

DATASETS_NAMED = 5
"""Maximum number of datasets that a verdict names. It only counts a larger number of datasets."""


def consumption_verdict(
    programs: Sequence[Program],
    derived: Sequence[ReachedField],
    unknown: Collection[UnknownRelation],
    *,
    with_failed: bool,
) -> str:
    """Return how many programs read a field, how many fields are made of it, and where this is unknown.

    `with_failed` is true if the report includes fields that failed runs made.
    """
    runs, failed = (sum(getattr(program, name) for program in programs) for name in ("runs", "failed"))
    failed_only = sum(program.failed_only for program in programs)
    apart = f" ({failed_only:,} only failed)" if failed_only else ""
    failures = f", and in {count_text(failed, 'failed run')}" if failed else ""
    sentences = [
        f"{count_text(len(programs), 'program')} read it{apart}, in {count_text(runs, 'run')}{failures}."
        if programs
        else "No run of the window read it."
    ]
    ordered = [field for field in derived if field.in_order]
    values = sum(field.influence == "direct" for field in ordered)
    shaped = [field for field in ordered if field.influence != "direct"]
    if ordered:
        wholes = sum(field.field == WHOLE_DATASET for field in shaped)
        rows = f" ({wholes:,} of them datasets, by their rows)" if wholes else ""
        are = "is" if values == 1 else "are"
        copied = sum(field.value in ("copied", "mixed") for field in ordered)
        unchanged = f" ({copied:,} of them copies)" if copied else ""
        sentences.append(
            f"{count_text(values, 'field')} {are} made of its value{unchanged}, {len(shaped):,} only shaped"
            f" by it{rows}."
        )
    elif programs:
        sentences.append("No field is known that was made of it.")
    sentences += _not_in_order(derived)
    if failed and not with_failed:
        sentences.append("Results of failed runs are left out.")
    ends = {str(relation.destination) for relation in unknown}
    if ends:
        sentences.append(
            f"In {count_text(len(ends), 'dataset')}, the columns that come from the field are unknown."
        )
    return " ".join(sentences)


def provenance_verdict(
    sources: Sequence[ReachedField],
    upstream: Sequence[ReachedField],
    unknown: Collection[UnknownRelation],
    *,
    ways: int,
    runs: int,
    cut: bool,
) -> str:
    """Return how many sources a field has, in which datasets, and in how many ways it was made."""
    if not ways:
        return "No run of the window wrote it."
    ways_text = f"The field was made in {count_text(ways, 'way')}, by {count_text(runs, 'run')}."
    ways_text = " ".join([ways_text, *_not_in_order([*sources, *upstream])])
    ordered = [field for field in sources if field.in_order]
    if ordered:
        datasets = sorted({_dataset_text(field) for field in ordered})
        shown = datasets if len(datasets) <= DATASETS_NAMED else [count_text(len(datasets), "dataset")]
        shaping = sum(field.influence != "direct" for field in ordered)
        shaped = f"; {shaping:,} of them only shape it" if shaping else ""
        true_sources = count_text(len(ordered), "true source")
        return f"The field has {true_sources} in {', '.join(shown)}{shaped}. {ways_text}"
    if unknown:
        return f"No source field is known: datasets with unknown columns lead to it. {ways_text}"
    if cut:
        return f"No source was found before a limit cut the search. {ways_text}"
    return f"The field has no source: operations generate it. {ways_text}"


def _not_in_order(fields: Sequence[ReachedField]) -> list[str]:
    """Return a sentence about fields that the order of the runs does not allow, if there are any."""
    late = sum(not field.in_order for field in fields)
    are = "is" if late == 1 else "are"
    return [f"{count_text(late, 'more field')} {are} not in the order of the runs."] if late else []


def _dataset_text(field: ReachedField) -> str:
    """Return the dataset of a field as `namespace/name`, or a hidden dataset as `hidden 1`."""
    return f"hidden {field.hidden}" if field.hidden else f"{field.namespace}/{field.name}"
