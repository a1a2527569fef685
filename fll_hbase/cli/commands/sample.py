"""Load the sample."""

from __future__ import annotations

import click
import msgspec

from fll_hbase import config, time_window
from fll_hbase import sample as samples
from fll_hbase.cli import stores
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.options import STORE_HELP
from fll_hbase.cli.render import progress

_NEXT = (
    "lineage bank DailyTransactions --direction forward --level 5",
    "field hospital PatientRecords patient_medical_score",
    "field myns mytableds id --view simple",
    "serve",
)


@click.command(
    epilog="""\b
Examples:
  fll sample
  fll sample --json | fll record - --server http://localhost:8080
""",
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--end", default="now", show_default=True, help="Where its ninety days end.")
@click.option("--json", "as_json", is_flag=True, help="Print its documents, one a line, and load nothing.")
@click.option("--if-empty", is_flag=True, help="Load nothing into a store that holds something.")
def sample(*, store: str | None, end: str, as_json: bool, if_empty: bool) -> None:
    """Load lineage to try: ninety days of a bank and a hospital.

    Loading it again only adds what is new.
    """
    end_ms = time_window.window("0", end, now_ms=now_ms()).stop_ms
    if as_json:
        for said in samples.documents(end_ms):
            click.echo(msgspec.json.encode(said))
        return
    settings = config.from_environment(store=store)
    with stores.opened(settings, new=True) as opened, progress.bar(samples.RUNS) as bar:
        if if_empty and next(opened.catalogue.namespaces(), None) is not None:
            return
        loaded = samples.load(opened, end_ms, lambda runs: bar.at(runs, f"{runs} runs"))
    click.echo(f"{loaded.runs} runs in {settings.store}, {loaded.repeated} of them there already. Ask next:")
    for command in _NEXT:
        click.echo(f"  fll {command}" + (f" --store {store}" if store else ""))
