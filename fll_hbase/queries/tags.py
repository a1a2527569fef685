"""Tags of fields, by field, by dataset and by tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import FieldTag
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.names import FieldName
from fll_hbase.queries.pages import Paged, encode_cursor, first_page
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import (
    Answer,
    Body,
    Changeable,
    DatasetQuery,
    Fault,
    FieldQuery,
    FirstReads,
    Query,
    WindowBody,
    Windowed,
)
from fll_hbase.queries.tables import Row, TableShape, member_rows
from fll_hbase.runtime.errors import FieldError
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import tag_bodies
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.store.query_parameters import WindowQuery

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.tags import PathTag

BY_HELP = "The person or program that sets it"
TIME_HELP = "When it was set, in milliseconds since 1970"

_COLUMNS = ("namespace", "name", "field", "tag", "at", "by", "description")


class TaggedField(FieldName, frozen=True, kw_only=True):
    """A field on the path of a tag."""


class Tag(TaggedField, frozen=True, kw_only=True):
    """A tag of a field; `warnings` are about the body that a client sent."""

    tag: str
    time: Annotated[int, msgspec.Meta(description=TIME_HELP)] = msgspec.field(name="at")
    by: Annotated[str, msgspec.Meta(description=BY_HELP)] = ""
    description: str = ""
    warnings: tuple[Fault, ...] = ()


class InheritedTag(Tag, frozen=True, kw_only=True):
    """A tag of a field, own or inherited from a field upstream."""

    schema_name: ClassVar[str] = "FieldTag"

    path: Annotated[
        tuple[TaggedField, ...],
        msgspec.Meta(description="With `inherited=true`: from the field with the tag to the one in the URL"),
    ] = ()


class TagBody(Body, frozen=True, kw_only=True):
    """The note of a tag, as a client sends it."""

    by: Annotated[str, msgspec.Meta(max_length=ID_BYTES_MAX, description=BY_HELP)] = ""
    description: Annotated[str, msgspec.Meta(max_length=NAME_BYTES_MAX)] = ""


class FieldTagsAnswer(WindowBody, frozen=True, kw_only=True):
    """A page of the tags of a field; `truncated` is set only if inherited tags are included."""

    schema_name: ClassVar[str] = "FieldTagList"

    tags: tuple[InheritedTag, ...]
    changeable: Annotated[
        bool,
        msgspec.Meta(description="False if the principal may not set and remove tags, absent otherwise"),
    ] = True
    truncated: bool | None = None
    truncated_by: tuple[str, ...] = ()


class DatasetTagsAnswer(Body, frozen=True, kw_only=True):
    """A page of the tags of the fields of a dataset."""

    schema_name: ClassVar[str] = "TagList"

    tags: tuple[Tag, ...]


class TagsAnswer(Body, frozen=True, kw_only=True):
    """A page of the names of tags."""

    schema_name: ClassVar[str] = "TagNames"

    tags: tuple[str, ...]


class TaggedFieldsAnswer(Body, frozen=True, kw_only=True):
    """A tag, and a page of the fields that have it."""

    tag: str
    fields: tuple[Tag, ...]


def tag_body(stored: FieldTag, warnings: Iterable[FieldError] = ()) -> Tag:
    """Return a stored tag as the body of an answer, with the warnings about what a client sent."""
    return Tag(**_members(stored), warnings=tuple(map(Fault.from_error, warnings)))


def _members(stored: FieldTag) -> Json:
    """Return the members of a stored tag by attribute."""
    return {
        **name_json.field(stored.field),
        "tag": stored.tag,
        "time": stored.at_ms,
        "by": stored.note.by,
        "description": stored.note.description,
    }


def _inherited_tag(entry: PathTag) -> InheritedTag:
    """Return a tag of the store, with its path, in the form of an answer."""
    path = tuple(TaggedField(**name_json.field(step)) for step in entry.path)
    return InheritedTag(**_members(entry.tag), path=path)


def _path_rows(body: Json) -> list[Row]:
    """Return the tags of an answer's JSON as rows, with each path as one text."""
    return [
        tag | {"path": " > ".join(map(name_json.text, tag["path"]))} if "path" in tag else tag
        for tag in body["tags"]
    ]


