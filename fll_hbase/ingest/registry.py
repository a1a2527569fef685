"""Document formats: for each source, what identifies its documents and what reads them, from bytes to runs.

To add a source, write its folder or module in fll_hbase/sources and add its line to FORMATS. Then
`fll record`, the Spark jobs and POST /v3/namespaces/<ns>/<route> accept its documents. A source is imported
with its first document, because most commands read none and importing the parser of SQL alone takes 0.1 s of
a processor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.sources import derived_columns, strict_json
from fll_hbase.sources.name_rules import NameRules

if TYPE_CHECKING:
    from fll_hbase.sources import sql
    from fll_hbase.sources.native.cached_reader import CachedDocumentReader, OperationCache
    from fll_hbase.sources.native.document import Reading
    from fll_hbase.sources.warehouses.rows import ParsedRows


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Inputs of a reader in addition to the document.

    `namespace` applies to documents without one. If it is None, they are refused. `now_ms` is the time of
    documents without one. `columns` returns the fields of a dataset for SQL that does not name
    them. `operations` are the bytes of the member `operations` if detection has already found them.
    """

    native: CachedDocumentReader
    columns: sql.FieldLookup
    name_rules: NameRules
    namespace: str | None
    now_ms: int
    operations: bytes | None = None


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """The documents of one source.

    Any one of the top-level `members` identifies a document. `route` is the last segment of
    POST /v3/namespaces/<ns>/<route>, empty for a source whose clients have routes of their own. With
    `has_run_id`, a document is one whole run, whose id is its member `run.run`. With `reads_catalogue`,
    the result depends on fields that earlier documents put into the catalogue.

    A document with `has_rows` contains rows that a query exports. Rows of one run are grouped into one
    document by the first of `run_columns` that is not null; without such columns, each row is a run.
    """

    name: str
    members: tuple[str, ...]
    read: Callable[[bytes, ReadContext], ParsedDocument]
    title: str
    route: str = ""
    has_run_id: bool = True
    reads_catalogue: bool = False
    has_rows: bool = False
    run_columns: tuple[str, ...] = ()


