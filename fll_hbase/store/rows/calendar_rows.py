"""Cells of ways and calendars, encoded and decoded by pure functions.

A calendar records on which days a content ran. Every change of a day's runs first replaces the day's token.
The seal of the day counts its runs, and is valid as long as its token is the day's token.
docs/reference/row-keys.md defines the format, and explains why seals are right.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Annotated, NamedTuple, cast

import msgspec

from fll_hbase.keys import calendars
from fll_hbase.keys.codec import SEPARATOR, check_key_length, day_of, escape, run_segment, unescape
from fll_hbase.model.runs import ProgramRun, RunKey
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.rows.run_rows import CELL_BYTES_MAX, CommittedHead, CommittedRun, head_of
from fll_hbase.tables import CellKey, Put, Row

INLINE_RUNS_MAX = 64
"""Maximum number of a day's runs that its seal lists. With more, it has only the newest and oldest of each
program and outcome, and another cell has all."""

TOKEN_BYTES = 8


class ContentDay(NamedTuple):
    """A content on a day since 1970, to which a token and a seal refer."""

    checksum: str
    day: int

    @property
    def row(self) -> bytes:
        """Return the key of the calendar that contains the day."""
        return calendars.calendar_row(self.checksum, calendars.period_of(self.day))


class SealedRun(NamedTuple):
    """A run of a day: its start in milliseconds since 1970, and its `RunKey`."""

    start_ms: int
    run: str
    namespace: str = ""

    @property
    def key(self) -> RunKey:
        """Return the key of the run."""
        return RunKey(self.run, self.namespace)


class DayRuns(NamedTuple):
    """The failed runs, or the other runs, of one program on a day, in the order of references.

    That order is newest first, then by id. `program` is encoded by `encode_program`. `total` is the number of
    runs. If there are many, `runs` may have only the newest and the oldest.
    """

    program: bytes
    failed: bool
    runs: Sequence[SealedRun]
    total: int

    @property
    def is_complete(self) -> bool:
        """Return whether `runs` contains all runs, not only the newest and the oldest of many."""
        return len(self.runs) == self.total


class _Run(msgspec.Struct, array_like=True, frozen=True):
    """A run in a seal; `is_scoped` is 1 if its id is unique only in the program's namespace."""

    start_ms: int
    run: str
    is_scoped: int = 0


class _SharedRun(msgspec.Struct, array_like=True, frozen=True):
    """A run in a seal without the third member, because its id is unique in all namespaces."""

    start_ms: int
    run: str


class _Part(msgspec.Struct, array_like=True, frozen=True):
    """Runs of one program, failed or not, in a seal; `count` is 0 if `runs` contains all of them."""

    program: str
    failed: int
    runs: Annotated[list[_Run], msgspec.Meta(min_length=1)]
    count: Annotated[int, msgspec.Meta(ge=0)] = 0


class _Cell(msgspec.Struct, array_like=True, frozen=True):
    """The value of a seal: the day's token at that time, and runs by program."""

    token: str
    parts: list[_Part]


# Bypass the Python-level constructor of a named tuple, because a seal has many runs.
_sealed_run: Callable[[tuple[int, str, str]], SealedRun] = partial(tuple.__new__, SealedRun)
_encode = msgspec.json.Encoder().encode


def new_token() -> bytes:
    """Return a random token, 16 hex digits."""
    return secrets.token_hex(TOKEN_BYTES).encode()


def day_of_run(committed: CommittedRun) -> ContentDay:
    """Return the content of a run and the day on which it started."""
    return day_of_head(head_of(committed))


def day_of_head(head: CommittedHead) -> ContentDay:
    """Return the content and the day of the start of a committed run, given the head of its commit value."""
    return ContentDay(head.checksum, day_of(head.start_ms))


def touch_puts(days: Collection[ContentDay], token: bytes) -> list[Put]:
    """Return the puts that give each day this token, which invalidates earlier seals."""
    return [Put(key.row, calendars.day_column(calendars.TOKEN, key.day), token) for key in days]


def way_puts(checksum: str, period: int, endpoints: ContentEndpoints) -> Iterator[Put]:
    """Yield a content's ways in a period: one per dataset read, one per dataset written. Raises TooLarge."""
    tail = calendars.way_tail(period, checksum)
    for prefix in _way_prefixes(endpoints):
        yield Put(check_key_length(prefix + tail), calendars.WAY, b"")


@lru_cache(maxsize=4_096)
def _way_prefixes(endpoints: ContentEndpoints) -> tuple[bytes, ...]:
    """Return a content's key prefixes of ways: one per dataset written, and one per dataset read; cached."""
    return tuple(calendars.ways_prefix(direction, dataset) for direction, dataset in endpoints.by_direction())


def day_cells(key: ContentDay) -> list[CellKey]:
    """Return the keys of the cells that a content's calendar may have for a day: token, seal and starts."""
    return [CellKey(key.row, calendars.day_column(kind, key.day)) for kind in calendars.DAY_COLUMNS]


