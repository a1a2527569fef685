"""A report as a document for people: the same words on a page to print and in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.model.masking import HIDDEN
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
"""Columns that a table leaves out if nothing stands in them."""

FIRST_RUN = "the first one that is recorded"
"""The beginning of a window from 0 on."""

PROSE_COLUMNS = frozenset(
    {FIRST_STEP, LAST_STEP, TAGS, FAILED_RUNS, "By way of", "What it does", "Takes", "Gives"}
)
"""Columns of sentences and lists, which may be broken at any blank."""

DESCRIPTIONS = ("Description", "Dataset description")
"""Facts that one screen of a terminal has no room for."""

DESCRIPTION_MAX = 300
"""Characters of the description of a dataset. One that is cut ends with `…`."""

_TAGS_HELP = "the field's own tags when the report was made, without the tags of its source fields"

NAMES_MAX = 20
"""Names that a sentence about a change lists."""

# Members that are left out unless they say something: `inOrder` is there if it is false.
_MARKS = {
    "dropped": " (unused too)",
    "failed": " (failed runs only)",
    "inOrder": " (not in the order of the runs)",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a report was made, in milliseconds since 1970, by whom, from which store, and a zone."""

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
        """Return when, by whom and from what a report was made, as far as it is known."""
        items = {"Made": f"{self.time(self.now_ms)} {self.zone}", "By": self.by, "From": self.store}
        return {name: text for name, text in items.items() if text}


class Section(NamedTuple):
    """A table of a document: its columns, its rows, and a sentence below the title.

    `brief` are the columns that one screen of a terminal shows, all without any.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    note: str = ""
    brief: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A report: `warnings` are what limits it, the annex is to look things up, the legend explains words."""

    title: str
    question: str
    facts: Mapping[str, str]
    stamp: Stamp
    verdict: Sequence[str]
    warnings: Sequence[str]
    sections: Sequence[Section]
    legend: Mapping[str, str]
    annex: Sequence[Section] = ()


def window_facts(start_ms: int, stop_ms: int, stamp: Stamp, *, failed: bool = False) -> dict[str, str]:
    """Return the window of a report by names of its ends, and whether it has what failed runs made."""
    ends = {
        "Runs that started from": f"{stamp.time(start_ms)} {stamp.zone}" if start_ms else FIRST_RUN,
        "until, not included": f"{stamp.time(stop_ms)} {stamp.zone}",
    }
    return {**ends, "Failed runs": "fields that they derived are included"} if failed else ends


def subject_facts(field: Json) -> dict[str, str]:
    """Return what is recorded of the field that a report is about: its tags, its dataset's description."""
    description = " ".join(field.get("datasetDescription", "").split())
    if len(description) > DESCRIPTION_MAX:
        description = f"{description[: DESCRIPTION_MAX - 1]}…"
    facts = {TAGS: tags_cell(field), "Dataset description": description}
    return {name: text for name, text in facts.items() if text}


def tags_cell(field: Json) -> str:
    """Return the tags of a field, "" without any."""
    return ", ".join(field.get("tags", ()))


def tags_legend(facts: Mapping[str, str], sections: Iterable[Section]) -> dict[str, str]:
    """Return what the word for tags means, if a report has any."""
    shown = TAGS in facts or any(TAGS in section.columns for section in sections)
    return {TAGS: _TAGS_HELP} if shown else {}


def warnings(body: Json, stamp: Stamp) -> Iterator[str]:
    """Yield what limits a report: what cut it, what was deleted, between which datasets nothing is known."""
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
    """Return a field as `namespace/name.field`; the influence on a dataset as a whole in words."""
    if field.get("field") == WHOLE_DATASET and "hidden" not in field:
        return f"{field['namespace']}/{field['name']} (which rows it has)"
    return name_json.text(field)


def reached_section(
    title: str, fields: Sequence[Json], stamp: Stamp, *, step: str, marks_influence: bool
) -> Section:
    """Return fields within reach, their paths in the direction of the data, as a table.

    `step` is the title of the hop that `operation` is about. Indirect fields are marked if that is not in
    the title.
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
    """Return a table without those of the OPTIONAL columns that are empty in all of its rows."""
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
    """Return the fields of a path in the direction of the data, `directly` if nothing is between its ends."""
    between = [field_text(field) for field in path][1:-1]
    return " → ".join(between) if between else "directly"


def program_text(program: Json) -> str:
    """Return a program as `application/program`, with its namespace in front; a hidden one by its number."""
    if "hidden" in program:
        return f"hidden {program['hidden']}"
    names = (program["namespace"], program["application"], program["program"])
    return "/".join(name for name in names if name)


def programs_section(title: str, programs: Sequence[Json], stamp: Stamp) -> Section:
    """Return programs with their numbers of runs as a table. Those with failed runs alone are marked."""
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
    """Return a number with a noun, which takes an `s` unless there is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def names_text(names: Sequence[str]) -> str:
    """Return names as one text; of more than NAMES_MAX the first, and how many are more."""
    more = [f"and {len(names) - NAMES_MAX:,} more"] if len(names) > NAMES_MAX else []
    return ", ".join([*names[:NAMES_MAX], *more])
