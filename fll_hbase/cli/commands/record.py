"""`fll record`: record the documents of a file, of a script, of a pipeline config or of a dbt project."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from fll_hbase.cli import groups, times
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.export_options import LineageExport, export_options
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP, Target, now_ms, replace_option, target_options
from fll_hbase.cli.record_files import DocumentFile, advise_file, file_name, file_status
from fll_hbase.cli.render.progress_bar import ProgressBar, progress_bar
from fll_hbase.cli.run_options import SQL, FileRun, row_options, run_options
from fll_hbase.ingest.document_batches import LocatedDocument, batch_documents
from fll_hbase.ingest.ndjson import InputLine, read_documents
from fll_hbase.ingest.outcomes import RecordOutcome, RecordResult
from fll_hbase.ingest.registry import ROW_FORMATS, format_named
from fll_hbase.ingest.row_documents import RowFile
from fll_hbase.queries import time_window
from fll_hbase.queries.acknowledgements import DocumentPreview
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import InputError, LineageError, StoreUnavailable
from fll_hbase.runtime.escape import escape_control

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection

REFUSED, PREVIEWED = "refused", "would be recorded"
PREVIEWS_MAX, RUNS_MAX = 20, 3
"""Maximum number of printed documents of a dry run, and of printed ids of recorded runs."""
BATCH_DOCUMENTS = 500
DISTINCT_RUNS_MAX = 100_000
"""Maximum number of distinct runs that are counted; their hashes take 10 MB."""
PAIRS_MAX = 20
"""Maximum number of printed field pairs of two datasets in a dry run."""
WARNINGS_MAX = 100
"""Maximum number of distinct warnings that are printed. A job usually repeats a warning in every document."""


@groups.command(
    "fll record runs.ndjson.gz",
    "fll record run.json --namespace shop --server http://localhost:8080",
    "fll record nightly.sql --namespace shop --application a --program nightly --dry-run",
    "fll record --pipeline etl.json --namespace shop --application a --program etl",
    "fll record --dbt target --namespace shop",
    "fll record --databricks lineage.csv --namespace shop --dataset-namespace databricks://host",
    "fll record --marquez events.ndjson --server http://localhost:8080",
    "fll record --spline plans.ndjson --namespace shop",
    "fll record --openmetadata lineage.ndjson --namespace shop --service pg=postgres://db:5432",
)
@click.argument("file", metavar="FILE", type=DocumentFile("rb"), required=False)
@click.option("--namespace", metavar="NS", type=NAMESPACE, help=NAMESPACE_HELP)
@click.option(
    "--dbt",
    "dbt_target",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Record the target folder of a dbt project, in place of FILE.",
)
@click.option(
    "--dataset-namespace",
    metavar="NS",
    default="",
    help="With --dbt, SQL or rows: namespace of the datasets, such as bigquery (default: --namespace).",
)
@row_options
@click.option("--dry-run", is_flag=True, help="Print what would be recorded, and store nothing.")
@replace_option
@run_options
@export_options
@target_options
def record(
    *,
    file: BinaryIO | None,
    namespace: str | None,
    dbt_target: Path | None,
    dataset_namespace: str,
    dry_run: bool,
    take_over: bool,
    row_format: str | None,
    file_run: FileRun | None,
    export: LineageExport | None,
    target: Target,
) -> None:
    """Record the documents of FILE, or with `-` of standard input.

    A file contains one JSON document, OpenLineage event or DataHub proposal, one per line (NDJSON), or an
    array of them, gzipped or not. With --sql it is a script, with --pipeline a pipeline config, which is
    recorded as one run. With an option for rows, it is the query history of a warehouse: JSON lines, CSV or
    Parquet, with one run for each statement.
    A document that is refused is reported with its line and its errors, and the others are recorded. One
    whose run id another program recorded is refused, and that program is named.
    Recording a file again is safe. With --dry-run each document is read alone, as if those before it were not
    in the file.
    """
    _check(file, file_run, dbt_target, row_format, namespace, dataset_namespace)
    settings = config.from_environment(store=target.store)
    if dbt_target is not None:
        lines = _read_dbt(dbt_target, dataset_namespace)
    else:
        rows = RowFile(format_named(row_format), dataset_namespace) if row_format else None
        lines = _read(file, rows or file_run or export, settings.document_bytes_max)
    title = export.title if export else ""
    report = _Report(settings.batch_errors_max, dry_run=dry_run, title=title)
    status = file_status(file)
    size_bytes = (status.st_size or None) if status else None
    with target.open(create=True, dry_run=dry_run) as client, progress_bar(size_bytes) as bar:
        for batch in batch_documents(lines, namespace=namespace or "", documents_max=BATCH_DOCUMENTS):
            _process(client, batch, report, bar, take_over=take_over)
            bar.update(_position_bytes(file), str(report))
        question = _dataset_question(client, report.runs[0]) if report.runs else ""
    # Advice is for files of an unknown kind.
    _finish(report, None if row_format else file, question, target)


def _finish(report: _Report, file: BinaryIO | None, question: str, target: Target) -> None:
    """Print counts, next questions, and the likely kind of a file without documents; exit 1 for refusals."""
    click.echo(str(report))
    # On standard error, so that standard output stays parseable.
    for line in _next_questions(report.runs, report.runs_count, question, target):
        print_err(line)
    if report.refused:
        if advice := report.advise(file):
            print_err(f"fll: {escape_control(advice)}")
        click.get_current_context().exit(FAILURE)


def _process(
    client: Connection,
    batch: Sequence[LocatedDocument],
    report: _Report,
    bar: ProgressBar,
    *,
    take_over: bool,
) -> None:
    """Record or preview a batch, and report its results. Raises LineageError if the whole batch fails."""
    results: Sequence[RecordResult | DocumentPreview | LineageError]
    try:
        if report.dry_run:
            results = client.preview(batch, take_over=take_over)
        else:
            results = client.record(batch, take_over=take_over)
    # Earlier batches are durable. Any document of this batch may be, and repeating it is safe.
    except StoreUnavailable as error:
        done = f"documents before line {batch[0].line.number} are done: {report}"
        raise StoreUnavailable(f"{error}; {done}. Record the file again") from error
    for document, result in zip(batch, results, strict=True):
        report.add(document, result, bar)


def _check(
    file: BinaryIO | None,
    file_run: FileRun | None,
    dbt_target: Path | None,
    row_format: str | None,
    namespace: str | None,
    dataset_namespace: str,
) -> None:
    """Raise UsageError unless there is one input, FILE or --dbt, of one kind.

    Raises it also for rows without --namespace, and for a --dataset-namespace that nothing uses.
    """
    # click can require a single parameter, but not one of two.
    if dbt_target is not None and (file is not None or file_run is not None):
        raise click.UsageError("Give FILE or --dbt, not both.")
    if row_format and (dbt_target is not None or file_run is not None):
        other = "dbt" if file_run is None else file_run.kind
        raise click.UsageError(f"Give --{row_format} or --{other}, not both.")
    if dbt_target is None and file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    is_used = dbt_target is not None or row_format or (file_run is not None and file_run.kind == SQL)
    if dataset_namespace and not is_used:
        options = ", ".join(f"--{document_format.name}" for document_format in ROW_FORMATS)
        raise click.UsageError(f"--dataset-namespace needs --dbt, SQL or one of {options}.")
    if row_format and not namespace:
        raise click.UsageError(f"--{row_format} needs --namespace too.")


def _read(
    file: BinaryIO | None, source: RowFile | FileRun | LineageExport | None, bytes_max: int
) -> Iterator[InputLine]:
    """Yield the documents of FILE, or what `source` makes of it. Without FILE there are none."""
    if file is None:
        return iter(())
    if isinstance(source, RowFile):
        return source.read(file, name=file_name(file), bytes_max=bytes_max)
    return source.read(file, bytes_max=bytes_max) if source else read_documents(file, bytes_max=bytes_max)


def _read_dbt(target: Path, dataset_namespace: str) -> Iterator[InputLine]:
    """Yield the artifacts of a dbt project as one document, or the error of artifacts that cannot be read."""
    try:
        # Imported here, because sending other files to a server needs no reader of documents.
        from fll_hbase.sources import dbt

        yield InputLine(1, json.dumps(dbt.read_target(target, dataset_namespace=dataset_namespace)).encode())
    except LineageError as error:
        yield InputLine(1, b"", error)


class _Report:
    """Counts of the documents so far. It prints refusals up to `errors_max` errors, and each warning once.

    In a dry run, it also prints the first PREVIEWS_MAX documents. With `title`, which names the documents,
    the counts also have the number of all documents and of distinct runs.
    """

    def __init__(self, errors_max: int, *, dry_run: bool, title: str = "") -> None:
        self.dry_run = dry_run
        self._title = title
        self.runs: list[str] = []
        """Ids of the first RUNS_MAX runs."""
        self.runs_count = 0
        """Number of runs, including runs of repeated documents."""
        self._run_hashes: set[int] = set()
        self._errors_left = errors_max
        self._counts: Counter[str] = Counter()
        self._warnings: set[str] = set()
        self._first_refused: LocatedDocument | None = None

    @property
    def refused(self) -> int:
        """Return how many documents were refused."""
        return self._counts[REFUSED]

    def add(
        self,
        document: LocatedDocument,
        result: RecordResult | DocumentPreview | LineageError,
        bar: ProgressBar,
    ) -> None:
        """Count the result of a document, and print above the bar why it was refused or its new warnings."""
        line = document.line.number
        if isinstance(result, LineageError):
            self._counts[REFUSED] += 1
            self._first_refused = self._first_refused or document
            self._refuse(f"line {line}: refused", result, bar)
            return
        if isinstance(result, DocumentPreview):
            self._counts[PREVIEWED] += 1
            if self._counts[PREVIEWED] <= PREVIEWS_MAX:
                for text in _preview_lines(result, line):
                    click.echo(text)
        else:
            self._counts[result.outcome.value] += 1
            self.runs_count += len(result.runs)
            if len(self._run_hashes) <= DISTINCT_RUNS_MAX:
                self._run_hashes.update(hash(run.run) for run in result.runs)
            self.runs += [run.run for run in result.runs][: RUNS_MAX - len(self.runs)]
        for warning in map(str, result.warnings):
            self._warn(f"line {line}: warning", warning, bar)

    def advise(self, file: BinaryIO | None) -> str:
        """Return the likely kind of the file if all its documents were refused, or "" if unknown."""
        if not file or not self._first_refused or self._counts.total() > self.refused:
            return ""
        return advise_file(file, self._first_refused)

    def _refuse(self, prefix: str, error: LineageError, bar: ProgressBar) -> None:
        """Print a refused document with its errors, up to FLL_BATCH_ERRORS_MAX printed errors in all."""
        if self._errors_left <= 0:
            return
        self._errors_left -= len(error.errors) if isinstance(error, InputError) else 1
        bar.print(f"{prefix}: {error}")
        if self._errors_left <= 0:
            bar.print("further refused documents are counted, not printed (FLL_BATCH_ERRORS_MAX)")

    def _warn(self, prefix: str, warning: str, bar: ProgressBar) -> None:
        """Print a warning once. After WARNINGS_MAX of them, print only that there are others."""
        # The set grows to one more than the maximum, to mark that the last line was printed.
        if warning in self._warnings or len(self._warnings) > WARNINGS_MAX:
            return
        self._warnings.add(warning)
        is_last = len(self._warnings) > WARNINGS_MAX
        bar.print(f"{prefix}: {'there are others, which are not printed' if is_last else warning}")

    def __str__(self) -> str:
        """Return the number of documents by outcome, such as `3 recorded, 0 refused`, in a fixed order."""
        words = [PREVIEWED] if self.dry_run else [outcome.value for outcome in RecordOutcome]
        counts = ", ".join(f"{self._counts[word]} {word}" for word in (*words, REFUSED))
        if self._title:
            counts = f"{self._counts.total()} {self._title}: {counts}{self._count_runs()}"
        return f"Dry run, nothing is stored: {counts}" if self.dry_run else counts

    def _count_runs(self) -> str:
        """Return the number of distinct runs, such as `; 3 runs`, or "" in a dry run, which has none."""
        count = len(self._run_hashes)
        at_least = "more than " if count > DISTINCT_RUNS_MAX else ""
        return "" if self.dry_run else f"; {at_least}{min(count, DISTINCT_RUNS_MAX)} runs"


def _position_bytes(file: BinaryIO | None) -> int:
    """Return the position in a file, or 0 without a file or if it cannot seek."""
    # The position in the stored file, compressed or not, is compared with its size. A pipe has no position.
    try:
        return file.seek(0, os.SEEK_CUR) if file else 0
    except OSError:
        return 0


def _preview_lines(preview: DocumentPreview, line: int) -> Iterator[str]:
    """Yield a line for each run of the document that begins at `line`, and below it its lineage."""
    if not preview.runs:
        yield f"line {line}: no lineage"
    for run in preview.runs:
        noun = "operation" if len(run.operations) == 1 else "operations"
        yield f"line {line}: {len(run.operations):,} {noun}, checksum {run.checksum}"
        for entry in run.lineage:
            yield from map(escape_control, _entry_lines(entry))
        if run.truncated_by:
            yield f"    not complete: bounded by {', '.join(run.truncated_by)}"


def _entry_lines(entry: LineageEntry) -> Iterator[str]:
    """Yield the ends of an entry, and below them its first field pairs."""
    source, destination = entry.ends()
    yield f"  {source} → {destination}{': fields unknown' if entry.has_no_fields else ''}"
    for pair in entry.fieldmap[:PAIRS_MAX]:
        mark = "" if pair.influence == "direct" else f" ({pair.influence})"
        yield f"    {pair.source or '(generated)'} → {pair.destination or '(dropped)'}{mark}"
    if len(entry.fieldmap) > PAIRS_MAX:
        yield f"    and {len(entry.fieldmap) - PAIRS_MAX:,} more"


def _dataset_question(client: Connection, run: str) -> str:
    """Return the command that shows the lineage of a dataset that a run wrote, or else read.

    Return "" without a dataset, for a name that is not printable, a run beyond the year 9999, or if the run
    cannot be read. The window of the command is the day of the run, and is left out if the default contains
    it. This takes one read.
    """
    try:
        details = client.run(run).body
    # The runs are recorded even if they cannot be read: a token may have only the right to record.
    except LineageError:
        return ""
    written = [item for item in details.datasets if item.direction != "forward"] or list(details.datasets)
    if not written:
        return ""
    names = f"{written[0].namespace}/{written[0].name}"
    if not names.isprintable():
        return ""
    window = time_window.parse_window(None, None, now_ms=now_ms())
    if window.start_ms <= details.start_time <= window.stop_ms:
        return f"fll lineage {shlex.quote(names)}"
    zone = times.load_zone(config.from_environment().timezone)
    try:
        day = datetime.fromtimestamp(details.start_time / 1000, zone)
    except (OverflowError, ValueError):
        # No day of a window is beyond the year 9999.
        return ""
    return f"fll lineage {shlex.quote(names)} --window {day:%Y-%m-%d}"


def _next_questions(runs: Sequence[str], count: int, question: str, target: Target) -> Iterator[str]:
    """Yield lines with the first ids of `count` runs and commands about the first run, if there are runs."""
    if not runs:
        return
    more = f" and {count - len(runs):,} more" if count > len(runs) else ""
    yield escape_control(f"{'Run' if count == 1 else 'Runs'} {', '.join(runs)}{more}. Ask next:")
    options = {"--store": target.store, "--server": target.server}
    given = "".join(
        f" {name} {shlex.quote(config.without_credentials(value))}"
        for name, value in options.items()
        if value
    )
    for command in filter(None, (f"fll run {shlex.quote(runs[0])}", question)):
        yield f"  {escape_control(command)}{given}"
