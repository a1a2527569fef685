"""Queries in Python: one method for each, with names and times as arguments and typed answers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Self, get_type_hints

from fll_hbase import queries
from fll_hbase.client.answers import TableAnswer, TypedAnswer
from fll_hbase.model.window import Window
from fll_hbase.queries.pages import Paged, max_or_none
from fll_hbase.queries.query import Answer, BodyT, Changeable, Query
from fll_hbase.queries.query_batch import BatchAnswer
from fll_hbase.queries.time_window import epoch_seconds
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.damage import DAMAGED
from fll_hbase.runtime.errors import FieldError, InvalidQuery, LineageError, UnreadableDocument

if TYPE_CHECKING:
    from fll_hbase.ingest.document_batches import LocatedDocument
    from fll_hbase.ingest.outcomes import RecordResult
    from fll_hbase.queries.acknowledgements import DocumentPreview
    from fll_hbase.queries.policies import Policy, PolicyBody
    from fll_hbase.queries.tags import Tag, TagBody

P = ParamSpec("P")

LIMIT = DEFAULTS.list_limit
LIMIT_REACHED = "a greater limit shows more"

FieldName = tuple[str, str, str]
"""Namespace, dataset and field."""

_NO_SETTINGS = {
    "hidden": "parts are hidden: you lack the role `reader` on their namespaces",
    DAMAGED: "damaged rows are left out: see the log of the server, or run `fll store check` for all",
}
"""Advice about what cuts an answer although no setting bounds it."""


def truncation_hint(bounds: Iterable[str]) -> str:
    """Return advice about what cut an answer: `pairs_max=250000`, `hidden`, `damaged`; "" for no bounds."""
    # An answer must not look complete when it is not (decision 0008).
    bounds = list(bounds)
    names = ", ".join(name for name in bounds if name not in _NO_SETTINGS)
    advice = [f"truncated by {names}: use a shorter window or raise the setting"] if names else []
    return "; ".join([*advice, *(_NO_SETTINGS[name] for name in bounds if name in _NO_SETTINGS)])


class LineageClient(ABC):
    """Records and queries lineage, in a store of this process or through a server.

    Every method raises LineageError. Both implementations return equal answers and raise equal errors.
    """

    @abstractmethod
    def record(
        self,
        documents: Sequence[LocatedDocument],
        *,
        take_over: bool = False,
        wait_seconds: float | None = None,
    ) -> list[RecordResult | LineageError]:
        """Record a batch of documents; return for each, in order, its result or the error that refused it.

        A document whose run id another program recorded is refused with RunIdConflict unless `take_over`.
        `wait_seconds` bounds the whole of each attempt to reach a server; a store has its own timeouts.

        Raises LineageError if it is unknown which documents were recorded. Sending all of them again is safe.
        """

    @abstractmethod
    def preview(
        self, documents: Sequence[LocatedDocument], *, take_over: bool = False
    ) -> list[DocumentPreview | LineageError]:
        """Return for each document, in order, the lineage that `record` would store, or its error.

        Nothing is stored, so documents do not see the columns that earlier documents would add to the
        catalogue. An event is treated as the only event of its run. Raises LineageError.
        """

    @abstractmethod
    def read_answer(self, query: Query[BodyT]) -> Answer[BodyT]:
        """Return the answer of the store or server to a query whose parameters are valid."""

    @abstractmethod
    def read_batch(self, queries: Sequence[Mapping[str, str]]) -> BatchAnswer:
        """Return the answers to queries in their order; a query has a `path` and may have an `id`.

        Raises ConfigurationError for a store opened in this process: only a server has routes.
        """

    @abstractmethod
    def put(self, query: Changeable[BodyT], body: TagBody | PolicyBody) -> BodyT:
        """Set the tag or policy that a query names; return it as stored.

        Raises UnreadableDocument, NotFound for the field of a tag, and UnknownSubject for a policy.
        """

    @abstractmethod
    def delete(self, query: Changeable[Any]) -> None:
        """Remove the tag or policy that a query names. Raises NotFound and AmbiguousName."""

    @abstractmethod
    def close(self) -> None:
        """Release the connections, and the store if this client opened it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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