def _name_rows(body: Json) -> list[Row]:
    """Return a row for each tag name in an answer's JSON."""
    return [{"tag": name} for name in body["tags"]]


@dataclass(frozen=True)
class TagOfField(FieldQuery[Tag], Changeable[Tag]):
    """Return one tag of a field, with its time and its note. 404 if the field does not have it."""

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags/{tag}"
    result: ClassVar[str] = "OK"

    tag: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[Tag]:
        """Return the tag. Raises NotFound if the field does not have it, and errors of the store."""
        return Answer(tag_body(store.tags.get(self.dataset_field, self.tag)))

    def put(self, store: LineageStore, raw: bytes) -> tuple[Tag, bool]:
        """Give the field the tag, with the note in the body; return it, and whether it is new.

        Raises UnreadableDocument, NotFound for an unknown field, TooLarge, Forbidden, and errors of the
        store.
        """
        note, warnings = tag_bodies.read_note(raw)
        stored, is_new = store.tags.put(self.dataset_field, self.tag, note)
        return tag_body(stored, warnings), is_new

    def remove(self, store: LineageStore) -> None:
        """Remove the tag from the field. Raises NotFound without it, Forbidden, and errors of the store."""
        store.tags.remove(self.dataset_field, self.tag)


@dataclass(frozen=True, kw_only=True)
class FieldTags(Windowed, Paged, FieldQuery[FieldTagsAnswer]):
    """List the tags of a field. 404 for a field that was never recorded.

    With `inherited=true`, the answer also has the tags of all fields that the values come from, over direct
    edges, in the runs that start in the window. Each tag is listed once, with its shortest `path` from the
    tagged field to this one; `level` bounds the hops. Without `inherited`, window and `level` have no
    effect. `changeable` is false if the principal may not set tags.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.name
    'DailyTransactions'
    >>> client.field_tags("bank", "CustomerAccounts", "UID", inherited=True).rows[0]["path"]
    'bank/DailyTransactions.UID > bank/CustomerAccounts.UID'
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags"
    result: ClassVar[str] = "By code point"
    items: ClassVar[str] = "tags"
    table: ClassVar[TableShape] = TableShape((*_COLUMNS, "path"), _path_rows, times=("at",))

    inherited: Annotated[
        bool, About("Include the tags of fields upstream, over direct edges, in the window")
    ] = False
    level: Annotated[
        int | None, About("Maximum number of hops (default: `FLL_LEVEL_MAX` of the server)", minimum=1)
    ] = None

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[FieldTagsAnswer]:
        """Return a page of tags. Raises InvalidQuery, NotFound for an unknown field, and store errors."""
        window = self.window(now_ms)
        if self.inherited:
            return self._with_inherited(store, window)
        [start_after] = self.start_after(1)
        # One row contains all tags of a field and is read as a whole, so only the answer is paged.
        stored = (entry for entry in store.tags.field_tags(self.dataset_field) if entry.tag > start_after)
        page, cursor = first_page(stored, self.page_limit(store), lambda entry: (entry.tag,))
        tags = tuple(InheritedTag(**_members(entry)) for entry in page)
        return Answer(FieldTagsAnswer(tags=tags, changeable=store.may_tag(self.dataset)), cursor=cursor)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the window of the dataset if inherited tags are included, else no windows."""
        if not self.inherited:
            return FirstReads()
        return FirstReads(times=(WindowQuery(Direction.BACKWARD, self.dataset, self.window(now_ms)),))

    def _with_inherited(self, store: LineageStore, window: Window) -> Answer[FieldTagsAnswer]:
        """Return a page of own and inherited tags of the field in the window, by tag."""
        [start_after] = self.start_after(1)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        # Imported here: the client of a server reads no store.
        from fll_hbase.store.tags import inherited_tags

        result = inherited_tags(store, self.dataset_field, window, level=self.level)
        matches = (entry for entry in result.tags if entry.tag.tag > start_after)
        page, cursor = first_page(matches, self.page_limit(store), lambda entry: (entry.tag.tag,))
        body = FieldTagsAnswer(
            tags=tuple(map(_inherited_tag, page)),
            changeable=store.may_tag(self.dataset),
            truncated=bool(result.truncated_by),
            truncated_by=result.truncated_by,
        )
        return Answer(body, window, retained_from_ms, result.truncated_by, cursor)


