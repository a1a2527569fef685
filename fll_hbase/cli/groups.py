"""Groups of commands: their help in sections, `help` as a command, and advice for words that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import click

Sections = Mapping[str, Mapping[str, str]]
"""Titles of sections, with the commands of each and their summaries."""

_SUGGESTIONS_MAX = 3
_SAME = (
    "set create add put new make give",
    "remove revoke delete rm del drop unset",
    "list ls show get all",
    "ls list show datasets namespaces fields tables columns catalog catalogue",
    "find search grep",
    "record load import ingest send post publish",
    "reach trace impact upstream downstream ancestors descendants",
    "field column columns",
    "lineage graph edges table dataset",
    "consumers readers users",
    "programs jobs producers writers",
    "runs executions",
    "diff compare",
    "history changes log",
    "serve server start web ui up",
    "watch events tail activity",
    "config settings env configuration",
    "retention purge expire",
    "sample demo init",
    "questions ask batch query",
    "--version version",
)
"""Words that mean the same; of those of a line, a group suggests the commands that it has."""


class CommandGroup(click.Group):
    """A group whose help has `sections` and cuts no summary; `help` among its arguments is `--help`."""

    def __init__(self, *args: Any, sections: Sections = MappingProxyType({}), **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._sections = sections

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `help`, alone or before commands, as `--help` behind them."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError with near ones for another."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            meant = list(dict.fromkeys(self._meant(name))) or get_close_matches(
                name, self.commands, cutoff=0.7
            )
            near = " or ".join(map(repr, meant[:_SUGGESTIONS_MAX]))
            raise click.UsageError(f"No such command {name!r}.{near and f' Did you mean {near}?'}", ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, name: str) -> Iterator[str]:
        """Yield what another word may mean: commands that mean the same, and those of that name in groups."""
        words = [*self.commands, *(word for option in self.params for word in option.opts)]
        for same in map(str.split, _SAME):
            yield from (word for word in same if name in same and word in words)
        for group, command in self.commands.items():
            if isinstance(command, click.Group) and name in command.commands:
                yield f"{group} {name}"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, or all commands, with summaries that are folded and never cut."""
        width = max(map(len, self.commands))
        for title, summaries in (self._sections or {"Commands": self._summaries()}).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in summaries.items()])

    def _summaries(self) -> dict[str, str]:
        """Return the first sentence of the help of each command, sorted by the names of the commands."""
        return {name: command.get_short_help_str(1_000) for name, command in sorted(self.commands.items())}