def encode_program(run: ProgramRun) -> bytes:
    """Return the five names of a run's program, escaped and joined, namespace first, without id and start."""
    names = (run.namespace, run.application, run.version, run.type, run.program)
    return SEPARATOR.join(map(escape, names))


def decode_program(value: bytes, run: SealedRun) -> ProgramRun:
    """Return a run, without its state, of a program that `encode_program` encoded. Raises CorruptRow."""
    names = value.split(SEPARATOR)
    if len(names) != 5:
        raise CorruptRow(f"{value!r} is not a program")
    namespace, application, version, type_, program = map(unescape, names)
    return ProgramRun(namespace, application, version, type_, program, run.run, run.start_ms)


def seal_puts(key: ContentDay, token: bytes, runs: Iterable[CommittedRun]) -> list[Put]:
    """Return the seal of a content's day with these runs; `token` must be read before the runs.

    With more than INLINE_RUNS_MAX runs, the seal lists only the newest and oldest of each program and
    outcome. A second cell then has all runs, unless it is longer than CELL_BYTES_MAX.
    """
    parts = _parts(key.day, runs)
    row = key.row
    column = calendars.day_column(calendars.SEAL, key.day)
    complete = _encode(_Cell(token.decode(), parts))
    if sum(len(part.runs) for part in parts) <= INLINE_RUNS_MAX:
        return [Put(row, column, complete)]
    ends = [
        msgspec.structs.replace(part, runs=[part.runs[0], part.runs[-1]], count=len(part.runs))
        if len(part.runs) > 2
        else part
        for part in parts
    ]
    puts = [Put(row, column, _encode(_Cell(token.decode(), ends)))]
    if len(complete) <= CELL_BYTES_MAX:
        puts.append(Put(row, calendars.day_column(calendars.STARTS, key.day), complete))
    return puts


def _parts(day: int, runs: Iterable[CommittedRun]) -> list[_Part]:
    """Return the runs of a day by program and failure, with starts in milliseconds since the day began."""
    by_program: dict[tuple[bytes, bool], list[SealedRun]] = {}
    for _, run, key in runs:
        listed = by_program.setdefault((encode_program(run), run.state.failed), [])
        listed.append(SealedRun(run.start_ms - day * DAY_MS, *key))
    return [
        _Part(program.decode(), int(failed), [_run(run) for run in sorted(listed, key=reference_order)])
        for (program, failed), listed in sorted(by_program.items())
    ]


def _run(run: SealedRun) -> _Run:
    """Return a run as it is stored in a seal."""
    if run.namespace:
        return _Run(run.start_ms, run.run, 1)
    return cast("_Run", _SharedRun(run.start_ms, run.run))


def reference_order(run: SealedRun) -> tuple[int, bytes]:
    """Return the key that sorts runs like references: newest first, then by their segment."""
    return -run.start_ms, run_segment(run.run, run.namespace)


def token_of(row: Row, day: int) -> bytes | None:
    """Return a day's token in a calendar row, or None without one: then no run of the day is committed."""
    cell = row.get(calendars.day_column(calendars.TOKEN, day))
    return None if cell is None else cell.value


def sealed_day(row: Row, day: int, kind: bytes = calendars.SEAL) -> tuple[DayRuns, ...] | None:
    """Return the runs of a day by program from its seal, or None without a valid seal.

    The kind STARTS lists all runs. Raises CorruptRow.
    """
    token = token_of(row, day)
    seal = row.get(calendars.day_column(kind, day))
    if token is None or seal is None or not has_token(seal.value, token):
        return None
    return decode_seal(seal.value, day)


def has_token(seal: bytes, token: bytes) -> bool:
    """Return whether a seal was put with this token."""
    return seal.startswith(b'["%b"' % token)


def decode_seal(value: bytes, day: int) -> tuple[DayRuns, ...]:
    """Return the runs of a day by program from a seal's value, for any token. Raises CorruptRow."""
    try:
        cell = typed_json.decode(value, _Cell)
    except msgspec.MsgspecError as error:
        raise CorruptRow(f"{value[:100]!r} is not a seal: {error}") from error
    begin_ms = day * DAY_MS
    return tuple(
        DayRuns(
            part.program.encode(),
            bool(part.failed),
            _sealed_runs(part, begin_ms),
            part.count or len(part.runs),
        )
        for part in cell.parts
    )


def _sealed_runs(part: _Part, begin_ms: int) -> list[SealedRun]:
    """Return the runs of a part of a seal whose day begins at `begin_ms`. Raises CorruptRow."""
    namespaces = "", unescape(part.program.partition("|")[0].encode())
    return [
        _sealed_run((begin_ms + run.start_ms, run.run, namespaces[run.is_scoped > 0])) for run in part.runs
    ]
