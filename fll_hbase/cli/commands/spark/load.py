"""`fll spark load`: record files with millions of lines."""

from __future__ import annotations

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.error_output import PARTIAL
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP, replace_option
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.ingest.registry import ROW_FORMATS, format_named
from fll_hbase.ingest.row_documents import RowFile
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import TooManyRejects
from fll_hbase.spark.lines.reject_limit import RejectLimit

FORMATS = ("text", "parquet", "csv")


@groups.command(
    "fll spark load 'history/*.ndjson.gz' --rejects rejected",
    "fll spark load events.parquet --format parquet --rejects rejected",
    "fll spark load 'history/*.parquet' --format parquet --rows databricks --namespace shop"
    " --rejects rejected",
)
@click.argument("paths", metavar="INPUT...", nargs=-1, required=True)
@click.option(
    "--rejects",
    metavar="DIR",
    required=True,
    help="Directory for rejected lines: empty, or of an earlier load.",
)
@common.reject_limit_option("End the job when more lines are rejected")
@click.option("--namespace", metavar="NS", type=NAMESPACE, help=NAMESPACE_HELP)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Input format: lines of text, or the column `value` of Parquet. With --rows also CSV.",
)
@click.option(
    "--rows",
    "row_format",
    type=click.Choice([document_format.name for document_format in ROW_FORMATS]),
    help="INPUT has rows of the query history of this warehouse.",
)
@click.option(
    "--dataset-namespace",
    metavar="NS",
    default="",
    help="With --rows: namespace of the datasets, such as databricks://host (default: --namespace).",
)
@replace_option
@common.job_options
def load(
    *,
    paths: tuple[str, ...],
    rejects: str,
    rejects_max: RejectLimit,
    namespace: str | None,
    input_format: str,
    row_format: str | None,
    dataset_namespace: str,
    take_over: bool,
    settings: Settings,
    launch: common.LaunchOptions,
) -> None:
    """Record every line of INPUT: documents, OpenLineage events and DataHub proposals, detected line by line.

    INPUT is any path that Spark reads: files, folders (with subfolders) or patterns, also compressed with
    gzip or zstd. A line that is rejected, including one whose run id another program recorded, is written to
    DIR with its file, its number and every error; the others are recorded.
    Loading again is safe, however an earlier load ended. The exit code is 0 if all lines were recorded, 3 if
    some were rejected, 1 if the load failed or more were rejected than allowed.
    """
    rows = _row_file(row_format, namespace, dataset_namespace, input_format)
    with common.spark_job("load", settings, launch, create=True) as spark:
        from fll_hbase.spark.jobs import load as job
        from fll_hbase.spark.lines.worker_ingest import Target

        target = Target(settings, namespace or "", rejects_max, take_over)
        report = job.load(spark, paths, target, rejects=rejects, form=input_format, rows=rows)
    print_summary(report.summary(), lambda: str(report), launch.summary)
    if rejects_max.is_exceeded(report.counts.rejected, report.counts.read):
        raise TooManyRejects(f"more lines than {rejects_max} were rejected; read them in {rejects}")
    if report.counts.rejected:
        click.get_current_context().exit(PARTIAL)


def _row_file(
    row_format: str | None, namespace: str | None, dataset_namespace: str, input_format: str
) -> RowFile | None:
    """Return the rows that --rows names, or None. Raises UsageError for options that do not fit."""
    if row_format is None:
        given = {"--dataset-namespace": bool(dataset_namespace), "--format csv": input_format == FORMATS[2]}
        if options := [option for option, is_given in given.items() if is_given]:
            raise click.UsageError(f"{', '.join(options)}: only with --rows.")
        return None
    if not namespace:
        raise click.UsageError("--rows needs --namespace too.")
    return RowFile(format_named(row_format), dataset_namespace)
