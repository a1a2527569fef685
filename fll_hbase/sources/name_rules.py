"""Rewrite rules for names and namespaces of datasets, from physical ones (dated paths) to logical ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fll_hbase.runtime.errors import ConfigurationError

ARROW = "=>"


Rules = tuple[tuple[re.Pattern[str], str], ...]
"""Patterns and replacements in order; the first pattern found in a string applies."""


@dataclass(frozen=True, slots=True)
class NameRules:
    """Rules for names of datasets and for their namespaces."""

    rules: Rules = ()
    namespaces: Rules = ()

    def apply(self, name: str) -> str:
        """Return the name with each match of the first matching rule replaced, unless nothing is left."""
        return _apply(self.rules, name)

    def apply_to_namespace(self, namespace: str) -> str:
        """Return the namespace as `apply` does, by the rules for namespaces."""
        return _apply(self.namespaces, namespace)


def _apply(rules: Rules, name: str) -> str:
    """Return a name after the first matching rule, or unchanged if none matches or nothing would be left."""
    for pattern, replacement in rules:
        logical, matches = pattern.subn(replacement, name)
        if matches:
            # A dataset needs a name, so a rule that removes all of a name leaves it unchanged.
            return logical or name
    return name


def parse_rules(text: str, namespaces: str = "") -> NameRules:
    r"""Parse the rules of both settings, separated by line breaks or `;;`: `/\d{4}-\d\d-\d\d/ => /{date}/`.

    The left side is a Python regular expression, searched anywhere in a name. The right side, in which `\1`
    is the first group, replaces every match. Raises ConfigurationError for an invalid rule.
    """
    return NameRules(_rules("FLL_NAME_RULES", text), _rules("FLL_NAMESPACE_RULES", namespaces))


def _rules(setting: str, text: str) -> Rules:
    data = (line.strip() for line in re.split(r"\n|;;", text))
    try:
        return tuple(_rule(line) for line in data if line)
    except ConfigurationError as error:
        raise ConfigurationError(f"{setting}: {error}") from error


def _rule(line: str) -> tuple[re.Pattern[str], str]:
    """Parse `pattern => name`, where the name may be empty. Raises ConfigurationError."""
    pattern, arrow, replacement = (part.strip() for part in line.partition(ARROW))
    if not arrow or not pattern:
        raise ConfigurationError(f"name rule {line!r}: write `pattern {ARROW} name`")
    try:
        compiled = re.compile(pattern)
        # `|` matches the empty text, so a reference to a missing group fails here and not at the first event.
        re.compile(f"{pattern}|").sub(replacement, "")
    except (re.error, IndexError) as error:
        raise ConfigurationError(f"name rule {line!r}: {error}") from error
    return compiled, replacement
