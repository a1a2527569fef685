"""Batches of a commit pass: the inputs of each run that are written together, and the order of documents."""

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
"""Runs of one pass. A longer call is split into several, not below the minimum where they run in parallel."""

RunInput: TypeAlias = RecordedRun | IncomingEvent
"""What is recorded: a whole run, or one OpenLineage event of a run."""


@dataclass(slots=True)
class SequenceOffset:
    """Index among the stored documents of a run at which a sequence begins; -1 until its row was read."""

    index: int = -1


@dataclass(frozen=True, slots=True)
class DocumentSequence:
    """The values of all documents of one run in a call, and the position of one of them.

    All documents of the sequence share one offset, so a document that repeats an earlier one of the same call
    is not mistaken for a resend.
    """

    values: Sequence[bytes]
    position: int
    offset: SequenceOffset = field(default_factory=SequenceOffset)

    def is_suffix_of(self, stored: Sequence[bytes]) -> bool:
        """Return whether the stored documents end with this one and those that follow it in the call.

        Then this document is a resend. `stored` are the document values of the run row, oldest first.
        """
        starts = self._suffix_starts(stored)
        # Set once, by the first document of the call: those that follow find the cells of those before them,
        # and an equal document among these is not a resend.
        if self.offset.index < 0:
            self.offset.index = max(0, min(starts, default=len(stored)) - self.position)
        # A suffix, not equality with the latest document: a call that was cut off anywhere can be sent again.
        return any(start >= self.offset.index + self.position for start in starts)

    def _suffix_starts(self, stored: Sequence[bytes]) -> list[int]:
        """Return the indexes in `stored` from which to its end it equals this document and its followers."""
        following = self.values[self.position :]
        lengths = range(1, min(len(stored), len(following)) + 1)
        return [
            len(stored) - length
            for length in lengths
            # The first document alone rules out most lengths; comparing all slices would cost the square.
            if stored[-length] == following[0] and list(stored[-length:]) == list(following[:length])
        ]


@dataclass(frozen=True, slots=True)
class RunBatch:
    """Inputs of one run that one pass writes together: one document, or any number of events.

    `positions` are their indexes in the call. A document that shares the call with others of its run carries
    their sequence.
    """

    run: RunKey
    positions: Sequence[int]
    inputs: Sequence[RunInput]
    sequence: DocumentSequence | None


def single_batch(run_input: RunInput) -> RunBatch:
    """Return the batch for the only input of a call."""
    return RunBatch(run_key_of(run_input), [0], [run_input], None)


def split_into_rounds(inputs: Sequence[RunInput]) -> Iterator[list[RunBatch]]:
    """Yield rounds, lists of batches that contain no run twice. Each has to end before the next one begins.

    Documents of one run are in consecutive rounds, in order. Events of one run are in one batch, unless a
    document of that run is between them.
    """
    # Order matters within a run only, and among its documents only: a merge of events does not depend on it.
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
    """Split a round into passes, of which `parallel` run at a time, in any order."""
    # Where writers take turns each pass is one of them, and others wait for as long as it takes.
    per_thread = -(-len(batches) // parallel) if parallel > 1 else RUNS_PER_PASS_MIN
    runs = min(max(per_thread, RUNS_PER_PASS_MIN), RUNS_PER_PASS_MAX)
    return [batches[start : start + runs] for start in range(0, len(batches), runs)]


def _rounds(inputs: Sequence[RunInput], keys: Sequence[RunKey]) -> list[dict[RunKey, list[int]]]:
    """Return rounds of positions by run. Each input is in the earliest round that keeps its run's order."""
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
        # A document determines its number from the row (step 1), so the one before it has to be stored.
        last_round[run] = number + 1
        if number + 1 == len(rounds):
            rounds.append({})
        rounds[number + 1][run] = [position]
    return rounds


def _document_sequences(inputs: Sequence[RunInput], keys: Sequence[RunKey]) -> Mapping[int, DocumentSequence]:
    """Return by position each document's place among several of its run in this call."""
    if len(set(keys)) == len(keys):
        return {}
    documents: dict[tuple[RunKey, ProgramId | None], list[tuple[int, RecordedRun]]] = {}
    for position, (run_input, run) in enumerate(zip(inputs, keys, strict=True)):
        if isinstance(run_input, RecordedRun):
            # Documents of another program are refused, so a row has none of them between its own.
            program = None if run_input.replaces_others else run_input.run.program_id
            documents.setdefault((run, program), []).append((position, run_input))
    sequences: dict[int, DocumentSequence] = {}
    for numbered in documents.values():
        if len(numbered) > 1:
            values: list[bytes] = []
            offset = SequenceOffset()
            for position, document in numbered:
                value = _document_value(document)
                # A repeated value adds no cell, and neither does one that is refused as too large.
                if value and value != (values[-1] if values else b""):
                    values.append(value)
                sequences[position] = DocumentSequence(values, max(len(values) - 1, 0), offset)
    return sequences


def _document_value(document: RecordedRun) -> bytes:
    """Return the value of a document in its cell, or b"" for one that is too large for a cell."""
    try:
        return run_rows.encode_run(CommittedRun(document.info.checksum, document.run, run_key_of(document)))
    except TooLarge:
        return b""


def run_key_of(run_input: RunInput) -> RunKey:
    """Return the key of the run of a document or event."""
    if isinstance(run_input, RecordedRun):
        return run_key(run_input.run.run, run_input.run.namespace)
    return run_key(run_input.run, run_input.namespace)
