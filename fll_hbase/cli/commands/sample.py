"""`fll sample`: load lineage of a bank and a hospital, to try the commands."""

from __future__ import annotations

from contextlib import closing

import click
import msgspec

from fll_hbase import sample as samples
from fll_hbase.cli import groups
from fll_hbase.cli.options import now_ms, resolve_option, zone_option
from fll_hbase.cli.render.progress_bar import progress_bar
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.queries import time_window
from fll_hbase.runtime import config
from fll_hbase.store.factory import open_store

_NEXT_COMMANDS = (
    "report consumption bank/DailyTransactions.UID",
    "report provenance bank/RiskScores.risk_band",
    "lineage bank/DailyTransactions --direction forward --level 5",
    "field hospital/PatientRecords.patient_medical_score",
    "serve",
)


@groups.command("fll sample", "fll sample --json | fll record - --server http://localhost:8080")
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--end", metavar="TIME", default="now", show_default=True, help="End of its ninety days.")
@zone_option
@click.option("--json", "as_json", is_flag=True, help="Print its documents, one per line; load nothing.")
@click.option(
    "--if-empty",
    is_flag=True,
    help="Load nothing into a store that has datasets, except to renew a sample that is older than a day.",
)
def sample(*, store: str | None, end: str, as_json: bool, if_empty: bool) -> None:
    """Load sample lineage: ninety days of a bank and a hospital.

    Loading it again only adds what is new, and changes no run that others recorded.
    """
    end_ms = time_window.parse_window("0", resolve_option("end", end), now_ms=now_ms()).stop_ms
    if as_json:
        for document in samples.documents(end_ms):
            click.echo(msgspec.json.encode(document))
        return
    settings = config.from_environment(store=store)
    with closing(open_store(settings)) as opened, progress_bar(samples.RUNS) as bar:
        # One namespace is enough evidence, while counting would read the whole catalogue.
        is_empty = next(opened.catalogue.namespaces(), None) is None
        # Windows are relative to now, so queries about an old sample would have empty answers.
        if if_empty and not is_empty and not samples.is_aged(opened, end_ms):
            return
        report = samples.load(opened, end_ms, lambda runs: bar.update(runs, f"{runs} runs"))
    click.echo(f"{report.runs} runs in {settings.store}, {report.repeated} of them there already. Ask next:")
    for command in _NEXT_COMMANDS:
        click.echo(f"  fll {command}" + (f" --store {store}" if store else ""))
