"""Derivations of a field: the distinct ways in which the runs of a window made it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import TypeAlias

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.model import simple_view, topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.content_decoding import FieldOfContent
from fll_hbase.store.read.run_reader import BATCH_RUNS
from fll_hbase.store.read.window_query import WindowQuery, WindowReader, reference_tail_of
from fll_hbase.store.results import Derivation, Derivations
from fll_hbase.store.run_rows import CommittedRun

_ContentDerivation: TypeAlias = tuple[simple_view.DerivationSignature, tuple[Operation, ...]]
"""Signature and sorted operations of a field in a content; no operations if the content lacks it."""


class DerivationReader:
    """Reads the derivations of fields. Threads may share it."""

    def __init__(
        self, windows: WindowReader, contents: ContentCache, catalogue: Catalogue, settings: Settings
    ) -> None:
        self._windows = windows
        self._contents = contents
        self._catalogue = catalogue
        self._settings = settings

    def derivations(self, field: DatasetField, window: Window, *, failed: bool) -> Derivations:
        """Return every distinct derivation of the field, with the ids of the runs that used it.

        A derivation is the operations that lead into the field. Runs are newest first; those of the window
        count, failed and aborted ones only with `failed`. Without any for a known field that no run wrote.
        """
        runs: dict[simple_view.DerivationSignature, list[str]] = {}
        operations: dict[simple_view.DerivationSignature, tuple[Operation, ...]] = {}
        truncated_by: set[str] = set()
        derived = self._derived_runs(field, window, failed=failed, truncated_by=truncated_by)
        for run, signature, steps in deadline.until_over(derived, truncated_by=truncated_by):
            operations.setdefault(signature, steps)
            runs.setdefault(signature, []).append(run)
        if not runs:
            self._catalogue.require_field(field)
        derivations = (Derivation(operations[key], tuple(run_ids)) for key, run_ids in runs.items())
        return Derivations(tuple(derivations), tuple(sorted(truncated_by)))

    def _derived_runs(
        self, field: DatasetField, window: Window, *, failed: bool, truncated_by: set[str]
    ) -> Iterator[tuple[str, simple_view.DerivationSignature, tuple[Operation, ...]]]:
        """Yield runs that wrote the field, newest first, with the signature and operations of its derivation.

        Ends after `runs_max` runs, and adds this limit, if there are more.
        """
        runs_max = self._settings.runs_max
        writers = self._writers(self._catalogue.names(field.dataset), window, failed=failed)
        first_writers = islice(writers, runs_max)
        derivations: dict[FieldOfContent, _ContentDerivation] = {}
        # In batches, so that the contents of many runs are read together.
        while batch := list(islice(first_writers, BATCH_RUNS)):
            contents = [FieldOfContent(run.checksum, DatasetField(name, field.name)) for run, name in batch]
            # Many runs share a content, so its derivation is computed once and not for each run.
            new = self._derivations([key for key in dict.fromkeys(contents) if key not in derivations])
            for (committed, _), content in zip(batch, contents, strict=True):
                if content not in derivations:
                    derivations[content] = next(new)
                signature, steps = derivations[content]
                if steps:
                    yield committed.run.run, signature, steps
        if next(writers, None) is not None:
            truncated_by.add(f"runs_max={runs_max}")

    def _derivations(self, contents: Sequence[FieldOfContent]) -> Iterator[_ContentDerivation]:
        """Yield the derivation of the field in each content. Raises DeadlineExceeded."""
        self._contents.load(self._contents.find_missing(content.checksum for content in contents))
        writing = [
            content for content in contents if self._contents.mentions_field(content, Direction.BACKWARD)
        ]
        upstream = self._contents.iter_operations(writing, Direction.BACKWARD)
        by_name = self._contents.iter_all_operations([content.checksum for content in writing])
        for content in contents:
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            if self._contents.mentions_field(content, Direction.BACKWARD):
                yield _derivation(content.field, next(upstream), next(by_name))
            else:
                yield frozenset(), ()

    def _writers(
        self, names: Sequence[Dataset], window: Window, *, failed: bool
    ) -> Iterator[tuple[CommittedRun, Dataset]]:
        """Iterate over the runs that wrote a dataset, newest first, each with the name that it wrote to."""
        runs_by_name = (
            zip(self._windows.runs(query, batch_size=BATCH_RUNS), repeat(query.dataset))
            for query in (WindowQuery(Direction.BACKWARD, name, window, failed) for name in names)
        )
        return heapq.merge(*runs_by_name, key=lambda item: reference_tail_of(item[0]))


def _derivation(
    field: DatasetField, upstream: Sequence[Operation], by_name: Mapping[str, Operation]
) -> _ContentDerivation:
    steps = topology.sort_operations([by_name[operation.name] for operation in upstream])
    return simple_view.derivation_signature(upstream, field), steps
