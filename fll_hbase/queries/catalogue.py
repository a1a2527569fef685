"""The catalogue: namespaces, their datasets, and the fields of a dataset, by code point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from fll_hbase.queries.pages import Paged, first_page
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import Answer, Body, DatasetQuery, Query
from fll_hbase.queries.tables import TableShape, member_rows
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.read.field_writes import ListedField as StoredField

_STATUSES = (400, 503)


class NamespacesAnswer(Body, frozen=True, kw_only=True):
    """A page of namespaces."""

    namespaces: tuple[str, ...]


class ListedDataset(Body, frozen=True, kw_only=True):
    """A dataset of a page."""

    schema_name: ClassVar[str] = "ListedEndPoint"

    namespace: str
    name: str
    description: str = ""


class DatasetsAnswer(Body, frozen=True, kw_only=True):
    """A page of datasets."""

    schema_name: ClassVar[str] = "EndPoints"

    datasets: tuple[ListedDataset, ...] = msgspec.field(name="endpoints")


class ListedField(Body, frozen=True, kw_only=True):
    """A field of a page; `last_written` is in milliseconds since 1970."""

    name: str
    type: str = ""
    read: bool
    written: bool
    last_written: int | None = None
    dropped: bool = False


class FieldsAnswer(Body, frozen=True, kw_only=True):
    """A page of fields."""

    fields: tuple[ListedField, ...]


class DatasetDetailsAnswer(Body, frozen=True, kw_only=True):
    """A dataset over all time; starts are in milliseconds since 1970, None if no run is stored."""

    schema_name: ClassVar[str] = "EndPointDetails"

    namespace: str
    name: str
    description: str
    fields: int
    first_start: int | None
    last_start: int | None
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def _namespace_rows(body: Json) -> list[Json]:
    """Return a row for each namespace of an answer's JSON."""
    return [{"namespace": name} for name in body["namespaces"]]


@dataclass(frozen=True, kw_only=True)
class Namespaces(Paged, Query[NamespacesAnswer]):
    """List all namespaces that have datasets.

    `limit` bounds the names of a page, and so does FLL_LIST_LIMIT_MAX. Hidden namespaces are left out.

    >>> client.namespaces(limit=2).body.namespaces
    ('bank', 'hospital')
    """

    path: ClassVar[str] = "/v3/namespaces"
    result: ClassVar[str] = "By code point"
    statuses: ClassVar[tuple[int, ...]] = _STATUSES
    items: ClassVar[str] = "namespaces"
    table: ClassVar[TableShape] = TableShape(("namespace",), _namespace_rows)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[NamespacesAnswer]:
        """Return a page of namespaces."""
        [start_after] = self.start_after(1)
        names = store.catalogue.namespaces(start_after=start_after)
        page, cursor = first_page(names, self.page_limit(store), lambda name: (name,))
        return Answer(NamespacesAnswer(namespaces=tuple(page)), cursor=cursor)


@dataclass(frozen=True)
class Datasets(Paged, Query[DatasetsAnswer]):
    """List the datasets of a namespace, or none for an unknown namespace.

    `prefix` selects names that begin with it; upper and lower case differ. Each dataset has its latest
    description.

    >>> [dataset.name for dataset in client.datasets("bank", prefix="Cu").body.datasets]
    ['CustomerAccounts', 'Customers']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints"
    result: ClassVar[str] = "By code point"
    statuses: ClassVar[tuple[int, ...]] = _STATUSES
    items: ClassVar[str] = "datasets"
    table: ClassVar[TableShape] = TableShape(("namespace", "name", "description"), member_rows("endpoints"))

    namespace: str
    prefix: Annotated[str, About("Prefix of the names")] = ""

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DatasetsAnswer]:
        """Return a page of datasets."""
        [start_after] = self.start_after(1)
        entries = store.catalogue.datasets(self.namespace, prefix=self.prefix, start_after=start_after)
        page, cursor = first_page(entries, self.page_limit(store), lambda entry: (entry.dataset.name,))
        datasets = (
            ListedDataset(
                namespace=entry.dataset.namespace, name=entry.dataset.name, description=entry.description
            )
            for entry in page
        )
        return Answer(DatasetsAnswer(datasets=tuple(datasets)), cursor=cursor)


@dataclass(frozen=True)
class DatasetDetails(DatasetQuery[DatasetDetailsAnswer]):
    """Return the description of a dataset, the number of its fields, and its first and last start.

    The answer covers all time and failed runs. A start is null if no run is stored. The answer is 404
    (`NotFound` in Python) if no recorded run read or wrote the dataset.

    >>> client.dataset("bank", "RiskScores").body.fields
    4
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}"
    result: ClassVar[str] = "Everything ever recorded counts"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DatasetDetailsAnswer]:
        """Return the dataset. Raises NotFound for one that was never recorded, and errors of the store."""
        summary, bounds = store.dataset(self.dataset)
        shown = summary.names[0]
        body = DatasetDetailsAnswer(
            namespace=shown.namespace,
            name=shown.name,
            description=summary.description,
            fields=summary.fields,
            first_start=bounds.first_start_ms,
            last_start=bounds.last_start_ms,
            truncated=bool(bounds.truncated_by),
            truncated_by=bounds.truncated_by,
        )
        return Answer(body, truncated_by=bounds.truncated_by)


@dataclass(frozen=True, kw_only=True)
class Fields(Paged, DatasetQuery[FieldsAnswer]):
    """List the fields of a dataset. 404 if no recorded run read or wrote it.

    All fields ever recorded are listed. `prefix` selects names that begin with it, `text` (`q` in URLs) names
    that contain it, ignoring case. `lastWritten` is the start of the last run that wrote a field, if newer
    runs wrote the dataset without it. A `dropped` field is missing from the newest schema that a run
    reported.

    >>> [field.name for field in client.fields("bank", "RiskScores").body.fields]
    ['customer_key', 'risk_band', 'risk_score', 'segment']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields"
    result: ClassVar[str] = "By code point"
    items: ClassVar[str] = "fields"
    table: ClassVar[TableShape] = TableShape(
        ("name", "type", "read", "written", "lastWritten", "dropped"),
        member_rows("fields"),
        times=("lastWritten",),
    )

    prefix: Annotated[str, About("Prefix of the names")] = ""
    text: Annotated[str, About("Part of a name, ignoring case", name="q", minimum=1)] = ""

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[FieldsAnswer]:
        """Return a page of fields. Raises InvalidQuery, NotFound for an unknown dataset, store errors."""
        [start_after] = self.start_after(1)
        text = self.text.casefold()
        # One catalogue row contains all fields and is read as a whole, so only the answer is paged.
        matches = (
            entry
            for entry in store.field_writes.fields(self.dataset)
            if entry.field.name.startswith(self.prefix)
            and text in entry.field.name.casefold()
            and entry.field.name > start_after
        )
        page, cursor = first_page(matches, self.page_limit(store), lambda entry: (entry.field.name,))
        return Answer(FieldsAnswer(fields=tuple(map(listed_field, page))), cursor=cursor)


def listed_field(entry: StoredField) -> ListedField:
    """Return a field of the store in the form of an answer."""
    field = entry.field
    return ListedField(
        name=field.name,
        type=field.type or "",
        read=field.read,
        written=field.written,
        last_written=entry.last_written_ms,
        dropped=entry.dropped,
    )
