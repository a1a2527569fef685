"""Which logical name does a physical one stand for: rules, a setting, applied on the way in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fll_hbase.errors import ConfigurationError

ARROW = "=>"


@dataclass(frozen=True, slots=True)
class NameRules:
    """Patterns and what they are replaced by, tried in order; the first that is found in a name is used."""

    rules: tuple[tuple[re.Pattern[str], str], ...] = ()

    def apply(self, name: str) -> str:
        """The logical name; the name itself where no rule speaks of it, or would leave nothing of it."""
        for pattern, replacement in self.rules:
            logical, matches = pattern.subn(replacement, name)
            if matches:
                return logical or name
        return name


def parse_rules(text: str) -> NameRules:
    r"""Rules as a setting has them, one a line or parted by `;;`: `/\d{4}-\d\d-\d\d/ => /{date}/`.

    The left side is a regular expression of Python, looked for anywhere in a name; the right side is put in
    its place, where `\1` is what its first group found. Raises ConfigurationError.
    """
    data = (line.strip() for line in re.split(r"\n|;;", text))
    return NameRules(tuple(_rule(line) for line in data if line))


def _rule(line: str) -> tuple[re.Pattern[str], str]:
    pattern, arrow, replacement = (part.strip() for part in line.partition(ARROW))
    if not arrow or not pattern:
        raise ConfigurationError(f"name rule {line!r}: write `pattern {ARROW} name`")
    try:
        compiled = re.compile(pattern)
        re.compile(f"{pattern}|").sub(replacement, "")
    except (re.error, IndexError) as error:
        raise ConfigurationError(f"name rule {line!r}: {error}") from error
    return compiled, replacement
