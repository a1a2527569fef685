"""`fll config`: the settings in effect, and their sources."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.console import Group
from rich.text import Text

from fll_hbase.cli import groups
from fll_hbase.cli.options import Target, target_options
from fll_hbase.cli.output import JSON, TABLE, format_options, print_page
from fll_hbase.cli.render import console
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.runtime.config import SettingSource, explain
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.escape import escape_control

_COLUMNS = ("setting", "value", "from")


@groups.command("fll config", "fll config --changed")
@click.option("--changed", is_flag=True, help="Only settings that differ from their defaults.")
@target_options
@format_options(TABLE, JSON)
def config(*, changed: bool, target: Target, output_format: str) -> None:
    """Show every setting in effect, and whether it comes from an option, the environment or a default.

    Secrets, and users and passwords in URLs, are not shown. A value that is not usable is reported, with exit
    code 2.
    """
    listed = list(explain(options=vars(target)))
    shown = [item for item in listed if not changed or item.source != "default"]
    if output_format == JSON:
        console.print_json({item.variable: {"value": item.value, "from": item.source} for item in shown})
    else:
        rows = [(item.variable, item.value, item.source) for item in shown]
        print_page(Group(TextTable(_COLUMNS, rows), Text(_used(target, listed))))
    if faults := [item.fault for item in shown if item.fault]:
        raise ConfigurationError("; ".join(faults))


def _used(target: Target, listed: Iterable[SettingSource]) -> str:
    """Return a line with the store or server that a command with these options uses."""
    effective = {item.variable: item.value for item in listed}
    is_server = target.store is None and effective["FLL_SERVER"]
    name, url = ("server", effective["FLL_SERVER"]) if is_server else ("store", effective["FLL_STORE"])
    return f"Commands ask the {name} {escape_control(url)}"
