"""Answers about field reach: one direction or both, with the types of fields that the catalogue has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.queries import reach_json
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.reach_walk import ReachQuery
from fll_hbase.store.results import Reach


def reach(store: LineageStore, query: ReachQuery, directions: Sequence[Direction]) -> Json:
    """Return what is within reach of a field in each of the directions, as JSON of the REST contract.

    Each direction is walked by itself, with limits of its own and an equal part of the time. At the deadline
    the answer has what was read until then. Raises DeadlineExceeded if that is nothing, and NotFound for a
    field that was never recorded.
    """
    truncated_by: set[str] = set()
    results = _read(store, query, directions, truncated_by)
    types: dict[DatasetField, str] = {}
    try:
        deadline.check()
        types = store.catalogue.types({field for result in results.values() for field in result.hops})
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
    return reach_json.reach(results, types=types, truncated_by=truncated_by)


def _read(
    store: LineageStore, query: ReachQuery, directions: Sequence[Direction], truncated_by: set[str]
) -> dict[Direction, Reach]:
    """Return the directions that were read in time. Raises DeadlineExceeded or NotFound if none was."""
    results: dict[Direction, Reach] = {}
    errors: list[DeadlineExceeded | NotFound] = []
    for number, direction in enumerate(directions):
        try:
            with deadline.shared(1 / (len(directions) - number)):
                results[direction] = store.reach(replace(query, direction=direction))
        except DeadlineExceeded as error:
            # The other direction may have less to read.
            truncated_by.add(deadline.limit())
            errors.append(error)
        except NotFound as error:
            # Backward any name is a field where the dataset as a whole is influenced.
            errors.append(error)
    if not results:
        raise errors[-1]
    # In the order of `directions`; one without an answer has the field alone.
    alone = Reach({query.field: 0}, (), in_order=frozenset([query.field]))
    return {direction: results.get(direction, alone) for direction in directions}