class Connection(LineageClient):
    """Queries a store or a server; `fll_hbase.connect` makes it, and a `with` block closes it at its end.

    A window covers the runs that started in it, with `start` included and `end` excluded; the default is the
    last 30 days. A time is a string of the REST contract (`now-7d`, `2026-11-01`, `2026-11-01T06:00:00Z`),
    seconds since 1970, a date, or a datetime with a zone. Lists are read page by page up to `limit` items
    (default: 1,000). `incomplete` of an answer names what truncated it. Methods raise InvalidQuery with all
    invalid arguments, NotFound for names that were never recorded, AmbiguousName, StoreUnavailable if the
    store or server does not answer in time, CorruptRow, ConfigurationError for a store or URL that cannot be
    used, and any other LineageError with which a server refuses a request, such as Unauthenticated.

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

        `incomplete` also says if more items follow. Without a limit, LIMIT applies, unless the query reads
        all. The window and `next_page` come from the last page. If pages cannot be joined, the answer is
        the first page.
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
        """Yield pages in the window of the first one until they have `limit` items, or all pages for None."""
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

    # The first change imports its queries, which most programs do not need.
    def put_tag(
        self, namespace: str, name: str, field: str, tag: str, *, by: str = "", description: str = ""
    ) -> TypedAnswer[Tag]:
        """Give a field a tag. Repeating the same call changes nothing and keeps the time of the first one.

        `by` is the person or program that sets the tag, and `description` the reason. Raises NotFound for a
        field that was never recorded.

        >>> client.put_tag("bank", "DailyTransactions", "UID", "PII", by="ana").body.tag
        'PII'
        """
        from fll_hbase.queries.tags import TagBody, TagOfField

        query = TagOfField(namespace, name, field, tag)
        return self._put(query, TagBody(by=by, description=description))

    def remove_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Remove a tag from a field. Raises NotFound if the field does not have it.

        >>> client.put_tag("bank", "Customers", "phone", "PII").body.field
        'phone'
        >>> client.remove_tag("bank", "Customers", "phone", "PII")
        """
        from fll_hbase.queries.tags import TagOfField

        query = TagOfField(namespace, name, field, tag)
        query.check()
        self.delete(query)

    def put_policy(
        self,
        policy: str,
        max_age: str,
        *,
        tag: str = "",
        field: FieldName | None = None,
        description: str = "",
        allow_unknown: bool = False,
    ) -> TypedAnswer[Policy]:
        """Set a policy that limits the age of the data of all fields with `tag`, or of one `field`.

        `max_age` is a number with a unit, such as `90d` or `6mo`. Give either `tag` or `field`, a triple of
        namespace, dataset and field. Raises UnknownSubject, with similar names, if no field has the tag or
        the field was never recorded, unless `allow_unknown`.

        >>> client.put_policy("uid", "90d", field=("bank", "DailyTransactions", "UID")).body.max_age
        '90d'
        """
        from fll_hbase.queries.policies import PolicyBody, PolicyByName, PolicyField, UncheckedPolicy

        if bool(tag) is (field is not None):
            raise InvalidQuery([FieldError("tag", "give either a tag or a field")])
        subject = None
        if field is not None:
            namespace, name, field_name = field
            subject = PolicyField(namespace=namespace, name=name, field=field_name)
        body = PolicyBody(max_age=max_age, tag=tag, field=subject, description=description)
        return self._put(UncheckedPolicy(policy) if allow_unknown else PolicyByName(policy), body)

    def put_flow_policy(
        self,
        policy: str,
        *,
        tag: str,
        into: str = "",
        only_into: str = "",
        influence: Literal["value", "any"] = "value",
        unless_masked: bool = False,
        description: str = "",
        allow_unknown: bool = False,
    ) -> TypedAnswer[Policy]:
        """Set a policy on where data of all fields with `tag` must not go.

        `into` is a pattern of forbidden datasets, such as `marketing/*`. `only_into` is a pattern of allowed
        ones: all others are forbidden, or with `into` all others that it matches. Give one of them or both.
        With `influence="any"`, filters, join keys and the like count, too. With `unless_masked`, ways through
        an operation that hashes or masks the value do not count. Raises UnknownSubject, with similar names,
        if no field has the tag, unless `allow_unknown`.

        >>> client.put_flow_policy("ads", tag="ads", into="ads/*", allow_unknown=True).body.influence
        'value'
        """
        from fll_hbase.queries.policies import PolicyBody, PolicyByName, UncheckedPolicy

        body = PolicyBody(
            tag=tag,
            description=description,
            into=into,
            only_into=only_into,
            influence=influence,
            unless_masked=unless_masked,
        )
        return self._put(UncheckedPolicy(policy) if allow_unknown else PolicyByName(policy), body)

    def remove_policy(self, policy: str, *, namespace: str = "") -> None:
        """Remove a policy on a tag or a field.

        If policies of several namespaces have the name, `namespace` selects the one on a field of this
        namespace, and `*` the one on a tag. Raises AmbiguousName without it, and NotFound.

        >>> client.put_policy("old", "90d", tag="old", allow_unknown=True).body.name
        'old'
        >>> client.remove_policy("old")
        """
        from fll_hbase.queries.policies import PolicyByName

        query = PolicyByName(policy, namespace=namespace)
        query.check()
        self.delete(query)

    def _put(self, query: Changeable[BodyT], body: TagBody | PolicyBody) -> TypedAnswer[BodyT]:
        """Put a tag or policy; return it as stored. Raises InvalidQuery for invalid arguments."""
        query.check()
        try:
            return TypedAnswer(self.put(query, body))
        except UnreadableDocument as error:
            raise InvalidQuery(error.errors) from error


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
