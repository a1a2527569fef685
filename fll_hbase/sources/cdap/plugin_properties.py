"""Properties of a plugin, and the stage operations made from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fll_hbase.model.datasets import Field
from fll_hbase.sources.cdap.stage_operations import (
    DELETE,
    KEEP,
    Kind,
    NameChange,
    StageInput,
    StageOperation,
    rename_operation,
)

JOINED_INPUTS_MAX = 50_000
"""Fields times join keys, or aggregates times group fields; a short config could imply very many."""

QUOTED = r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)"""
"""Pattern of a quoted text. An unclosed quote extends to the end, so that a search is linear."""
_TEXTS = re.compile(QUOTED)
_NAMES = re.compile(r"(?<![\w.$])[A-Za-z_]\w*(?!\w)(?!\s*\(|:\w+\s*\()")
_RESERVED = {
    *("and", "break", "continue", "div", "do", "else", "empty", "eq", "false", "for", "foreach", "function"),
    *("ge", "gt", "if", "le", "lt", "mod", "ne", "new", "not", "null", "or", "return", "size", "true"),
    *("var", "while"),
}
_LOCAL = re.compile(r"\bvar\s+(\w+)")


NOT_KNOWN = "the operations of the stage are unknown"
"""Follows the reason in the warning about a stage whose properties are not understood."""


class NotImplied(Exception):
    """Properties with an unknown effect on fields; the message says which."""


class Properties:
    """Properties of a plugin at a JSON path of its stage; `texts` has their values, "" if missing."""

    def __init__(self, properties: Mapping[str, str], path: str) -> None:
        self.texts = properties
        self._path = path
        self._operation = partial(
            StageOperation, Kind.TRANSFORM, description="", path=path, has_unique_name=False
        )

    def text(self, name: str) -> str:
        """Return a property without surrounding blanks, or "" if it is missing."""
        return self.texts.get(name, "").strip()

    def names(self, name: str) -> list[str]:
        """Return the non-empty items, stripped of white space, of a comma-separated list; [] if missing."""
        return [item.strip() for item in self.text(name).split(",") if item.strip()]

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the items of a list such as `a:b,c:d`. Raises NotImplied."""
        return [(first, second) for first, second in self.tuples(name, length=2)]

    def tuples(self, name: str, *, length: int) -> list[list[str]]:
        """Return the items of a list such as `a:b:c,d:e:f`, each split. Raises NotImplied."""
        items = [[part.strip() for part in item.split(":")] for item in self.names(name)]
        for item in items:
            if len(item) != length or not all(item):
                example = ":".join("abc"[:length])
                raise NotImplied(f"{':'.join(item)[:100]!r} in `{name}` is not an item such as `{example}`")
        return items

    def transform(
        self,
        name: str,
        inputs: Sequence[StageInput],
        outputs: Sequence[Field],
        *,
        drops: bool = False,
        open_prefix: str | None = None,
    ) -> StageOperation:
        """Return an operation. With `drops`, no later operation or stage receives its inputs."""
        dropped = tuple(item.name for item in inputs) if drops else ()
        return self._operation(
            name, inputs=tuple(inputs), outputs=tuple(outputs), dropped=dropped, open_prefix=open_prefix
        )

    def in_place(self, name: str, field: str, type_name: str = "") -> StageOperation:
        """Return an operation that changes the values of one field, with its new type or ""."""
        return self.transform(name, [StageInput(field)], [Field(field, type_name)])

    def drop(self, name: str) -> StageOperation:
        """Return an operation that drops a field."""
        return self.transform(DELETE, [StageInput(name)], [], drops=True)

    def rename(self, old: str, new: str) -> StageOperation:
        """Return an operation that renames a field."""
        return rename_operation(old, new, self._path)

    def keep(self, names: Sequence[str]) -> StageOperation:
        """Return an operation that drops all other fields."""
        return self._operation(KEEP, retained=tuple(names))

    def change_names(self, name: str, change: NameChange) -> StageOperation:
        """Return an operation named `name` that renames all fields by one rule."""
        return self._operation(name, name_change=change)


def expression_names(expression: str) -> Iterator[str]:
    """Yield the names in a JEXL expression that may be fields, not functions or variables, each once."""
    code = _TEXTS.sub("''", expression)
    excluded = _RESERVED | set(_LOCAL.findall(code))
    yield from (name for name in dict.fromkeys(_NAMES.findall(code)) if name not in excluded)


def check_size(inputs: int) -> None:
    """Raise NotImplied if a stage implies more than JOINED_INPUTS_MAX inputs."""
    if inputs > JOINED_INPUTS_MAX:
        raise NotImplied(f"more than {JOINED_INPUTS_MAX:,} inputs")
