"""What does one line of a file tell, whichever source it is from."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.errors import FieldError
from fll_hbase.ingest.detect import Form
from fll_hbase.model.dataset_metadata import DatasetMetadata
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import RecordedRun
from fll_hbase.sources import cdap, datahub, openlineage, sql, strict_json
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.native.cached_reader import DocumentReader
from fll_hbase.sources.native.document import Reading


@dataclass(frozen=True, slots=True)
class Told:
    """Runs and events of runs, what is known of end points without any run, and what is odd about it."""

    runs: tuple[RecordedRun | IncomingEvent, ...] = ()
    schemas: tuple[DatasetMetadata, ...] = ()
    warnings: tuple[FieldError, ...] = ()


class LineReader:
    """Reads documents of every form; threads may share it.

    `columns` looks up the columns of tables that SQL does not name.
    """

    def __init__(self, *, rules: NameRules, columns: sql.FieldLookup) -> None:
        self._rules = rules
        self._columns = columns
        self._documents = DocumentReader()

    def read(self, raw: bytes, form: Form, *, namespace: str | None, now_ms: int) -> Told:
        """What a line tells; `namespace` is that of documents that name none, `now_ms` of those without time.

        Raises UnreadableDocument or InvalidLineage with every fault, TooLarge.
        """
        match form:
            case Form.LINEAGE:
                return _told(self._documents.read(raw, namespace=namespace))
            case Form.SQL:
                return _told(sql.read_document(strict_json.parse(raw), namespace=namespace, columns=self._columns))
            case Form.PIPELINES:
                return _told(cdap.read_document(strict_json.parse(raw), namespace=namespace))
            case Form.OPENLINEAGE:
                reading = openlineage.read(openlineage.parse(raw), rules=self._rules)
                if reading.event is None:
                    return Told(schemas=reading.schemas)
                return Told((reading.event,))
            case Form.DATAHUB:
                ingested = datahub.read(strict_json.parse(raw), form=datahub.Form.FILE, now_ms=now_ms)
                return Told(ingested.runs, ingested.schemas)


def _told(reading: Reading) -> Told:
    return Told((reading.recorded,), warnings=reading.warnings)
