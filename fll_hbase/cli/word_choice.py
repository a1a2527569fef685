"""Words of options: help, words such as `fail` of --state, and suggestions for other words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import click

STORE_HELP = "URL of the store, such as sqlite:///data/lineage.db (default: FLL_STORE)."
"""Help of --store for all commands with this option."""

_SAME = (
    "fail failed failure error errors",
    "complete completed success succeeded successful ok done finished",
    "abort aborted killed cancelled canceled",
    "running run started active",
    "backward upstream up sources source inputs in",
    "forward downstream down targets target outputs out impact",
    "both all any",
    "endpoint dataset datasets table tables",
    "field fields column columns",
    "accepted ok recorded",
    "warned warning warnings",
    "refused rejected failed error",
    "table text txt plain",
    "mermaid md markdown",
    "html htm page pdf",
    "csv tsv xlsx excel",
    "json ndjson jsonl",
    "postgres pg psql",
    "tsql sqlserver",
)
"""Words with the same meaning on each line. An option suggests the words on it that are its choices."""


class WordChoice(click.Choice):  # type: ignore[type-arg]  # generic since click 8.4
    """A choice of words whose error also suggests the intended word."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word. Raises BadParameter for any other word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            meant = self.suggest(str(value))
            self.fail(error.message + (f" Did you mean {meant!r}?" if meant else ""), param, ctx)

    def suggest(self, typed: str) -> str:
        """Return the word, in lower case, that another one means or resembles, or "" without such a word."""
        words = {str(choice).lower(): str(choice) for choice in self.choices}
        word = typed.lower()
        same = (candidate for line in map(str.split, _SAME) if word in line for candidate in line)
        near = [*same, *get_close_matches(word, words, 1, 0.7)]
        return next((words[candidate].lower() for candidate in near if candidate in words), "")
