"""Groups of commands: their help in sections, `help` as a command, and advice for unknown words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module  # noqa: TID251
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

Sections = Mapping[str, Mapping[str, str]]
"""Titles of sections, with the commands of each and their summaries."""

Modules = Mapping[str, str]
"""Names of commands, with the module that defines each under the same name."""

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
"""Each line has words with the same meaning. A group suggests the words of a line that are its commands."""


class CommandGroup(click.Group):
    """A group whose help has `sections` and never cuts a summary. `help` as an argument means `--help`.

    The `modules` of its commands are imported on use, so that a start only imports what its command needs.
    """

    def __init__(
        self,
        *args: Any,
        sections: Sections = MappingProxyType({}),
        modules: Modules = MappingProxyType({}),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._sections = sections
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted, without importing them."""
        return sorted({*self.commands, *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None for another name."""
        if cmd_name not in self.commands and cmd_name in self._modules:
            # The import contracts do not see this import, which stays within the package of commands.
            module = import_module(self._modules[cmd_name])
            self.add_command(getattr(module, cmd_name))
        return super().get_command(ctx, cmd_name)

    def all_commands(self) -> dict[str, click.Command]:
        """Import and return all commands by their names, sorted."""
        context = click.Context(self)
        commands = {name: self.get_command(context, name) for name in self.list_commands(context)}
        return {name: command for name, command in commands.items() if command is not None}

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with `incomplete`, with the sections' summaries, without imports."""
        summaries = {name: text for section in self._sections.values() for name, text in section.items()}
        if not summaries or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=summaries[name]) for name in names]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace `help`, alone or before commands, with `--help` after them."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError with similar names for another."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            meant = list(dict.fromkeys(self._meant(name))) or get_close_matches(
                name, self.list_commands(ctx), cutoff=0.7
            )
            near = " or ".join(map(repr, meant[:_SUGGESTIONS_MAX]))
            raise click.UsageError(f"No such command {name!r}.{near and f' Did you mean {near}?'}", ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, name: str) -> Iterator[str]:
        """Yield the commands that an unknown word may mean: synonyms, and commands of that name in groups."""
        commands = self.all_commands()
        words = [*commands, *(word for option in self.params for word in option.opts)]
        for same in map(str.split, _SAME):
            yield from (word for word in same if name in same and word in words)
        for group, command in commands.items():
            if isinstance(command, CommandGroup) and name in command.all_commands():
                yield f"{group} {name}"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, or all commands, with summaries that are wrapped and never cut."""
        width = max(map(len, self.list_commands(ctx)))
        commands = {} if self._sections else self.all_commands()
        # The first sentence of the help of each command, in full.
        all_summaries = {name: command.get_short_help_str(1_000) for name, command in commands.items()}
        for title, summaries in (self._sections or {"Commands": all_summaries}).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in summaries.items()])


def examples(*commands: str) -> str:
    """Return the end of a help text that shows these commands."""
    title = "Example" if len(commands) == 1 else "Examples"
    return "\b\n" + "\n  ".join([f"{title}:", *commands]) + "\n"


def command(*shown: str, **attributes: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Return the decorator `click.command` for a command whose help ends with the examples `shown`."""
    return click.command(epilog=examples(*shown), **attributes)


def group(*shown: str, **attributes: Any) -> Callable[[Callable[..., None]], CommandGroup]:
    """Return the decorator of a CommandGroup whose help ends with the examples `shown`."""
    return click.group(cls=CommandGroup, epilog=examples(*shown), **attributes)
