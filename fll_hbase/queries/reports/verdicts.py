"""Verdicts: the answer of a report in a few sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.queries.programs import Program, ProgramsAnswer
from fll_hbase.queries.reach import UnknownRelation
from fll_hbase.queries.reports.reached_fields import ReachedField
from fll_hbase.queries.reports.report_document import count_text

DATASETS_NAMED = 5
"""Maximum number of datasets that a verdict names. It only counts a larger number of datasets."""


def consumption_verdict(
    readers: ProgramsAnswer,
    derived: Sequence[ReachedField],
    unknown: Collection[UnknownRelation],
    *,
    failed_only: int | None,
) -> str:
    """Return how many programs read a field, how many fields are made of it, and where this is unknown.

    `failed_only` is the number of fields left out because only failed runs made them, None if unknown. Fields
    that are not in the order of the runs are counted apart.
    """
    programs = readers.programs
    failed = sum(program.failed for program in programs)
    sentences = [*_readers(programs, failed), *_unknown_columns(readers, "read")]
    if not programs:
        sentences.insert(0, "No run of the window is known to have read it.")
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
    if failed_only is None:
        sentences.append("Fields that failed runs alone made, if there are any, are left out.")
    elif failed_only:
        are = "is" if failed_only == 1 else "are"
        sentences.append(f"{count_text(failed_only, 'field')} that failed runs alone made {are} left out.")
    ends = {str(relation.destination) for relation in unknown}
    if ends:
        sentences.append(
            f"In {count_text(len(ends), 'dataset')}, the columns that come from the field are unknown."
        )
    return " ".join(sentences)


def _readers(programs: Sequence[Program], failed: int) -> list[str]:
    """Return a sentence about programs that read a field, in `failed` failed runs; nothing without any."""
    if not programs:
        return []
    runs = count_text(sum(program.runs for program in programs), "run")
    failed_only = sum(program.failed_only for program in programs)
    apart = f" ({failed_only:,} only failed)" if failed_only else ""
    failures = f", and in {count_text(failed, 'failed run')}" if failed else ""
    return [f"{count_text(len(programs), 'program')} read it{apart}, in {runs}{failures}."]


def provenance_verdict(
    writers: ProgramsAnswer,
    sources: Sequence[ReachedField],
    upstream: Sequence[ReachedField],
    unknown: Collection[UnknownRelation],
    *,
    ways: int,
    runs: int,
    cut: bool,
) -> str:
    """Return how many sources a field has, in which datasets, and in how many ways it was made.

    `ways` and `runs` count its derivations, without which this only says that no run wrote it. `cut` is
    whether a limit cut the report, so that a field without sources may have some.
    """
    others = _unknown_columns(writers, "written")
    if not ways:
        no_writer = "No run of the window is known to have written it."
        return " ".join([_failed_writers(writers) or no_writer, *others])
    ways_text = f"The field was made in {count_text(ways, 'way')}, by {count_text(runs, 'run')}."
    ways_text = " ".join([ways_text, *_not_in_order([*sources, *upstream]), *others])
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


def _failed_writers(writers: ProgramsAnswer) -> str:
    """Return a sentence about a field that failed runs alone wrote, which are left out; "" without any."""
    failed = sum(program.failed for program in writers.programs)
    are = "is" if failed == 1 else "are"
    return f"Only failed runs wrote it: {count_text(failed, 'run')}, which {are} left out." if failed else ""


def _unknown_columns(answer: ProgramsAnswer, verb: str) -> list[str]:
    """Return a sentence about programs that may have `read` or `written` a field; nothing without any."""
    programs = answer.programs_with_unknown_columns
    if not programs:
        return []
    runs = count_text(sum(program.runs + program.failed for program in programs), "run")
    used = "read" if verb == "read" else "wrote"
    return [
        f"{count_text(len(programs), 'program')} may have {verb} it: {runs} {used} the dataset without"
        " reporting all columns."
    ]


def _not_in_order(fields: Sequence[ReachedField]) -> list[str]:
    """Return a sentence about fields that the order of the runs does not allow, if there are any."""
    late = sum(not field.in_order for field in fields)
    are = "is" if late == 1 else "are"
    return [f"{count_text(late, 'more field')} {are} not in the order of the runs."] if late else []


def _dataset_text(field: ReachedField) -> str:
    """Return the dataset of a field as `namespace/name`, or a hidden dataset as `hidden 1`."""
    return f"hidden {field.hidden}" if field.hidden else f"{field.namespace}/{field.name}"
