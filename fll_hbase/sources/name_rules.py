"""Rewrite rules for dataset names: physical names, such as paths with dates, to logical ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fll_hbase.runtime.errors import ConfigurationError

ARROW = "=>"


@dataclass(frozen=True, slots=True)
class NameRules:
    """Patterns and replacements in order; the first pattern found in a name is applied."""

    rules: tuple[tuple[re.Pattern[str], str], ...] = ()

    def apply(self, name: str) -> str:
        """Return the name with every match of the first matching rule replaced; later rules are not tried.

        Returns the name itself if no rule matches or the result would be empty.
        """
        for pattern, replacement in self.rules:
            logical, matches = pattern.subn(replacement, name)
            if matches:
                # An empty name is no dataset: a rule that removes all of a name leaves it unchanged.
                return logical or name
        return name


def parse_rules(text: str) -> NameRules:
    r"""Parse the rules of the setting, separated by line breaks or `;;`: `/\d{4}-\d\d-\d\d/ => /{date}/`.

    The left side is a Python regular expression, searched for anywhere in a name. Every match is replaced by
    the right side, in which `\1` is the first group. Raises ConfigurationError for an invalid rule.
    """
    data = (line.strip() for line in re.split(r"\n|;;", text))
    try:
        return NameRules(tuple(_rule(line) for line in data if line))
    except ConfigurationError as error:
        raise ConfigurationError(f"FLL_NAME_RULES: {error}") from error


def _rule(line: str) -> tuple[re.Pattern[str], str]:
    pattern, arrow, replacement = (part.strip() for part in line.partition(ARROW))
    if not arrow or not pattern:
        raise ConfigurationError(f"name rule {line!r}: write `pattern {ARROW} name`")
    try:
        compiled = re.compile(pattern)
        # `|` matches the empty text, so a reference to a missing group fails here, not at the first event.
        re.compile(f"{pattern}|").sub(replacement, "")
    except (re.error, IndexError) as error:
        raise ConfigurationError(f"name rule {line!r}: {error}") from error
    return compiled, replacement
