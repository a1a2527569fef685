"""Look whether a table agrees with itself, and mend it."""

from __future__ import annotations

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.errors import FAILURE
from fll_hbase.config import Settings


@click.command(
    epilog="""\b
Examples:
  fll spark check
  fll spark check --repair --store hbase://gateway:9090/field_level_lineage
""",
)
@click.option("--repair", is_flag=True, help="Mend what can be mended; nothing is deleted.")
@common.job_options
def check(*, repair: bool, settings: Settings, master: str) -> None:
    """Look at every row of the table: what it needs of others, and whether it is what its key says.

    Tells what is wrong by kind, with examples; and what is left for the sweep, which is not wrong. Ends
    with 1 where something is wrong and was not mended. Safe beside running writers.
    """
    with common.running("check", master) as spark:
        from fll_hbase.spark.jobs import check as job

        checked = job.check(spark, settings, repair=repair)
    common.summary(checked.summary(), lambda: str(checked))
    if checked.errors_left:
        click.get_current_context().exit(FAILURE)
