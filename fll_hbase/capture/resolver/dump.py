"""Plan dumps: the rows that the listener writes for an analysed plan.

Expression rows are `[class, operands, id, name, details]`, without empty values at the end. Operands are
numbers of earlier rows. Ids are numbered per line. `details` may have these members:

- `plan`: node of a subquery,
- `same`: true for a cast that keeps the type,
- `names`: of the fields of a struct,
- `outputs`: of a MERGE,
- `metadata`: true for a hidden column,
- `null`: true for a constant NULL,
- `keys`: of a map that the plan builds, if they are constants,
- `key`: the key at which a map is read, null unless it is a constant. Equal constants have equal numbers.

Node rows are `[class, children, members]`. Children are numbers of earlier rows. Members have these forms:

- the number of an expression row, or lists of them, in which -n means the n rows after the previous item,
- `{"node": n}` for a plan that is not a child,
- a scalar.

`dataset` and `target` are numbers of rows of `datasets`, which `fll_hbase.capture.resolver.dataset_names`
describes. `types` are the column types of a dataset that is read, or of a command's query; -n means n more
columns of the previous type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fll_hbase.runtime import typed_json
from fll_hbase.runtime.json_types import Json

Rows = list[int]

QUERIES = ("query", "data", "plan")
"""Members of commands that hold what they write."""


RUN_MAX = 1_000_000
"""Maximum number of rows that one list may expand to; the listener does not write longer lists."""


def expand(rows: object) -> Rows:
    """Expand a list in which -n means the n rows that follow the previous item.

    Items other than numbers are left out, a first item stays as it is, and anything but a list is empty.
    Raises ValueError beyond RUN_MAX.
    """
    expanded: Rows = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, int) and row < 0 and expanded:
            expanded.extend(range(expanded[-1] + 1, expanded[-1] + 1 + _run_length(row, len(expanded))))
        elif isinstance(row, int):
            expanded.append(row)
    return expanded


def _run_length(item: int, listed: int) -> int:
    """Return n, at least 1, for an item -n after `listed` others. Raises ValueError beyond RUN_MAX."""
    if not 0 < -item <= RUN_MAX - listed:
        raise ValueError(f"a list contains {item}, but a run has 1 or more items, {RUN_MAX:,} in all")
    return -item


class Node(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One node of a plan. Methods raise ValueError for a list of more than RUN_MAX items."""

    kind: str
    children: list[int]
    members: Json

    def rows(self, name: str) -> Rows:
        """Return a member as a flat list of expression rows, empty if it is absent."""
        value = self.members.get(name)
        return [value] if isinstance(value, int) else expand(value)

    def types(self) -> list[str]:
        """Return the types of the columns, by position, with n repetitions for -n, or [] if absent."""
        value = self.members.get("types")
        types: list[str] = []
        for item in value if isinstance(value, list) else ():
            is_run = isinstance(item, int)
            types.extend(types[-1:] * _run_length(item, len(types)) if is_run else [str(item)])
        return types

    def row_lists(self, name: str) -> list[Rows]:
        """Return a member with several lists of expression rows, each expanded, or [] if it is absent."""
        value = self.members.get(name)
        return [expand(rows) for rows in value] if isinstance(value, list) else []

    def tables(self) -> list[int]:
        """Return the nodes that members other than QUERIES and `source` refer to: the tables of a command."""
        names = [name for name, value in self.members.items() if isinstance(value, dict) and "node" in value]
        return [self.members[name]["node"] for name in names if name not in QUERIES and name != "source"]

    def plan(self, *names: str) -> int | None:
        """Return the number of the node in the first of the named members that has one, else None."""
        for name in names:
            value = self.members.get(name)
            if isinstance(value, dict) and isinstance(value.get("node"), int):
                return int(value["node"])
        return None


class Expression(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One expression of a plan."""

    kind: str
    operands: tuple[int, ...]
    id: int | None = None
    name: str | None = None
    details: Json = {}


class Plan(msgspec.Struct, frozen=True):
    """All rows of a plan; the last node is the root."""

    expressions: list[Expression]
    nodes: list[Node]

    def names(self, rows: Rows) -> list[str]:
        """Return the names of the expressions in the rows, with "" for an expression without a name."""
        return [self.expressions[row].name or "" for row in rows]


class Execution(msgspec.Struct, frozen=True):
    """The times (epoch ms) and relations of an execution."""

    id: int
    root: int
    start: int
    end: int
    action: str = ""
    error: str = ""


class Application(msgspec.Struct, frozen=True):
    """The Spark application; `start` is in epoch ms."""

    id: str
    name: str
    start: int
    user: str = ""
    version: str = ""


class Line(msgspec.Struct, frozen=True, rename={"application_end": "applicationEnd"}):
    """One line of the plan file."""

    application: Application | None = None
    execution: Execution | None = None
    datasets: list[Json] = []
    plan: msgspec.Raw = msgspec.Raw(b"")
    fault: Any = None
    unseen: Json | None = None
    application_end: Json | None = None


def decode_line(line: bytes) -> Line:
    """Decode a line of the plan file, but not its plan. Raises ValueError if it has another form."""
    return typed_json.decode(line, Line)


def decode_plan(body: bytes) -> Plan:
    """Decode a plan. Raises ValueError for another form, or if operands or children are not earlier rows."""
    plan = typed_json.decode(body, Plan)
    for count, expression in enumerate(plan.expressions):
        _check_references(expression.operands, count)
    for count, node in enumerate(plan.nodes):
        _check_references(node.children, count)
    return plan


def _check_references(references: Sequence[int], row: int) -> None:
    """Raise ValueError unless all references of row `row` refer to earlier rows."""
    if any(not 0 <= reference < row for reference in references):
        raise ValueError(f"row {row} refers to {references}, but only earlier rows are allowed")
