"""Readers of summaries and programs whose results have hidden names by number."""

from __future__ import annotations

from dataclasses import replace

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.field_programs import FieldProgramReader, FieldPrograms
from fll_hbase.store.read.field_summaries import (
    DatasetSummary,
    FieldSummaryReader,
    RelatedDataset,
    RelatedFields,
)
from fll_hbase.store.results import DatasetLineageResult
from fll_hbase.store.rights.numbering import number_hidden


class NumberedSummaryReader(FieldSummaryReader):
    """Reads summaries of windows as a principal sees them."""

    def related_fields(self, field: DatasetField, window: Window, direction: Direction) -> RelatedFields:
        """Return, sorted, the source fields of a field (backward) or the fields that are made of it."""
        result = number_hidden(super().related_fields(field, window, direction))
        return replace(result, fields=tuple(sorted(result.fields)))

    def summary(self, dataset: Dataset, window: Window, lineage: DatasetLineageResult) -> DatasetSummary:
        """Return the summary of a dataset from its lineage of one hop, whose names are numbered already."""
        result = super().summary(dataset, window, lineage)
        return replace(result, incoming=_sorted(result.incoming), outgoing=_sorted(result.outgoing))


class NumberedProgramReader(FieldProgramReader):
    """Reads the programs of a field as a principal sees them."""

    def read(self, field: DatasetField, window: Window, direction: Direction) -> FieldPrograms:
        """Return the operations of a field, with the programs that performed them."""
        return number_hidden(super().read(field, window, direction))


def _sorted(related: tuple[RelatedDataset, ...]) -> tuple[RelatedDataset, ...]:
    return tuple(sorted(related, key=lambda item: item.dataset))