def _read_native(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read a native document through the cache of parsed operations."""
    return _one_run(context.native.read(raw, namespace=context.namespace, operations=context.operations))


def _read_sql(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read a SQL document as its run and metadata of datasets."""
    from fll_hbase.sources import sql

    document = strict_json.parse_with_halves(raw)
    reading = sql.read_document(document, namespace=context.namespace, columns=context.columns)
    return ParsedDocument((reading.recorded,), reading.metadata, warnings=reading.warnings)


def _read_pipeline(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read a document with a pipeline config as one run."""
    from fll_hbase.sources import cdap

    return _one_run(cdap.read_document(strict_json.parse_with_halves(raw), namespace=context.namespace))


def _read_event(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read an OpenLineage event without using the namespace and time of the context."""
    from fll_hbase.sources import openlineage

    return parse_event(openlineage.parse(raw), name_rules=context.name_rules)


def parse_event(event: object, *, name_rules: NameRules) -> ParsedDocument:
    """Return the run event, or the metadata of a dataset event, of a decoded OpenLineage event.

    Metadata in an event of a run is recorded with that run. Only tags of fields, and the catalogue of the
    store that exported the event, are returned as metadata. Raises UnreadableDocument, TooLarge and
    DeadlineExceeded.
    """
    from fll_hbase.sources import openlineage

    with derived_columns.part():
        reading = openlineage.read(event, rules=name_rules)
    if reading.event is None:
        return ParsedDocument(metadata=reading.schemas, warnings=reading.warnings)
    return ParsedDocument((reading.event,), reading.later, reading.warnings, reading.statements)


def _read_proposal(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read DataHub proposals in any form that files may have; refused ones become warnings."""
    from fll_hbase.sources import datahub

    message = datahub.read(
        strict_json.parse_with_halves(raw),
        form=datahub.MessageFormat.FILE,
        now_ms=context.now_ms,
        columns=context.columns,
    )
    return ParsedDocument(message.runs, message.schemas, (*message.refused, *message.warnings))


def _read_dbt(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read a document of dbt artifacts as a run for each built node and metadata of datasets."""
    from fll_hbase.sources import dbt

    document = strict_json.parse_with_halves(raw)
    artifacts = dbt.read(
        document, namespace=context.namespace, columns=context.columns, now_ms=context.now_ms
    )
    return ParsedDocument(artifacts.runs, artifacts.metadata, artifacts.warnings)


def _read_databricks(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read rows of Databricks' lineage tables as a run for each statement."""
    from fll_hbase.sources.warehouses import databricks

    return _read_rows(databricks.read_document, raw, namespace=context.namespace)


def _read_snowflake(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read rows of Snowflake's access history as a run for each query."""
    from fll_hbase.sources.warehouses import snowflake

    return _read_rows(snowflake.read_document, raw, namespace=context.namespace)


def _read_trino(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read query-completed events of Trino as a run for each query."""
    from fll_hbase.sources.warehouses import trino

    return _read_rows(trino.read_document, raw, namespace=context.namespace)


def _read_bigquery(raw: bytes, context: ReadContext) -> ParsedDocument:
    """Read rows of BigQuery's JOBS as a run for each job."""
    from fll_hbase.sources.warehouses import bigquery

    return _read_rows(bigquery.read_document, raw, namespace=context.namespace, columns=context.columns)


def _read_rows(read_document: Callable[..., ParsedRows], raw: bytes, **options: Any) -> ParsedDocument:
    """Read exported rows with the function of their source and its options."""
    rows = read_document(strict_json.parse_with_halves(raw), **options)
    return ParsedDocument(rows.runs, warnings=rows.warnings)


def _one_run(reading: Reading) -> ParsedDocument:
    """Return a document with one run, without metadata of datasets."""
    return ParsedDocument((reading.recorded,), warnings=reading.warnings, on_recorded=reading.on_recorded)


# Proposals, metadata change events with snapshots, and entities in DataHub's newer protocol.
_DATAHUB_MEMBERS = ("entityUrn", "proposedSnapshot", "urn")

FORMATS = (
    DocumentFormat("lineage", ("operations",), _read_native, "one run with its operations", route="lineage"),
    DocumentFormat("openlineage", ("eventTime",), _read_event, "an OpenLineage event", has_run_id=False),
    DocumentFormat("sql", ("sql",), _read_sql, "one run by its SQL", route="sql", reads_catalogue=True),
    DocumentFormat("pipelines", ("config",), _read_pipeline, "one run of a pipeline", route="pipelines"),
    DocumentFormat("datahub", _DATAHUB_MEMBERS, _read_proposal, "a DataHub proposal", has_run_id=False),
    DocumentFormat(
        "dbt",
        ("manifest",),
        _read_dbt,
        "one dbt invocation",
        route="dbt",
        has_run_id=False,
        reads_catalogue=True,
    ),
    DocumentFormat(
        "databricks",
        ("databricks",),
        _read_databricks,
        "rows of Databricks' lineage system tables",
        route="databricks",
        has_run_id=False,
        has_rows=True,
        run_columns=("statement_id", "entity_run_id", "event_id", "record_id"),
    ),
    DocumentFormat(
        "snowflake",
        ("snowflake",),
        _read_snowflake,
        "rows of Snowflake's ACCESS_HISTORY",
        route="snowflake",
        has_run_id=False,
        has_rows=True,
    ),
    DocumentFormat(
        "trino",
        ("trino",),
        _read_trino,
        "query-completed events of Trino",
        route="trino",
        has_run_id=False,
        has_rows=True,
    ),
    DocumentFormat(
        "bigquery",
        ("bigquery",),
        _read_bigquery,
        "rows of BigQuery's JOBS",
        route="bigquery",
        has_run_id=False,
        reads_catalogue=True,
        has_rows=True,
    ),
)
"""In order of detection. A document that no format identifies goes to the first, whose reader refuses it."""


def import_sources() -> None:
    """Import the readers of all formats, so that no request of a server has to wait for them."""
    from fll_hbase.sources import cdap, datahub, dbt, sql  # noqa: F401
    from fll_hbase.sources.native import cached_reader  # noqa: F401
    from fll_hbase.sources.openlineage import sql_facet  # noqa: F401
    from fll_hbase.sources.warehouses import bigquery, databricks, snowflake, trino  # noqa: F401


def format_named(name: str) -> DocumentFormat:
    """Return the format named `name`, such as `openlineage`. Raises KeyError if it is unknown."""
    return _BY_NAME[name]


ROW_FORMATS = tuple(document_format for document_format in FORMATS if document_format.has_rows)
"""Formats of exported rows, which files have without the document around them."""

_BY_NAME = {document_format.name: document_format for document_format in FORMATS}


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """The format of a document, its run's id or "", its namespace or None, and the bytes of `operations`."""

    format: DocumentFormat = FORMATS[0]
    run: str = ""
    namespace: str | None = None
    operations: bytes | None = field(default=None, repr=False)


class _Run(msgspec.Struct):
    run: str = ""


# Members stay bytes (msgspec.Raw), because only the reader parses the document.
_RAW_MEMBERS: list[Any] = [
    (member, msgspec.Raw, msgspec.field(default_factory=msgspec.Raw))
    for document_format in FORMATS
    for member in document_format.members
]
_Members = msgspec.defstruct("_Members", _RAW_MEMBERS)
_Head = msgspec.defstruct(
    "_Head",
    [("run", _Run, msgspec.field(default_factory=_Run)), ("namespace", str | None, None)],
    bases=(_Members,),
)
_HEADS, _MEMBERS = typed_json.decoder(_Head), typed_json.decoder(_Members)
# msgspec raises Python's own error for a text that is not UTF-8.
_UNREADABLE = msgspec.MsgspecError, UnicodeDecodeError, RecursionError


def detect(raw: bytes) -> DocumentHead:
    """Return the format, run id and namespace of a document by its top-level members; raises nothing.

    Anything that is not a document gets the first format, whose reader reports the error.
    """
    try:
        head: Any = _HEADS.decode(raw)
    except _UNREADABLE:
        return _detect_members(raw)
    document_format = _format_of(head)
    run = head.run.run if document_format.has_run_id else ""
    return DocumentHead(document_format, run, head.namespace, bytes(head.operations))


def _detect_members(raw: bytes) -> DocumentHead:
    """Return the format of a document whose run or namespace has a wrong type; leave both out."""
    # The reader of the format has to report the wrong type; the first format would report other errors.
    # A lone surrogate does not hide the format either: the reader reports the part that contains it.
    try:
        return DocumentHead(_format_of(_MEMBERS.decode(strict_json.without_surrogate_escapes(raw))))
    except _UNREADABLE:
        return DocumentHead()


def _format_of(members: Any) -> DocumentFormat:
    """Return the first format with a top-level member that the document has, else the first format."""
    matches = (form for form in FORMATS if any(bytes(getattr(members, member)) for member in form.members))
    return next(matches, FORMATS[0])


class DocumentReader:
    """Reads documents of every format; threads may share it and its cache of parsed operations.

    `columns` returns the fields of a dataset from the catalogue of a store, or None if they are unknown. SQL
    such as `SELECT *`, which does not name fields, needs them. Readers may share a `cache`, but share parsed
    entries only if they have the same `scope`.
    """

    def __init__(
        self,
        *,
        columns: sql.FieldLookup,
        name_rules: NameRules | None = None,
        cache: OperationCache | None = None,
        scope: Hashable = None,
    ) -> None:
        self._columns = columns
        self._name_rules = name_rules or NameRules()
        # Imported here, because the commands that only send documents read none.
        from fll_hbase.sources.native.cached_reader import CachedDocumentReader

        self._native = CachedDocumentReader(cache, scope=scope)

    @property
    def name_rules(self) -> NameRules:
        """Return the rules by which names of OpenLineage datasets are rewritten."""
        return self._name_rules

    def read(
        self, raw: bytes, head: DocumentHead | DocumentFormat, *, namespace: str | None, now_ms: int
    ) -> ParsedDocument:
        """Return the runs and metadata of a document; `head` is the result of `detect` or a known format.

        `namespace` applies to documents without one. If it is None, they are refused. `now_ms` is the time of
        documents without one. Raises UnreadableDocument or InvalidLineage with every error, TooLarge,
        DeadlineExceeded, and the errors of `columns`, such as StoreUnavailable and CorruptRow.
        """
        document_format = head if isinstance(head, DocumentFormat) else head.format
        operations = None if isinstance(head, DocumentFormat) else head.operations
        context = ReadContext(self._native, self._columns, self._name_rules, namespace, now_ms, operations)
        with derived_columns.part():
            return document_format.read(raw, context)

    def try_read(
        self, raw: bytes, head: DocumentHead | DocumentFormat, *, namespace: str | None, now_ms: int
    ) -> ParsedDocument | LineageError:
        """Read as `read` does, but return its errors, even CorruptRow, instead of raising them.

        Raises StoreUnavailable, also DeadlineExceeded, and ConfigurationError: no faults of the document.
        """
        try:
            return self.read(raw, head, namespace=namespace, now_ms=now_ms)
        # These are LineageErrors, too. If they were returned, the document would count as refused for good.
        except (StoreUnavailable, ConfigurationError):
            raise
        except LineageError as error:
            return error
