"""The consumption report as a document: the programs that read a field, and the fields made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.reports.report_document import (
    FAILED_RUNS,
    LAST_STEP,
    VALUE,
    VALUE_LEGEND,
    Document,
    Section,
    Stamp,
    count_text,
    program_text,
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
    "Made of its value": "the value of the field goes into it: as a copy, or as the operations of each step"
    " say. A hash, a mask or an aggregate is made of the value, but need not show it",
    "Only shaped by it": "the field decides which rows or groups there are (a filter, a join, a grouping),"
    " its value is not taken",
    "Which rows it has": "the field decides which rows a whole dataset has, so it shapes every field of it",
    "Dropped": "beside the runs that used it, some run gave the field to a transform without outputs",
    LAST_STEP: "the operations between a field and the preceding field of a path, or `copied` if there are"
    " none. ` | ` separates several paths, the newest first",
    VALUE: VALUE_LEGEND,
    "By way of": "the fields between, in the direction of the data",
    "Failed": "runs that failed or were aborted. They count as readers; fields that they derived are in the"
    " report only if the top of the report says so",
    "What lineage cannot know": "whether data was deleted later, who read it without a"
    " recorded run, and how much a failed run wrote before it ended",
}


def consumption_document(body: Json, window: Window, stamp: Stamp) -> Document:
    """Return a consumption report, of all pages, as a document."""
    name = name_json.text(body["field"])
    programs, derived = body.get("programs", ()), body.get("derived", ())
    values = [field for field in derived if field["influence"] == "direct"]
    shaped = [field for field in derived if field["influence"] != "direct"]
    others = [*warnings(body, stamp)]
    if body.get("dropped"):
        others.append("Some run dropped the field: it gave it to a transform without outputs.")
    facts = subject_facts(body["field"]) | window_facts(window, stamp)
    sections = [
        programs_section("Programs that read it", programs, stamp),
        *unknown_columns_section(body, "read", stamp),
        reached_section("Fields made of its value", values, stamp, step=LAST_STEP, marks_influence=False),
        reached_section("Fields only shaped by it", shaped, stamp, step=LAST_STEP, marks_influence=False),
    ]
    return Document(
        title=f"Consumption of {name}",
        question=f"Which programs read {name}, and what was made of it?",
        facts=facts,
        stamp=stamp,
        verdict=[body["verdict"]] if "verdict" in body else [],
        warnings=others,
        sections=sections,
        annex=[_days(programs, stamp)],
        legend=LEGEND | tags_legend(facts, sections),
    )


def _days(programs: Sequence[Json], stamp: Stamp) -> Section:
    """Return the runs by program and day as a table; consecutive days with equal numbers share a row."""
    rows = []
    for program in programs:
        for days in _stretches(program.get("days", ())):
            newest, oldest = days[0], days[-1]
            ids = [run for day in days for run in day["failedRuns"]]
            failed = sum(day["failed"] for day in days)
            more = [f"and {failed - len(ids):,} more"] if failed > len(ids) else []
            rows.append(
                [
                    program_text(program),
                    newest["day"] if len(days) == 1 else f"{oldest['day']} to {newest['day']}",
                    f"{newest['runs']:,}",
                    f"{newest['failed']:,}" if failed else "",
                    stamp.time(oldest["firstStart"]),
                    stamp.time(newest["lastStart"]),
                    ", ".join(ids + more),
                ]
            )
    columns = ("Program", "Days (UTC)", "Runs a day", "Failed a day", "First run", "Last run", FAILED_RUNS)
    total = sum(program["runs"] + program["failed"] for program in programs)
    note = "The whole list of runs is the CSV of the part `runs`."
    return Section(f"Runs by program and day: {count_text(total, 'run')}", columns, rows, note)


def _stretches(days: Sequence[Json]) -> Iterator[list[Json]]:
    """Yield groups of consecutive days, newest first, with equal numbers of runs and failed runs."""
    stretch: list[Json] = []
    for day in days:
        if stretch and not _continues(stretch[-1], day):
            yield stretch
            stretch = []
        stretch.append(day)
    if stretch:
        yield stretch


def _continues(newer: Json, older: Json) -> bool:
    """Return whether `older` is the day before `newer` with equal numbers of runs and failed runs."""
    if any(newer[name] != older[name] for name in ("runs", "failed")):
        return False
    try:
        return date.fromisoformat(newer["day"]) - date.fromisoformat(older["day"]) == timedelta(days=1)
    except ValueError:
        # A day beyond the year 9999 is a number, not a date.
        return False
