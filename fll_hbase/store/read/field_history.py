"""The history of a field: the stretches of runs that derived it in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.model import simple_view
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.content_decoding import FieldOfContent
from fll_hbase.store.read.run_heads import BATCH_RUNS, RunHead, RunHeadReader
from fll_hbase.store.read.stretches import StretchUnion
from fll_hbase.store.results import FieldHistory


class FieldHistoryReader:
    """Reads the history of fields. Threads may share it."""

    def __init__(
        self, heads: RunHeadReader, contents: ContentCache, catalogue: Catalogue, settings: Settings
    ) -> None:
        self._heads = heads
        self._contents = contents
        self._catalogue = catalogue
        self._settings = settings

    def history(self, field: DatasetField, window: Window, *, indirect: bool, failed: bool) -> FieldHistory:
        """Return the stretches of the runs of the window that wrote the field.

        Runs are read newest first, until the deadline, `runs_max` runs of the dataset or `list_limit_max`
        stretches. Raises NotFound for an empty history of a field that was never recorded.
        """
        stretches_max = self._settings.list_limit_max
        union, truncated_by = StretchUnion(stretches_max=stretches_max), set[str]()
        fields = [DatasetField(name, field.name) for name in self._catalogue.names(field.dataset)]
        heads = self._heads.writers([name.dataset for name in fields], window, failed=failed)
        derived = self._derived(heads, fields, indirect=indirect, truncated_by=truncated_by)
        for head, derivation in deadline.until_over(derived, truncated_by=truncated_by):
            if not union.add(head, derivation):
                truncated_by.add(f"list_limit_max={stretches_max}")
                break
        stretches = union.build()
        if not stretches:
            self._catalogue.require_field(field)
        return FieldHistory(stretches, union.missing, tuple(sorted(truncated_by)))

    def _derived(
        self,
        heads: Iterator[RunHead],
        fields: Sequence[DatasetField],
        *,
        indirect: bool,
        truncated_by: set[str],
    ) -> Iterator[tuple[RunHead, str]]:
        """Yield each run with the digest of its derivation, "" if it did not write the field.

        Ends after `runs_max` runs, and adds this limit, if there are more.
        """
        runs_max = self._settings.runs_max
        first_heads = islice(heads, runs_max)
        # A digest of 32 characters for each content: signatures have the size of operations.
        digests: dict[str, str] = {}
        while batch := list(islice(first_heads, BATCH_RUNS)):
            checksums = dict.fromkeys(head.checksum for head in batch)
            new = self._digests([key for key in checksums if key not in digests], fields, indirect=indirect)
            for head in batch:
                if head.checksum not in digests:
                    digests[head.checksum] = next(new)
                yield head, digests[head.checksum]
        if next(heads, None) is not None:
            truncated_by.add(f"runs_max={runs_max}")

    def _digests(
        self, checksums: Sequence[str], fields: Sequence[DatasetField], *, indirect: bool
    ) -> Iterator[str]:
        """Yield for each content the digest of how it derives the field, under all names that it uses."""
        contents = {checksum: self._writing(checksum, fields) for checksum in checksums}
        operations = self._contents.iter_operations(
            [content for listed in contents.values() for content in listed], Direction.BACKWARD
        )
        for listed in contents.values():
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            signatures = [
                simple_view.derivation_signature(next(operations), content.field, indirect=indirect)
                for content in listed
            ]
            members = frozenset[object]().union(*signatures)
            yield simple_view.signature_digest(members) if members else ""

    def _writing(self, checksum: str, fields: Sequence[DatasetField]) -> list[FieldOfContent]:
        contents = (FieldOfContent(checksum, field) for field in fields)
        return [content for content in contents if self._contents.mentions_field(content, Direction.BACKWARD)]
