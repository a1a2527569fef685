"""Notes about answers: which runs were left out, and when the last run was if an answer is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fll_hbase.cli.options import now_ms
from fll_hbase.cli.output import TABLE
from fll_hbase.cli.render.time_text import ANOTHER_WINDOW, format_with_zone
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.queries.time_window import WindowText, parse_window
from fll_hbase.runtime.escape import escape_control

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection
    from fll_hbase.queries.field_lineage import FieldLineage
    from fll_hbase.queries.history import History
    from fll_hbase.queries.lineage import Lineage
    from fll_hbase.queries.programs import ProgramsAnswer
    from fll_hbase.queries.reach import Reach

    LineageQuery = FieldLineage | History | Lineage | Reach

RUNS_COUNTED_MAX = 1_000
"""Maximum number of runs of a window for which failed ones are counted. With more, they are not mentioned."""

# The greatest start of a run, in seconds, since a run may start after the command's own time.
_END_OF_TIME = str(START_LIMIT_MS // 1000)
_FAILED = ("FAIL", "ABORT")
_WITHOUT_COLUMNS = "used the dataset without reporting whether they used the field"


def lineage_notes(
    client: Connection, query: LineageQuery, window: WindowText, output_format: str, *, is_empty: bool
) -> tuple[str, str]:
    """Return the note of an empty answer about lineage, and the note below any other; "" for none."""
    failed = _failed_note(client, query, window, output_format)
    if not is_empty:
        return "", failed
    last = last_run_note(client, query.dataset, window, output_format)
    return "; ".join(filter(None, (failed, last))), ""


def last_run_note(client: Connection, dataset: Dataset, window: WindowText, output_format: str) -> str:
    """Return when the newest run of a dataset started, whatever the window, and what follows from it.

    Reads one run. The note is "" for a dataset without runs, or if a table is not printed.
    """
    if output_format != TABLE:
        return ""
    newest = client.runs(dataset.namespace, dataset.name, start="0", end=_END_OF_TIME, limit=1).body.runs
    if not newest:
        return ""
    start_ms = newest[0].start_time
    note = f"the last run of {escape_control(str(dataset))} started {format_with_zone(start_ms, window.zone)}"
    shown = parse_window(window.start, window.end, now_ms=now_ms())
    if shown.start_ms <= start_ms < shown.stop_ms:
        return f"{note}, but no run of this window reported what you ask for"
    return f"{note}; {ANOTHER_WINDOW}"


def programs_note(body: ProgramsAnswer, *, listed: bool) -> str:
    """Return the note below a list of programs: which are left out, and what unknown columns mean.

    Programs with only failed runs are left out unless `listed`.
    """
    notes = []
    if body.failed_only and not listed:
        programs = (
            "1 more program has" if body.failed_only == 1 else f"{body.failed_only:,} more programs have"
        )
        notes.append(f"{programs} failed runs alone; --failed lists them")
    if body.programs_with_unknown_columns:
        notes.append(f"columns unknown: its runs {_WITHOUT_COLUMNS}")
    return "\n".join(notes)


def unknown_runs_note(count: int) -> str:
    """Return how many runs are left out because their columns are unknown, "" for none."""
    if not count:
        return ""
    runs = "1 more run" if count == 1 else f"{count:,} more runs"
    return f"{runs} {_WITHOUT_COLUMNS}; omit --field to list them"


def _failed_note(client: Connection, query: LineageQuery, window: WindowText, output_format: str) -> str:
    """Return how many failed runs of a dataset are left out, or "" if they count or a table is not printed.

    The note is also "" if the window has more runs of the dataset than RUNS_COUNTED_MAX.
    """
    if output_format != TABLE or query.failed:
        return ""
    start, end = window.start, window.end
    answer = client.runs(query.namespace, query.name, start=start, end=end, limit=RUNS_COUNTED_MAX)
    # A query without a direction is about the runs that wrote the field.
    direction = getattr(query, "direction", "backward")
    directions = ("both", "backward", "forward") if direction == "both" else ("both", direction)
    count = sum(run.state in _FAILED and run.direction in directions for run in answer.body.runs)
    if answer.incomplete or not count:
        return ""
    runs = "1 failed run is" if count == 1 else f"{count} failed runs are"
    return f"{runs} left out, --failed includes them"
