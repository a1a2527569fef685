"""A report as a document with the same words on a page to print and in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.model.masking import HIDDEN
from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.runtime.json_types import Json

FIRST_STEP, LAST_STEP, VALUE = "First step", "Last step", "Value"
VALUE_LEGEND = (
    "`copied`: every step of every path copies the value. `mixed`: every step of at least one path copies it."
    " `operations`: every path has operations, which decide whether the value can still be read. Empty:"
    " unknown"
)
TAGS, FAILED_RUNS = "Tags", "Failed runs"
OPTIONAL = frozenset({TAGS, VALUE})
"""Columns that a table leaves out if all of their cells are empty."""

FIRST_RUN = "the first one that is recorded"
"""The start of a window that begins at 0."""

PROSE_COLUMNS = frozenset(
    {FIRST_STEP, LAST_STEP, TAGS, FAILED_RUNS, "By way of", "What it does", "Takes", "Gives"}
)
"""Columns of sentences and lists, where a line may break at any blank."""

DESCRIPTIONS = ("Description", "Dataset description")
"""Facts that are left out on one screen of a terminal."""

DESCRIPTION_MAX = 300
"""Maximum number of characters of a dataset's description; a description that is cut ends with `…`."""

_TAGS_HELP = "the field's own tags when the report was made, without the tags of its source fields"

NAMES_MAX = 20
"""Maximum number of names in a sentence about a change."""