@dataclass(frozen=True, kw_only=True)
class DatasetTags(Paged, DatasetQuery[DatasetTagsAnswer]):
    """List the tags of all fields of a dataset. 404 for a dataset that was never recorded.

    Tags under all names (aliases) of the dataset are listed, inherited tags are not. `limit` bounds the tags
    of a page, not the fields.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
    'PII'
    >>> [(tag.field, tag.tag) for tag in client.dataset_tags("bank", "DailyTransactions").body.tags]
    [('UID', 'PII')]
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/tags"
    result: ClassVar[str] = "By field and tag"
    items: ClassVar[str] = "tags"
    table: ClassVar[TableShape] = TableShape((*_COLUMNS, "path"), member_rows("tags"), times=("at",))

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DatasetTagsAnswer]:
        """Return a page of tags. Raises InvalidQuery, NotFound for an unknown dataset, and store errors."""
        field, last_tag = self.start_after(2)
        stored = store.tags.dataset_tags(self.dataset, start_after=(field, last_tag))
        page, cursor = first_page(stored, self.page_limit(store), lambda entry: (entry.field.name, entry.tag))
        return Answer(DatasetTagsAnswer(tags=tuple(map(tag_body, page))), cursor=cursor)


@dataclass(frozen=True, kw_only=True)
class Tags(Paged, Query[TagsAnswer]):
    """List the tags that any field has.

    Each name is listed once, however many fields have the tag.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
    'PII'
    >>> client.tags().body.tags
    ('PII',)
    """

    path: ClassVar[str] = "/v3/tags"
    result: ClassVar[str] = "By code point"
    statuses: ClassVar[tuple[int, ...]] = (400, 503)
    items: ClassVar[str] = "tags"
    table: ClassVar[TableShape] = TableShape(("tag",), _name_rows)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[TagsAnswer]:
        """Return a page of the names of tags."""
        [start_after] = self.start_after(1)
        names = store.tags.tags(start_after=start_after)
        page, cursor = first_page(names, self.page_limit(store), lambda name: (name,))
        return Answer(TagsAnswer(tags=tuple(page)), cursor=cursor)


@dataclass(frozen=True)
class TaggedFields(Paged, Query[TaggedFieldsAnswer]):
    """List the fields that have a tag, or none for a tag that no field has.

    Fields that inherit the tag are not listed. A page may have fewer fields than its limit although a next
    page exists.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
    'PII'
    >>> [field.name for field in client.tagged_fields("PII").body.fields]
    ['DailyTransactions']
    """

    path: ClassVar[str] = "/v3/tags/{tag}"
    result: ClassVar[str] = "By namespace, dataset and field"
    statuses: ClassVar[tuple[int, ...]] = (400, 503)
    items: ClassVar[str] = "fields"
    table: ClassVar[TableShape] = TableShape(_COLUMNS, member_rows("fields"), times=("at",))

    tag: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[TaggedFieldsAnswer]:
        """Return a page of fields."""
        namespace, name, field = self.start_after(3)
        start_after = DatasetField(Dataset(namespace, name), field) if self.cursor is not None else None
        page = store.tags.tagged(self.tag, limit=self.page_limit(store), start_after=start_after)
        last = page.next_after
        cursor = encode_cursor(last.dataset.namespace, last.dataset.name, last.name) if last else ""
        return Answer(TaggedFieldsAnswer(tag=self.tag, fields=tuple(map(tag_body, page.tags))), cursor=cursor)
