"""Strategies of SELECTs over small tables, in the SQL of each engine; there is no chance in their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import strategies as st

Draw: TypeAlias = Callable[[st.SearchStrategy[object]], object]

NUMBER, LIST, OTHER = "number", "list", "other"
"""What a column holds; OTHER only in results."""

TABLES = {
    "r": {"id": NUMBER, "k": NUMBER, "v": NUMBER, "xs": LIST},
    "s": {"id": NUMBER, "k": NUMBER, "w": NUMBER, "xs": LIST},
    "u": {"id": NUMBER, "v": NUMBER, "n": NUMBER},
}

DEPTH_MAX = 2
"""How deep queries are inside of each other."""


_COLUMN = re.compile(r"(?:[a-z]\w*\.)?([a-z]\w*)")
_CALL = re.compile(r"(?:\(SELECT )?(\w+)(?:\(| WHEN )")


@dataclass(frozen=True)
class Engine:
    """The SQL of an engine: what it has beyond that of all."""

    dialect: str
    unnest: str = ""
    """How the list `{}` is a relation `{}({})`."""
    series: str = ""
    """How the numbers from 1 to `{}` are a relation `{}({})`."""
    cte: str = "AS"
    rows_of_list: str = ""
    """How the list `{}` is a value in front of FROM that makes a row of each element."""
    has_lists: bool = True
    has_recursion: bool = True
    has_column_lists: bool = True
    """`(query) AS q(a, b)`."""
    has_quantifiers: bool = False
    """`= ANY (query)`, `> ALL (query)`."""
    has_qualify: bool = False
    has_lateral: bool = False
    has_grouping_sets: bool = False
    has_distinct_on: bool = False
    has_all_of_sets: bool = False
    """INTERSECT ALL and EXCEPT ALL."""
    has_bare_correlation: bool = True
    """Any subquery may name columns outside of it."""
    names_columns: bool = False
    """Columns of the result may lack an alias: their names are judged."""
    has_brackets: bool = True
    """A branch of a set operation may be in brackets."""

    def tables(self) -> dict[str, dict[str, str]]:
        """Return the columns of each table; an engine without lists has numbers alone."""
        return {
            name: {column: kind for column, kind in columns.items() if self.has_lists or kind == NUMBER}
            for name, columns in TABLES.items()
        }


POSTGRES = Engine(
    "postgres",
    unnest="unnest({}) AS {}({})",
    rows_of_list="unnest({})",
    has_quantifiers=True,
    series="generate_series(1, least({}, 3)) AS {}({})",
    cte="AS NOT MATERIALIZED",
    has_lateral=True,
    has_grouping_sets=True,
    has_distinct_on=True,
    has_all_of_sets=True,
    names_columns=True,
)
DUCKDB = replace(POSTGRES, dialect="duckdb", cte="AS", names_columns=False, has_qualify=True)
SQLITE = Engine("sqlite", has_lists=False, has_column_lists=False, has_brackets=False)
SPARK = Engine(
    "spark",
    rows_of_list="explode({})",
    has_grouping_sets=True,
    has_all_of_sets=True,
    has_bare_correlation=False,
    has_recursion=False,
)


@dataclass(frozen=True)
class Relation:
    """A relation in a FROM: its alias, and the kind of each column."""

    alias: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scope:
    """Names that an expression may use: the relations of its query and of those around it."""

    relations: tuple[Relation, ...] = ()
    merged: tuple[str, ...] = ()
    """Columns of USING, which have no relation."""

    def names(self, kind: str) -> list[str]:
        """Return what names a column of that kind; without its relation, where only one has such a column."""
        columns = [name for relation in self.relations for name, _ in relation.columns]
        names = []
        for relation in self.relations:
            for name, its in relation.columns:
                if its == kind:
                    names.append(f"{relation.alias}.{name}")
                    names += [name] if columns.count(name) == 1 else []
        return names + (list(self.merged) if kind == NUMBER else [])


@dataclass
class Names:
    """Aliases that no other part of the query has, and the queries of its WITH."""

    count: int = 0
    common: list[Relation] = field(default_factory=list)

    def new(self, prefix: str) -> str:
        """Return a name with this first letter."""
        self.count += 1
        return f"{prefix}{self.count}"


@st.composite
def queries(draw: Draw, engine: Engine) -> str:
    """Return a SELECT."""
    return _Builder(draw, engine).query()


class _Builder:
    """Draws the parts of one query."""

    def __init__(self, draw: Draw, engine: Engine) -> None:
        self._draw, self._engine, self._names = draw, engine, Names()

    def query(self) -> str:
        """Return a whole query, with its WITH."""
        common = [self._common() for _ in range(self._upto(2))]
        recursive = [self._recursive()] if self._engine.has_recursion and self._maybe(8) else []
        text, _ = self._set_operation(0, Scope())
        head = "WITH RECURSIVE" if recursive else "WITH"
        return f"{head} {', '.join(common + recursive)} {text}" if common or recursive else text

    def _common(self) -> str:
        """Return a query of a WITH."""
        text, columns = self._select(1, Scope(), size=self._upto(1) + 1)
        alias = self._names.new("c")
        listed = ""
        if self._maybe(3):
            columns = tuple((self._names.new("y"), kind) for _, kind in columns)
            listed = f"({', '.join(name for name, _ in columns)})"
        self._names.common.append(Relation(alias, columns))
        return f"{alias}{listed} {self._engine.cte} ({text})"

    def _recursive(self) -> str:
        """Return a recursive query, which ends: it adds 1 to numbers below 3."""
        first, _ = self._select(2, Scope(), size=1)
        alias, column = self._names.new("c"), self._names.new("y")
        relation = Relation(alias, ((column, NUMBER),))
        item, other = self._relation(DEPTH_MAX, Scope(), Scope())
        number = self._column(Scope((other,)), NUMBER)
        self._names.common.append(relation)
        again = f"SELECT {alias}.{column} + 1 FROM {alias} JOIN {item} ON {number} = {alias}.{column}"
        return f"{alias}({column}) AS ({first} UNION {again} WHERE {alias}.{column} < 3)"

    # What is drawn.

    def _upto(self, most: int) -> int:
        return int(str(self._draw(st.integers(0, most))))

    def _pick(self, options: Sequence[str]) -> str:
        return str(self._draw(st.sampled_from(options)))

    def _maybe(self, times: int = 4) -> bool:
        """Return True once of so many times; shrinking makes it False."""
        return self._upto(times - 1) == times - 1

    # Queries.

    def _set_operation(self, depth: int, outer: Scope) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a query and its columns: a SELECT, or several of them with equal columns."""
        if not self._maybe(5):
            return self._select(depth, outer)
        size = self._upto(1) + 1
        first, columns = self._select(depth + 1, outer, size=size)
        second, _ = self._select(depth + 1, outer, size=size)
        operators = ["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]
        operators += ["INTERSECT ALL", "EXCEPT ALL"] if self._engine.has_all_of_sets else []
        return f"{first} {self._pick(operators)} {second}", columns

    def _select(
        self, depth: int, outer: Scope, *, size: int | None = None
    ) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a SELECT of `size` numbers, else of some columns."""
        text, local = self._from(depth, outer)
        scope = Scope(outer.relations + local.relations, local.merged)
        if self._maybe(3):
            text += f" WHERE {self._condition(depth, scope)}"
        count = size if size is not None else self._upto(2) + 1
        if self._maybe(4):
            return self._grouped(depth, scope, local, text, count)
        if size is None and depth > 0 and self._maybe(8):
            return self._star(local, text)
        items = [self._value(depth, scope, is_result=depth == 0 and size is None) for _ in range(count)]
        if self._engine.rows_of_list and local.names(LIST) and self._maybe(8):
            items[-1] = self._engine.rows_of_list.format(self._column(local, LIST))
        elif self._engine.has_qualify and self._maybe(8):
            text += f" QUALIFY rank() OVER (ORDER BY {self._column(local, NUMBER)}) <= {self._upto(2) + 1}"
        distinct = ""
        order = ""
        if self._maybe(6):
            distinct = "DISTINCT "
        elif self._engine.has_distinct_on and depth > 0 and self._maybe(8):
            key = self._pick([name for name in local.names(NUMBER) if "." in name])
            distinct = f"DISTINCT ON ({key}) "
            order = " ORDER BY " + ", ".join([key, *(str(index + 1) for index in range(count))])
        return self._finish(depth, f"SELECT {distinct}", items, text, order)

    def _star(self, local: Scope, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        names = [name for relation in local.relations for name, _ in relation.columns]
        if len(set(names)) == len(names):
            return f"SELECT * FROM {text}", tuple(c for relation in local.relations for c in relation.columns)
        relation = local.relations[self._upto(len(local.relations) - 1)]
        return f"SELECT {relation.alias}.* FROM {text}", relation.columns

    def _grouped(
        self, depth: int, scope: Scope, local: Scope, text: str, count: int
    ) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a SELECT of groups: keys and aggregates."""
        keys = sorted({self._column(local, NUMBER) for _ in range(self._upto(2))})
        if keys and self._maybe(4):
            keys[0] = f"{keys[0]} + 1"
        if keys:
            listed = ", ".join(keys)
            forms = [listed]
            if self._engine.has_grouping_sets:
                forms += [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())"]
            text += f" GROUP BY {self._pick(forms)}"
            if self._maybe(3):
                text += f" HAVING {self._aggregate(depth, local)} > {self._upto(2)}"
        items = []
        for _ in range(count):
            if keys and self._maybe(2):
                items.append(self._pick(keys))
            else:
                items.append(self._aggregate(depth, local))
        return self._finish(depth, "SELECT ", items, text, "")

    def _finish(
        self, depth: int, head: str, items: list[str], text: str, order: str
    ) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a SELECT whose columns have names that differ, perhaps with its first rows alone."""
        names, written = [], []
        for item in items:
            name = _name(item)
            is_written = bool(_COLUMN.fullmatch(item)) or (depth == 0 and self._engine.names_columns)
            if is_written and name not in names and not self._maybe(3):
                names.append(name)
                written.append(item)
            else:
                names.append(self._names.new("x"))
                written.append(f"{item} AS {names[-1]}")
        columns = tuple((name, NUMBER) for name in names)
        if not order and depth > 0 and self._maybe(8) and self._engine.has_brackets:
            keys = [str(index + 1) for index in range(len(items))]
            if (
                head == "SELECT "
                and " GROUP BY " not in text
                and "." in items[0]
                and _COLUMN.fullmatch(items[0])
            ):
                keys.insert(0, f"{items[0]} + 1")
            order = f" ORDER BY {', '.join(keys)} LIMIT {self._upto(3)}"
        full = f"{head}{', '.join(written)} FROM {text}{order}"
        return (f"({full})" if order else full), columns

    # FROM.

    def _from(self, depth: int, outer: Scope) -> tuple[str, Scope]:
        """Return the text of a FROM and its own scope."""
        text, relation = self._relation(depth, Scope(), outer)
        local = Scope((relation,))
        for _ in range(self._upto(2 if depth == 0 else 1)):
            text, local = self._join(depth, outer, text, local)
        return text, local

    def _join(self, depth: int, outer: Scope, text: str, local: Scope) -> tuple[str, Scope]:
        form = self._pick(["JOIN", "LEFT JOIN", ",", "USING", "RIGHT JOIN", "FULL JOIN"])
        is_lateral = form in {",", "LEFT JOIN"}
        item, relation = self._relation(depth, local if is_lateral else Scope(), outer)
        both = Scope((*local.relations, relation), local.merged)
        shared = [
            name for name, _ in relation.columns if _counts(local, name) == 1 and name not in local.merged
        ]
        shared = [name for name in shared if (name, NUMBER) in relation.columns]
        if form == "USING" and shared and not local.merged:
            names = sorted({self._pick(shared) for _ in range(self._upto(1) + 1)})
            kind = self._pick(["JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN"])
            if len(local.relations) == 1 and len(relation.columns) == len(shared) and self._maybe(2):
                return f"{text} NATURAL {kind} {item}", replace(both, merged=tuple(shared))
            return f"{text} {kind} {item} USING ({', '.join(names)})", replace(both, merged=tuple(names))
        if form == ",":
            return f"{text} CROSS JOIN {item}", both
        kind = "JOIN" if form == "USING" else form
        if kind == "FULL JOIN":  # of columns of both operands that are equal, as PostgreSQL requires
            operands = [
                [name for name in scope.names(NUMBER) if "." in name] for scope in (local, Scope((relation,)))
            ]
            if all(operands):
                return (
                    f"{text} FULL JOIN {item} ON {self._pick(operands[0])} = {self._pick(operands[1])}",
                    both,
                )
            kind = "JOIN"
        return f"{text} {kind} {item} ON {self._comparison(both)}", both

    def _relation(self, depth: int, left: Scope, outer: Scope) -> tuple[str, Relation]:
        """Return an item of a FROM: a table, a query, or a function of the columns in front of it."""
        forms = ["table", "table"]
        forms += ["query"] if depth < DEPTH_MAX else []
        forms += ["common"] if self._names.common else []
        seen = Scope(outer.relations + left.relations)
        if self._engine.has_lateral and left.relations:
            forms += ["lateral"] if depth < DEPTH_MAX else []
            forms += ["unnest"] if left.names(LIST) else []
            forms += ["series"] if left.names(NUMBER) else []
        match self._pick(forms):
            case "query":
                return self._derived("", *self._set_operation(depth + 1, Scope()))
            case "lateral":
                return self._derived("LATERAL ", *self._set_operation(depth + 1, seen))
            case "common":
                common = self._names.common[self._upto(len(self._names.common) - 1)]
                alias = self._names.new("t")
                return f"{common.alias} AS {alias}", replace(common, alias=alias)
            case "unnest":
                return self._function(self._engine.unnest, self._column(left, LIST))
            case "series":
                return self._function(self._engine.series, self._column(left, NUMBER))
        tables = self._engine.tables()
        name = self._pick(sorted(tables))
        alias = self._names.new("t")
        return f"{name} AS {alias}", Relation(alias, tuple(tables[name].items()))

    def _derived(self, head: str, text: str, columns: tuple[tuple[str, str], ...]) -> tuple[str, Relation]:
        alias = self._names.new("q")
        if self._engine.has_column_lists and self._maybe(5):
            columns = tuple((self._names.new("z"), kind) for _, kind in columns)
            return f"{head}({text}) AS {alias}({', '.join(name for name, _ in columns)})", Relation(
                alias, columns
            )
        return f"{head}({text}) AS {alias}", Relation(alias, columns)

    def _function(self, template: str, argument: str) -> tuple[str, Relation]:
        alias, column = self._names.new("f"), self._names.new("e")
        return template.format(argument, alias, column), Relation(alias, ((column, NUMBER),))

    # Expressions.

    def _column(self, scope: Scope, kind: str, *, inside: Scope | None = None) -> str:
        """Return what names a column of that kind, also `inside` of a query with other relations."""
        hidden = Scope() if inside is None else inside
        names = [name for name in scope.names(kind) if "." in name or _counts(hidden, name) < 2]
        return self._pick(names) if names else "1"

    def _value(self, depth: int, scope: Scope, *, is_result: bool) -> str:
        """Return a number, or another value if it is of the result."""
        first, second = self._column(scope, NUMBER), self._column(scope, NUMBER)
        forms = [first, first, first, f"{first} + {second}", f"COALESCE({first}, {second})"]
        forms += [f"NULLIF({first}, {second})", f"abs({first})", f"-{first}", f"CAST({first} AS bigint)", "1"]
        forms += ["case", "window", "window"]
        forms += ["subquery", "subquery"] if depth < DEPTH_MAX else []
        forms += ["comparison", "exists"] if is_result and depth < DEPTH_MAX else []
        match form := self._pick(forms):
            case "case":
                return f"CASE WHEN {self._comparison(scope)} THEN {first} ELSE {second} END"
            case "window":
                return self._window(scope, first)
            case "subquery":
                return f"({self._scalar(depth + 1, scope)})"
            case "comparison":
                return self._comparison(scope)
            case "exists":
                return self._exists(depth, scope)
        return form

    def _window(self, scope: Scope, first: str) -> str:
        function = self._pick([f"sum({first})", f"max({first})", "count(*)", "rank()", "dense_rank()"])
        parts = [f"PARTITION BY {self._column(scope, NUMBER)}"] if self._maybe(2) else []
        if "rank" in function or self._maybe(2):
            parts.append(f"ORDER BY {self._column(scope, NUMBER)}")
        return f"{function} OVER ({' '.join(parts)})"

    def _aggregate(self, depth: int, local: Scope) -> str:
        first = self._column(local, NUMBER)
        forms = [f"count({first})", f"sum({first})", "count(*)", f"min({first})", f"count(DISTINCT {first})"]
        chosen = self._pick(forms)
        if self._maybe(4):
            chosen += f" FILTER (WHERE {self._comparison(local)})"
        return chosen

    def _scalar(self, depth: int, outer: Scope) -> str:
        """Return a query of one row and one number."""
        if self._engine.has_lateral and outer.names(LIST) and self._maybe(3):
            item, relation = self._function(self._engine.unnest, self._column(outer, LIST))
            local = Scope((relation,))
            return f"SELECT {self._aggregate(depth, local)} FROM {item}"
        text, local = self._from(depth, outer if self._engine.has_bare_correlation else Scope())
        condition = f"{self._column(local, NUMBER)} = {self._column(outer, NUMBER, inside=local)}"
        where = f" WHERE {condition}" if self._maybe(2) else ""
        return f"SELECT {self._aggregate(depth, local)} FROM {text}{where}"

    def _condition(self, depth: int, scope: Scope) -> str:
        forms = ["comparison", "comparison"]
        forms += ["exists", "in", "scalar"] if depth < DEPTH_MAX else []
        match self._pick(forms):
            case "exists":
                return self._exists(depth, scope)
            case "in":
                no = "NOT " if self._maybe(3) else ""
                text, _ = self._select(depth + 1, Scope(), size=1)
                if self._engine.has_quantifiers and self._maybe(3):
                    return f"{self._column(scope, NUMBER)} {self._pick(['= ANY', '> ALL', '< ANY'])} ({text})"
                if self._maybe(4):
                    text, _ = self._select(depth + 1, Scope(), size=2)
                    return f"({self._column(scope, NUMBER)}, {self._column(scope, NUMBER)}) IN ({text})"
                return f"{self._column(scope, NUMBER)} {no}IN ({text})"
            case "scalar":
                return f"{self._column(scope, NUMBER)} <= ({self._scalar(depth + 1, scope)})"
        return self._comparison(scope)

    def _exists(self, depth: int, scope: Scope) -> str:
        text, local = self._from(depth + 1, Scope())
        condition = f"{self._column(local, NUMBER)} = {self._column(scope, NUMBER, inside=local)}"
        no = "NOT " if self._maybe(3) else ""
        return f"{no}EXISTS (SELECT 1 FROM {text} WHERE {condition})"

    def _comparison(self, scope: Scope) -> str:
        first, second = self._column(scope, NUMBER), self._column(scope, NUMBER)
        forms = [f"{first} = {second}", f"{first} < {second}", f"{first} > 1", f"{first} IS NULL"]
        forms += [f"{first} IS DISTINCT FROM {second}", f"{first} BETWEEN 1 AND {second}"]
        return self._pick(forms)


def _name(item: str) -> str:
    """Return what PostgreSQL may call a value; other values of that name have an alias."""
    match = _COLUMN.fullmatch(item) or _CALL.match(item)
    return match[1] if match else "other"


def _counts(scope: Scope, name: str) -> int:
    return sum(column == name for relation in scope.relations for column, _ in relation.columns)


SPARK_STATEMENTS = (
    "SELECT a.id, e.x FROM r AS a JOIN s AS b ON a.k = b.k LATERAL VIEW OUTER explode(b.xs) e AS x",
    "SELECT id, posexplode(xs) AS (p, x) FROM r",
    "SELECT id, k, sum(v) AS total FROM r GROUP BY id, k WITH CUBE HAVING count(*) > 1",
    "SELECT DISTINCT id, (SELECT max(w) FROM s WHERE s.k = r.k) AS top FROM r LEFT ANTI JOIN u ON r.id = u.n",
    "SELECT * FROM (SELECT k, v FROM r) PIVOT (sum(v) AS total FOR k IN (1, 2))",
    "SELECT id, transform(filter(xs, x -> x > k), x -> x + v) AS ys FROM r",
    "SELECT a.id, b.w FROM r AS a, LATERAL (SELECT w FROM s WHERE s.k = a.k ORDER BY w, id LIMIT 1) AS b",
    "SELECT id, k FROM r EXCEPT SELECT id, k FROM s",
)
"""Statements of Spark with clauses that random queries do not have."""
