"""Batches of a commit pass: the inputs of each run written together, and the order of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import ProgramId, RecordedRun, RunKey, run_key
from fll_hbase.runtime.errors import TooLarge
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CommittedRun

RUNS_PER_PASS_MAX, RUNS_PER_PASS_MIN = 2_000, 250
"""Runs per pass. A longer call is split, into passes of at least the minimum if they run in parallel."""

RunInput: TypeAlias = RecordedRun | IncomingEvent
"""An input to record: a whole run, or one OpenLineage event of a run."""


@dataclass(slots=True)
class SequenceOffset:
    """Index in a run's stored documents at which a sequence begins; -1 until its row is read."""

    index: int = -1


@dataclass(frozen=True, slots=True)
class DocumentSequence:
    """The values of the documents of one run and program in a call, and the position of one of them.

    Values that repeat the one before, or are too large for a cell, are left out. All documents of a sequence
    share one offset, so that repeating an earlier document of the same call is not mistaken for a resend.
    """

    values: Sequence[bytes]
    position: int
    offset: SequenceOffset = field(default_factory=SequenceOffset)

    def is_suffix_of(self, stored: Sequence[bytes]) -> bool:
        """Return whether this is a resend: the stored documents end with it and any number of followers.

        That end must not begin before its place in the sequence. `stored` lists the document values of the
        run row, oldest first. The first call for a sequence sets its offset.
        """
        starts = self._suffix_starts(stored)
        # The first document of the call sets the offset. Later ones find the cells of their predecessors, and
        # an equal document among these is not a resend.
        if self.offset.index < 0:
            self.offset.index = max(0, min(starts, default=len(stored)) - self.position)
        # Compare a suffix, not the latest document, so that an interrupted call can be sent again.
        return any(start >= self.offset.index + self.position for start in starts)

    def _suffix_starts(self, stored: Sequence[bytes]) -> list[int]:
        """Return the indexes at which the rest of `stored` equals this document and its first followers."""
        following = self.values[self.position :]
        lengths = range(1, min(len(stored), len(following)) + 1)
        return [
            len(stored) - length
            for length in lengths
            # The first document rules out most lengths; comparing all slices would take quadratic time.
            if stored[-length] == following[0] and list(stored[-length:]) == list(following[:length])
        ]


@dataclass(frozen=True, slots=True)
class RunBatch:
    """Inputs of one run that one pass writes together: one document, or any number of events.

    `positions` are their indexes in the call. A document has a sequence if the call has others of its run.
    """

    run: RunKey
    positions: Sequence[int]
    inputs: Sequence[RunInput]
    sequence: DocumentSequence | None


def split_into_rounds(inputs: Sequence[RunInput]) -> Iterator[list[RunBatch]]:
    """Yield rounds: lists of batches without repeated runs. Each round must end before the next begins.

    Documents of one run are in separate rounds, in order. Events of one run are in one batch, unless a
    document of that run comes between them.
    """
    # Order matters only among the documents of a run: a merge of events does not depend on it.
    keys = [run_key_of(run_input) for run_input in inputs]
    sequences = _document_sequences(inputs, keys)
    for groups in _rounds(inputs, keys):
        yield [
            RunBatch(
                run, positions, [inputs[position] for position in positions], sequences.get(positions[0])
            )
            for run, positions in groups.items()
        ]


def split_into_passes(batches: Sequence[RunBatch], *, parallel: int) -> list[Sequence[RunBatch]]:
    """Split a round into passes, which may run in any order, `parallel` at a time.

    A pass has at most RUNS_PER_PASS_MAX runs, and all but the last have RUNS_PER_PASS_MIN or more. With
    `parallel` 1, all but the last have exactly the minimum.
    """
    # If writers take turns, each pass is one turn, for which the others wait.
    per_thread = -(-len(batches) // parallel) if parallel > 1 else RUNS_PER_PASS_MIN
    runs = min(max(per_thread, RUNS_PER_PASS_MIN), RUNS_PER_PASS_MAX)
    return [batches[start : start + runs] for start in range(0, len(batches), runs)]


def _rounds(inputs: Sequence[RunInput], keys: Sequence[RunKey]) -> list[dict[RunKey, list[int]]]:
    """Return rounds of positions by run, with each input in the earliest round that keeps its run's order."""
    rounds: list[dict[RunKey, list[int]]] = []
    last_round: dict[RunKey, int] = {}
    for position, (run_input, run) in enumerate(zip(inputs, keys, strict=True)):
        number = last_round.get(run, -1)
        positions = rounds[number][run] if number >= 0 else []
        if (
            positions
            and isinstance(run_input, IncomingEvent)
            and isinstance(inputs[positions[0]], IncomingEvent)
        ):
            positions.append(position)
            continue
        # A document takes its number from the row (step 1), so its predecessor must be stored first.
        last_round[run] = number + 1
        if number + 1 == len(rounds):
            rounds.append({})
        rounds[number + 1][run] = [position]
    return rounds


def _document_sequences(inputs: Sequence[RunInput], keys: Sequence[RunKey]) -> Mapping[int, DocumentSequence]:
    """Return, by position, the sequence of each document whose run and program have several in this call."""
    if len(set(keys)) == len(keys):
        return {}
    documents: dict[tuple[RunKey, ProgramId | None], list[tuple[int, RecordedRun]]] = {}
    for position, (run_input, run) in enumerate(zip(inputs, keys, strict=True)):
        if isinstance(run_input, RecordedRun):
            # Documents of another program are refused, so none is stored between a program's own documents.
            program = None if run_input.replaces_others else run_input.run.program_id
            documents.setdefault((run, program), []).append((position, run_input))
    sequences: dict[int, DocumentSequence] = {}
    for numbered in documents.values():
        if len(numbered) > 1:
            values: list[bytes] = []
            offset = SequenceOffset()
            for position, document in numbered:
                value = _document_value(document)
                # A repeated value adds no cell, nor does a value that is refused as too large.
                if value and value != (values[-1] if values else b""):
                    values.append(value)
                sequences[position] = DocumentSequence(values, max(len(values) - 1, 0), offset)
    return sequences


def _document_value(document: RecordedRun) -> bytes:
    """Return the value of a document in its cell, or b"" if it is too large for a cell."""
    try:
        return run_rows.encode_run(CommittedRun(document.info.checksum, document.run, run_key_of(document)))
    except TooLarge:
        return b""


def run_key_of(run_input: RunInput) -> RunKey:
    """Return the key of the run of a document or event."""
    if isinstance(run_input, RecordedRun):
        return run_key(run_input.run.run, run_input.run.namespace)
    return run_key(run_input.run, run_input.namespace)