# Members that are present only if they matter: `inOrder` is present if it is false.
_MARKS = {
    "dropped": " (dropped)",
    "failed": " (failed runs only)",
    "inOrder": " (not in the order of the runs)",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time of a report in milliseconds since 1970, who made it, its store, and a time zone."""

    now_ms: int
    by: str = ""
    store: str = ""
    zone: str = "UTC"

    def time(self, milliseconds: int) -> str:
        """Return a time to the second in the zone, or a number beyond the year 9999."""
        try:
            moment = datetime.fromtimestamp(milliseconds // 1000, UTC).astimezone(ZoneInfo(self.zone))
        except (OverflowError, ValueError, OSError):
            return f"{milliseconds} ms"
        return f"{moment:%Y-%m-%d %H:%M:%S}"

    def facts(self) -> dict[str, str]:
        """Return the known facts about the making of a report, by name."""
        items = {"Made": f"{self.time(self.now_ms)} {self.zone}", "By": self.by, "From": self.store}
        return {name: text for name, text in items.items() if text}


class Section(NamedTuple):
    """A table of a document: its columns, its rows, and a sentence below the title.

    `brief` names the columns that one screen of a terminal shows: all columns if it is empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    note: str = ""
    brief: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A report. `warnings` state its limits, `annex` has tables for reference, `legend` explains words."""

    title: str
    question: str
    facts: Mapping[str, str]
    stamp: Stamp
    verdict: Sequence[str]
    warnings: Sequence[str]
    sections: Sequence[Section]
    legend: Mapping[str, str]
    annex: Sequence[Section] = ()


def window_facts(window: Window, stamp: Stamp) -> dict[str, str]:
    """Return the window of a report by the names of its ends, with a note if failed runs count."""
    first = f"{stamp.time(window.start_ms)} {stamp.zone}" if window.start_ms else FIRST_RUN
    ends = {
        "Runs that started from": first,
        "until, not included": f"{stamp.time(window.stop_ms)} {stamp.zone}",
    }
    return {**ends, "Failed runs": "fields that they derived are included"} if window.failed else ends


def subject_facts(field: Json) -> dict[str, str]:
    """Return the tags of a report's field and its dataset's description, cut, by name, if not empty."""
    description = " ".join(field.get("datasetDescription", "").split())
    if len(description) > DESCRIPTION_MAX:
        description = f"{description[: DESCRIPTION_MAX - 1]}…"
    facts = {TAGS: tags_cell(field), "Dataset description": description}
    return {name: text for name, text in facts.items() if text}


def tags_cell(field: Json) -> str:
    """Return the tags of a field as one text, or "" if it has none."""
    return ", ".join(field.get("tags", ()))


def tags_legend(facts: Mapping[str, str], sections: Iterable[Section]) -> dict[str, str]:
    """Return the explanation of tags if a report has any, else {}."""
    shown = TAGS in facts or any(TAGS in section.columns for section in sections)
    return {TAGS: _TAGS_HELP} if shown else {}


def warnings(body: Json, stamp: Stamp) -> Iterator[str]:
    """Yield a warning for truncation, for hidden names, for deleted runs, and for each unknown relation."""
    limits = [limit for limit in body.get("truncatedBy", ()) if limit != HIDDEN]
    if limits:
        yield f"This report is not complete. Limits that cut it: {', '.join(limits)}."
    if HIDDEN in body.get("truncatedBy", ()):
        yield (
            "This report is not complete, as its reader may not see some names. Each `hidden` with a number"
            " is one dataset or one program. The report does not follow lineage beyond hidden datasets."
        )
    if "retainedFrom" in body:
        yield (
            f"Runs before {stamp.time(body['retainedFrom'])} {stamp.zone} may have been deleted from the"
            " store. The report contains neither their reads and writes nor whether their data still exists."
        )
    for relation in body.get("unknown", ()):
        source, destination = (name_json.text(relation[end]) for end in ("source", "destination"))
        yield f"{source} leads to {destination}, but it is not known how their fields relate."


def field_text(field: Json) -> str:
    """Return a field as `namespace/name.field`, or a whole dataset with a note in words."""
    if field.get("field") == WHOLE_DATASET and "hidden" not in field:
        return f"{field['namespace']}/{field['name']} (which rows it has)"
    return name_json.text(field)


def reached_section(
    title: str, fields: Sequence[Json], stamp: Stamp, *, step: str, marks_influence: bool
) -> Section:
    """Return fields within reach, with paths in the direction of the data as given, as a table.

    `step` is the column for `operation`. `marks_influence` is False if the title already says that the fields
    are indirect, so that rows need no mark. Empty OPTIONAL columns are left out.
    """
    rows = [
        [
            field_text(field)
            + (" (shapes it)" if marks_influence and field["influence"] == "indirect" else "")
            + "".join(text for name, text in _MARKS.items() if name in field),
            tags_cell(field),
            field.get("operation", ""),
            field.get("value", ""),
            path_text(field["path"]),
            f"{field['runs']:,}" if "runs" in field else "",
            stamp.time(field["lastStart"]) if "lastStart" in field else "",
        ]
        for field in fields
    ]
    columns = ("Field", TAGS, step, VALUE, "By way of", "Runs", "Last run")
    return filled(Section(f"{title}: {len(rows):,}", columns, rows, brief=("Field", TAGS, step)))


def filled(section: Section) -> Section:
    """Return a table without the OPTIONAL columns that are empty in all rows."""
    numbers = [
        number
        for number, name in enumerate(section.columns)
        if name not in OPTIONAL or any(row[number] for row in section.rows)
    ]
    columns = tuple(section.columns[number] for number in numbers)
    return section._replace(
        columns=columns, rows=[[row[number] for number in numbers] for row in section.rows]
    )


def path_text(path: Iterable[Json]) -> str:
    """Return the fields between the ends of a path, in its order, or `directly` if there are none."""
    between = [field_text(field) for field in path][1:-1]
    return " → ".join(between) if between else "directly"


def program_text(program: Json) -> str:
    """Return a program as `namespace/application/program` without empty parts, a hidden one as `hidden 1`."""
    if "hidden" in program:
        return f"hidden {program['hidden']}"
    names = (program["namespace"], program["application"], program["program"])
    return "/".join(name for name in names if name)


def programs_section(title: str, programs: Sequence[Json], stamp: Stamp) -> Section:
    """Return programs with their numbers of runs as a table, and mark programs with only failed runs."""
    rows = [
        [
            program_text(program) + (" (failed runs only)" if program.get("failedOnly") else ""),
            program.get("type") or "",
            f"{program['runs']:,}",
            f"{program['failed']:,}" if program["failed"] else "",
            stamp.time(program["firstStart"]),
            stamp.time(program["lastStart"]),
        ]
        for program in programs
    ]
    columns = ("Program", "Type", "Runs", "Failed", "First run", "Last run")
    brief = ("Program", "Runs", "Failed", "Last run")
    return Section(f"{title}: {len(rows):,}", columns, rows, brief=brief)


def unknown_columns_section(body: Json, verb: str, stamp: Stamp) -> list[Section]:
    """Return a table of the programs that may have `read` or `written` the field; no table without any."""
    programs = body.get("programsWithUnknownColumns", ())
    if not programs:
        return []
    used = "read" if verb == "read" else "wrote"
    note = f"Their runs {used} the dataset, but did not report whether they {used} the field."
    section = programs_section(f"Programs that may have {verb} it", programs, stamp)
    return [section._replace(note=note)]


def count_text(number: int, noun: str) -> str:
    """Return a number with a noun, which gets an `s` unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def names_text(names: Sequence[str]) -> str:
    """Return names as one text: the first NAMES_MAX, and how many more there are."""
    more = [f"and {len(names) - NAMES_MAX:,} more"] if len(names) > NAMES_MAX else []
    return ", ".join([*names[:NAMES_MAX], *more])
