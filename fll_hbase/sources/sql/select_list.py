"""Which columns does a SELECT list give: their names, stars spread out, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.sql.expressions import Answer, gather, path_of
from fll_hbase.sources.sql.provenance import UNKNOWN, ColumnSet, RowDependencies, ColumnProvenance, merged
from fll_hbase.sources.sql.scope import Scope, resolve
from fll_hbase.sources.sql.script_state import ScriptState
from fll_hbase.sources.sql.source_text import rendered

Rest = Callable[[str], ColumnProvenance | None]
Named = tuple[str, ColumnProvenance]

_NAMELESS = {"bigquery": "f{}_", "hive": "_c{}", "postgres": "?column?", "trino": "_col{}"}
"""What a column without a name is called, by its number; elsewhere by its own text."""

_POSITIONED = (exp.Posexplode, exp.PosexplodeOuter)
_EXPLODED = (exp.Explode, exp.ExplodeOuter)


class Selected:
    """The columns of one SELECT, one expression of its list after the other."""

    def __init__(self, session: ScriptState, scope: Scope, answer: Answer) -> None:
        self._session = session
        self._scope = scope
        self._answer = answer
        self._named: list[Named] = []
        self._rests: list[Rest] = []
        self._complete = self._ordered = True
        self._place = (-1, -1)
        self.effects = RowDependencies()

    def columns(self) -> ColumnSet:
        """All columns so far."""
        rest = self._rests[0] if len(self._rests) == 1 else _unclear if self._rests else None
        return ColumnSet(tuple(self._named), rest, complete=self._complete, ordered=self._ordered)

    def add(self, node: exp.Expr) -> None:
        """The next expression of the list."""
        star = node.this if isinstance(node, exp.Column) else node
        if isinstance(star, exp.Star):
            self._spread(star, path_of(node)[:-1])
        elif isinstance(node, exp.Aliases):
            names = [name.name for name in node.expressions]
            for name, made in zip(names, self.several(node.this, len(names), node), strict=True):
                self._put(name, made, alias=True)
        elif isinstance(node, exp.QueryTransform):
            self._transformed(node)
        elif isinstance(node, _POSITIONED):
            made = self.made(node)
            self._put("pos", made)
            self._put("col", made)
        else:
            made = self.made(node)
            self._put(self._name(node), made, alias=isinstance(node, exp.Alias))

    def made(self, node: exp.Expr, kind: str = "SELECT") -> ColumnProvenance:
        """How one expression is made, with its own text."""
        value = node.unalias()
        path = path_of(value)
        if path:
            made = resolve(self._session, self._scope, path) or UNKNOWN
            return made if made.text else replace(made, text=".".join(path))
        found = gather(self._session, self._scope, self._answer, [(value, "")])
        self.effects |= found.effects
        self._place = (found.start, found.end)
        made = found.made(self._text(node, self._place, kind))
        return replace(made, parts=dict(self._parts(value))) if isinstance(value, exp.Struct) else made

    def assigned(self, value: exp.Expr, name: exp.Expr) -> ColumnProvenance:
        """How the value of an assignment is made, with its own text."""
        path = path_of(value)
        if path:
            made = resolve(self._session, self._scope, path) or UNKNOWN
            return made if made.text else replace(made, text=".".join(path))
        found = gather(self._session, self._scope, self._answer, [(value, "")])
        self.effects |= found.effects
        last = name.parts[-1] if isinstance(name, exp.Column) else name
        at = last.meta.get("start", -1)
        place = (found.start, found.end) if found.start >= 0 else (at + 1, at + 1)
        text = self._session.texts.item("SET", place, alias_at=at) if at >= 0 else ""
        return found.made(text or rendered(value, self._session.script.dialect))

    def any_of(self, nodes: list[exp.Expr], kind: str = "VALUES") -> ColumnProvenance:
        """A column that is any of several expressions, with the text of the first."""
        found = gather(self._session, self._scope, self._answer, [(node, "") for node in nodes])
        self.effects |= found.effects
        if not nodes:
            return found.made("")
        place = (
            gather(self._session, self._scope, self._answer, [(nodes[0], "")]) if len(nodes) > 1 else found
        )
        return found.made(self._text(nodes[0], (place.start, place.end), kind))

    def several(self, node: exp.Expr, count: int, item: exp.Expr) -> list[ColumnProvenance]:
        """The columns of a generator: of a stack each of its own arguments, of others each of all."""
        made = self.made(item if isinstance(item, exp.Aliases) else node)
        if not isinstance(node, exp.Stack) or not node.this.is_int:
            return [made] * count
        width = max(1, -(-len(node.expressions) // max(1, int(node.this.name))))
        return [
            replace(merged(map(self.made, node.expressions[number::width])), text=made.text)
            if number < width
            else made
            for number in range(count)
        ]

    def _put(self, name: str, made: ColumnProvenance, *, alias: bool = False) -> None:
        self._named.append((name, made))
        if alias:
            self._scope.aliases.setdefault(name.lower(), made)

    def _transformed(self, node: exp.QueryTransform) -> None:
        """What a script outside makes of columns: each of all."""
        parts = [(one, "") for one in node.expressions]
        found = gather(self._session, self._scope, self._answer, parts)
        self.effects |= found.effects
        made = found.made(self._text(node, (found.start, found.end), "SELECT"))
        schema = node.args.get("schema")
        for name in [one.name for one in schema.expressions] if schema else ["key", "value"]:
            self._put(name, made, alias=True)

    def _spread(self, star: exp.Star, of: list[str]) -> None:
        """All columns of the relations, but those left out, with those replaced or renamed."""
        out = {node.name.lower() for node in _listed(star, "except_")}
        instead = {node.alias.lower(): self.made(node) for node in _listed(star, "replace")}
        names = {node.this.name.lower(): node.alias for node in _listed(star, "rename")}
        for name, made in self._all(of):
            if name.lower() not in out:
                told = made if made.text or made.origin is None else replace(made, text=name)
                self._named.append((names.get(name.lower(), name), instead.get(name.lower(), told)))

    def _all(self, of: list[str]) -> Iterator[Named]:
        relation = self._scope.relation(of) if of else None
        if of and relation is None:
            self._session.warn(f"'{'.'.join(of)}.*': no table of that name; its columns are not told")
            self._complete = False
            return
        keys = {} if of else self._scope.merged
        yield from keys.values()
        for one in [relation] if relation else self._scope.relations:
            if not one.columns.complete:
                name = repr(".".join(one.name)) if one.name else "a function"
                self._session.warn(f"'*': the columns of {name} are not known; give them in `schema`")
            self._complete = self._complete and one.columns.complete
            self._ordered = self._ordered and one.columns.ordered
            if one.columns.rest is not None:
                self._rests.append(one.columns.rest)
            yield from (named for named in one.columns.named if named[0].lower() not in keys)

    def _name(self, node: exp.Expr) -> str:
        """The name of the column just made: its alias, that of what it is, or what the dialect says."""
        name = node.alias or (path_of(node) or [""])[-1]
        if name:
            return name
        if isinstance(node, exp.Subquery):
            return node.output_name
        if isinstance(node, _EXPLODED):
            return "col"
        spoken, number = self._session.spoken, len(self._named)
        if spoken == "postgres" and isinstance(node, exp.Func):
            return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if spoken in _NAMELESS:
            return _NAMELESS[spoken].format(number)
        return self._text(node, self._place, "SELECT", literals=True)

    def _text(self, node: exp.Expr, place: tuple[int, int], kind: str, *, literals: bool = False) -> str:
        alias = node.args.get("alias") or next(iter(_listed(node, "expressions")), None)
        aliased = isinstance(node, (exp.Alias, exp.Aliases)) and isinstance(alias, exp.Expr)
        at = alias.meta.get("start", -1) if aliased and alias is not None else -1
        place = place if place[0] >= 0 else (at, at)
        text = self._session.texts.item(kind, place, alias_at=at, literals=literals) if place[0] >= 0 else ""
        return text or rendered(node.unalias(), self._session.script.dialect, literals=literals)

    def _parts(self, struct: exp.Expr) -> Iterator[Named]:
        for part in struct.expressions:
            if isinstance(part, exp.PropertyEQ):
                yield part.name.lower(), self._part(part.expression)
            elif part.alias_or_name:
                yield part.alias_or_name.lower(), self._part(part.unalias())

    def _part(self, value: exp.Expr) -> ColumnProvenance:
        """How a field of a struct is made; it is no item of its own."""
        made = self.made(value)
        return made if path_of(value) else replace(made, text=rendered(value, self._session.script.dialect))


def _listed(node: exp.Expr, name: str) -> Iterable[exp.Expr]:
    said = node.args.get(name) or []
    return said if isinstance(said, list) else [said]


def _unclear(_: str) -> None:
    """A column of several relations whose columns are not known."""
    return
