"""Steps of a walk over fields: the edges at one field of a dataset in one content."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from fll_hbase.model import field_relations
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Influence


class FieldStep(NamedTuple):
    """An edge between two fields, `*` for a dataset as a whole.

    Without an influence the datasets are related in an unknown way. Without a source the destination was
    generated, without a destination the source was dropped.
    """

    source: DatasetField | None
    destination: DatasetField | None
    influence: Influence | None


def steps_at(
    field_map: FieldMap, dataset: Dataset, names: Collection[str] | None, *, backward: bool
) -> Iterator[FieldStep]:
    """Yield the edges into fields of a dataset (backward), or those out of them; of all fields for None.

    Edges of the dataset as a whole are among them.
    """
    edges_of = field_relations.edges_into if backward else field_relations.edges_out_of
    fields: dict[tuple[Dataset, str], DatasetField] = {}
    for edge in edges_of(field_map, dataset, names=names):
        yield FieldStep(
            _field(edge.source, edge.source_field, fields),
            _field(edge.destination, edge.destination_field, fields),
            edge.influence,
        )


def _field(
    dataset: Dataset | None, name: str | None, fields: dict[tuple[Dataset, str], DatasetField]
) -> DatasetField | None:
    """Return a field, each one once: steps are cached."""
    if dataset is None:
        return None
    key = dataset, name or WHOLE_DATASET
    return fields.setdefault(key, DatasetField(*key))
