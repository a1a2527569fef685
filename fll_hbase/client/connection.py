"""Queries in Python: one method for each, with names and times as arguments and typed answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import MethodType
from typing import Any, Generic, ParamSpec, get_type_hints

from fll_hbase import queries
from fll_hbase.client.answers import TableAnswer, TypedAnswer
from fll_hbase.client.lineage_client import (
    LIMIT_REACHED,
    LineageClient,
    truncation_hint,
)
from fll_hbase.client.tag_connection import TagConnection
from fll_hbase.model.window import Window
from fll_hbase.queries.pages import Paged, max_or_none
from fll_hbase.queries.query import Answer, BodyT, Query
from fll_hbase.queries.query_batch import BatchAnswer
from fll_hbase.queries.time_window import epoch_seconds
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import FieldError, InvalidQuery

P = ParamSpec("P")

LIMIT = DEFAULTS.list_limit


class _Asks(Generic[P, BodyT]):
    """A method with the parameters of a query that returns the answer.

    The method is built on first use, since importing all queries would take half of the start of a client.
    """

    def __init__(self, query: Callable[[], Callable[P, Query[BodyT]]]) -> None:
        self._query = query

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(
        self, client: Connection | None, owner: type | None = None
    ) -> Callable[P, TableAnswer[BodyT]]:
        return self._method if client is None else MethodType(self._method, client)

    @cached_property
    def _method(self) -> Any:
        """The method, with the signature and docstring that `help` shows."""
        query = self._query()

        def ask(self: Connection, /, *args: P.args, **kwargs: P.kwargs) -> TableAnswer[BodyT]:
            return self.ask(query(*args, **kwargs))

        # Only types: the texts of `About` are for HTTP and the command line.
        types = get_type_hints(query)
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        arguments = [
            item.replace(annotation=types[name]) for name, item in inspect.signature(query).parameters.items()
        ]
        ask.__signature__ = inspect.Signature([itself, *arguments])  # type: ignore[attr-defined]
        ask.__doc__ = query.__doc__
        ask.__name__, ask.__qualname__ = self._name, f"{self._owner.__name__}.{self._name}"
        return ask


class Connection(TagConnection, LineageClient):
    """Queries a store or a server; `fll_hbase.connect` makes it, and a `with` block closes it at its end.

    A window covers the runs that started in it, with `start` included and `end` excluded; the default is the
    last 30 days. A time is a string of the REST contract (`now-7d`, `2026-11-01`, `2026-11-01T06:00:00Z`),
    seconds since 1970, a date, or a datetime with a zone. Lists are read page by page up to `limit` items
    (default: 1,000). `incomplete` of an answer names what truncated it. Methods raise InvalidQuery with all
    invalid arguments, NotFound for names that were never recorded, and StoreUnavailable if the store or
    server does not answer.

    >>> client.programs("bank", "DailyTransactions", field="UID", direction="forward").columns[0]
    'namespace'
    """

    def ask(self, query: Query[BodyT]) -> TableAnswer[BodyT]:
        """Return the answer to a query. Raises InvalidQuery with every invalid parameter.

        `client.fields(…)` is short for `client.ask(Fields(…))`. Use `ask` for queries that are values, such
        as the items of a list. It raises the same errors as the other methods.

        >>> from fll_hbase.queries import Fields
        >>> client.ask(Fields("bank", "RiskScores")).columns[0]
        'name'
        """
        query.check()
        if isinstance(query, Paged):
            return self._read_pages(query, query)
        return _table_answer(query, self.read_answer(query))

    def items(self, query: Query[Any]) -> Iterator[Any]:
        """Yield the items of a list, up to `limit` of the query (default: all), with one page in memory.

        Each page is one request. Raises InvalidQuery with every invalid parameter, and for a query without
        a list; errors are raised when the first item is requested. Use `pages` to know what cuts the list.

        >>> from fll_hbase.queries import AllRuns
        >>> next(client.items(AllRuns(program="print"))).namespace
        'bank'
        """
        for page in self.pages(query):
            yield from query.items_of(page.body)  # type: ignore[attr-defined]  # `pages` accepts only `Paged`

    def pages(self, query: Query[BodyT]) -> Iterator[TableAnswer[BodyT]]:
        """Yield the pages of a list, up to `limit` items of the query (default: all items).

        `incomplete` of a page names what cut this page. Raises the errors of `items`, when the first page is
        requested.

        >>> from fll_hbase.queries import AllRuns
        >>> [len(page) for page in client.pages(AllRuns(program="print", limit=5))]
        [5]
        """
        query.check()
        if not (isinstance(query, Paged) and query.joins_pages):
            raise InvalidQuery([FieldError("query", f"{type(query).__name__} is not a list: use ask")])
        for answer in self._pages(query, query.limit):
            yield _table_answer(query, answer)

    def _read_pages(self, query: Query[BodyT], paged: Paged) -> TableAnswer[BodyT]:
        """Return the pages up to the limit, joined; `incomplete` names what cut any page.

        `incomplete` also says if more items follow. If pages cannot be joined, the answer is the first page.
        """
        default = None if paged.reads_all else LIMIT
        limit = default if paged.limit is None else paged.limit
        items: list[Any] = []
        answers: list[Answer[Any]] = []
        for answer in self._pages(query, limit):
            if not paged.joins_pages:
                return _table_answer(query, answer)
            items += paged.items_of(answer.body)
            answers.append(answer)
        joined = replace(
            answer,
            body=paged.join([page.body for page in answers], items),
            truncated_by=tuple(sorted({name for page in answers for name in page.truncated_by})),
            retained_from_ms=max_or_none(page.retained_from_ms for page in answers),
        )
        table = _table_answer(query, joined)
        more = [LIMIT_REACHED] if answer.cursor else []
        return replace(table, incomplete="; ".join([*filter(None, [table.incomplete]), *more]))

    def _pages(self, page: Any, limit: int | None) -> Iterator[Answer[Any]]:
        """Yield pages until they have `limit` items, or all pages for None."""
        while True:
            # A page may have fewer items than its limit, because of FLL_LIST_LIMIT_MAX or a bounded search.
            answer = self.read_answer(replace(page, limit=limit))
            yield answer
            limit = None if limit is None else limit - len(page.items_of(answer.body))
            if not answer.cursor or limit == 0:
                return
            page = replace(page, cursor=answer.cursor, **_bounds(answer.window))

    lineage = _Asks(lambda: queries.Lineage)
    field_lineage = _Asks(lambda: queries.FieldLineage)
    derivations = _Asks(lambda: queries.Derivations)
    reach = _Asks(lambda: queries.Reach)

    history = _Asks(lambda: queries.History)
    diff = _Asks(lambda: queries.Diff)
    dataset_diff = _Asks(lambda: queries.DatasetDiff)
    impact = _Asks(lambda: queries.Impact)

    consumption = _Asks(lambda: queries.Consumption)
    provenance = _Asks(lambda: queries.Provenance)

    runs = _Asks(lambda: queries.Runs)
    namespace_runs = _Asks(lambda: queries.NamespaceRuns)
    all_runs = _Asks(lambda: queries.AllRuns)
    run_counts = _Asks(lambda: queries.RunCounts)
    programs = _Asks(lambda: queries.Programs)
    run = _Asks(lambda: queries.Run)
    namespace_run = _Asks(lambda: queries.RunOfNamespace)
    content = _Asks(lambda: queries.Content)
    openlineage_events = _Asks(lambda: queries.OpenLineageEvents)
    namespace_openlineage_events = _Asks(lambda: queries.NamespaceOpenLineageEvents)
    all_openlineage_events = _Asks(lambda: queries.AllOpenLineageEvents)

    events = _Asks(lambda: queries.Events)

    search = _Asks(lambda: queries.Search)
    namespaces = _Asks(lambda: queries.Namespaces)
    datasets = _Asks(lambda: queries.Datasets)
    dataset = _Asks(lambda: queries.DatasetDetails)
    fields = _Asks(lambda: queries.Fields)
    field = _Asks(lambda: queries.FieldDetails)

    field_tags = _Asks(lambda: queries.FieldTags)
    dataset_tags = _Asks(lambda: queries.DatasetTags)
    tags = _Asks(lambda: queries.Tags)
    tagged_fields = _Asks(lambda: queries.TaggedFields)
    policies = _Asks(lambda: queries.Policies)
    flows = _Asks(lambda: queries.Flows)
    retention_report = _Asks(lambda: queries.Retention)

    def batch(self, *queries: str | Mapping[str, str]) -> TypedAnswer[BatchAnswer]:
        """Return the answers of a server to `GET` paths of the REST API, in their order.

        A query is a path, or an object with a `path` and an `id` that its answer repeats. Each 100 queries
        are one request. An answer has its own `status`: an error of one query does not stop the others.
        Raises ConfigurationError for a store, which has no routes.

            client.batch("/v3/namespaces", "/v3/search?q=uid").body.answers[0].body
        """
        body = self.read_batch([{"path": item} if isinstance(item, str) else item for item in queries])
        return TypedAnswer(body, truncation_hint(body.truncated_by))


def _table_answer(query: Query[BodyT], answer: Answer[BodyT]) -> TableAnswer[BodyT]:
    """Return the answer of a store or a server to a query as a TableAnswer."""
    incomplete = truncation_hint(answer.truncated_by)
    next_page = {"cursor": answer.cursor, **_bounds(answer.window)} if answer.cursor else {}
    return TableAnswer(
        answer.body,
        incomplete,
        answer.retained_from_ms,
        next_page,
        query.table,
        answer.window,
        query,
        principal=answer.principal,
    )


def _bounds(window: Window | None) -> dict[str, str]:
    """Return a window as the arguments `start` and `end`, in seconds since 1970, or {} for None."""
    # The texts of the query would not do: `now` would be another time, and pages would not fit together.
    if window is None:
        return {}
    return {"start": epoch_seconds(window.start_ms), "end": epoch_seconds(window.stop_ms)}
