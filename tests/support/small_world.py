"""The world of a schedule: few datasets, contents, runs and times, so that they collide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store.query_parameters import WindowQuery

A, B, C = Dataset("n", "a"), Dataset("n", "b"), Dataset("n|a", "a|b")
DATASETS = (A, B, C)

DAY = 19_680
"""The first day of a period of the calendars, so that starts are in two periods."""

MIDNIGHT_MS = DAY * DAY_MS
STARTS_MS = tuple(
    MIDNIGHT_MS + offset
    for offset in (-DAY_MS, -DAY_MS // 2, -1, 0, 1, 5_000, DAY_MS // 2, DAY_MS - 1, DAY_MS, DAY_MS + 1)
)
"""Three days: first and last milliseconds, noons, and neighbours."""

EDGES_MS = tuple(sorted({start + more for start in STARTS_MS for more in (0, 1)}))
ALWAYS = Window(MIDNIGHT_MS - DAY_MS, MIDNIGHT_MS + 2 * DAY_MS)
RUNS = ("run-0", "run-1", "run/2|", "run-3", "run-4")
NAMESPACE = "n|2"
"""Of all programs: in another one a run of the same id is another run."""

COMMON = "x"
"""A field that every content reads from every source and writes to every destination."""


def _content(
    number: int, sources: tuple[Dataset, ...], destinations: tuple[Dataset, ...]
) -> FieldLineageInfo:
    """Build a content: every source gives `x` and a field of this content alone to every destination."""
    names = (COMMON, own_field(number))
    operations: list[Operation] = []
    for source in sources:
        fields = tuple(Field(name, "string") for name in names)
        operations.append(Read(f"read {source}", "", source, "", fields))
    for name in names if number % 2 else ():
        inputs = tuple(InputField(f"read {source}", name) for source in sources)
        operations.append(Transform(f"make {name}", "", inputs, (Field(name),)))
    for destination in destinations:
        origins = {name: [f"make {name}"] if number % 2 else [f"read {s}" for s in sources] for name in names}
        inputs_of_write = tuple(InputField(origin, name) for name in names for origin in origins[name])
        operations.append(Write(f"write {destination}", "", destination, "", inputs_of_write))
    return lineage.build_lineage(operations)


def own_field(number: int) -> str:
    return f"own-{number}"


CONTENTS = tuple(
    _content(number, sources, destinations)
    for number, (sources, destinations) in enumerate(
        (
            ((A,), (B,)),
            ((A,), (B,)),
            ((A,), (B,)),
            ((B,), (C,)),
            ((A,), (B, C)),
            ((A, B), (C,)),
            ((B,), (A,)),
            ((A,), (A,)),
        )
    )
)
ALIKE = 3
"""The first contents, this many, have the same datasets."""

BY_CHECKSUM = {info.checksum: info for info in CONTENTS}
OWN_FIELDS = {info.checksum: own_field(number) for number, info in enumerate(CONTENTS)}
FIELDS = tuple(OWN_FIELDS.values())


def endpoints_of(info: FieldLineageInfo, direction: Direction) -> tuple[Dataset, ...]:
    """Return the datasets that the content writes (backward) or reads (forward)."""
    return info.destinations if direction is Direction.BACKWARD else info.sources


@dataclass(frozen=True, slots=True)
class Question:
    """One dataset over one window, and the contents that touch `field`; with COMMON all of them do."""

    dataset: Dataset
    window: Window
    direction: Direction = Direction.BACKWARD
    field: str = COMMON

    @property
    def query(self) -> WindowQuery:
        return WindowQuery(self.direction, self.dataset, self.window)

    @property
    def dataset_field(self) -> DatasetField:
        return DatasetField(self.dataset, self.field)

    def admits(self, document: RecordedRun) -> bool:
        """Return whether a run belongs to the answer if this is its document."""
        run = document.run
        return (
            run.start_ms in self.window
            and (self.window.failed or not run.state.failed)
            and self.dataset in endpoints_of(document.info, self.direction)
            and self.field in (COMMON, OWN_FIELDS[document.info.checksum])
        )


class World:
    """The small part of all names and times that one schedule uses; a narrow one moves few runs about."""

    def __init__(self, random: Random, *, is_narrow: bool = False) -> None:
        self._random = random
        size_max = random.choice((1, 2, 2, 4))
        self._runs = RUNS[: random.randint(1, 2 if is_narrow else size_max + 1)]
        # Often two of one day, so that a horizon cuts it.
        starts = random.choice((STARTS_MS, STARTS_MS[3:8])) if is_narrow else STARTS_MS
        self._starts = random.sample(starts, 2 if is_narrow else random.randint(1, size_max))
        self._none_expire = 0.2 if is_narrow else 0.5
        alike = is_narrow or random.random() < 0.5
        self._contents = random.sample(
            CONTENTS[:ALIKE] if alike else CONTENTS,
            random.randint(1, 2 if is_narrow else min(size_max + 1, ALIKE)),
        )
        self._versions = random.choice((("1",), ("1", "2")))
        self._states = random.choice(
            ((State.COMPLETE,), (State.COMPLETE, State.COMPLETE, State.FAIL, State.RUNNING, State.ABORT))
        )

    def document(self) -> RecordedRun:
        pick = self._random.choice
        run, start, state = pick(self._runs), pick(self._starts), pick(self._states)
        version = pick(self._versions)
        # No draw of its own: the schedules of seeds stay as they are.
        program_run = ProgramRun(NAMESPACE, "app", version, "t", "p", run, start, state)
        return RecordedRun(program_run, pick(self._contents))

    def question(self) -> Question:
        """Draw a question, mostly about a dataset of some content of this schedule."""
        pick = self._random.choice
        info, direction, failed = pick(self._contents), pick(list(Direction)), pick((False, True))
        dataset = pick(endpoints_of(info, direction)) if self._random.random() < 0.95 else pick(DATASETS)
        field = COMMON if self._random.random() < 0.7 else pick(FIELDS)
        return Question(dataset, replace(self.window(), failed=failed), direction, field)

    def everything(self) -> list[Question]:
        """Return questions over all time, about every dataset and direction of this schedule's contents."""
        pairs = {(end, d) for info in self._contents for d in Direction for end in endpoints_of(info, d)}
        in_order = sorted(pairs, key=lambda item: (item[0], item[1].value))
        return [
            Question(end, replace(ALWAYS, failed=self._random.random() < 0.5), direction)
            for end, direction in in_order
        ]

    def policy(self) -> RetentionPolicy:
        """Draw a policy: mostly none, else a start of some run, or the next millisecond, for all or some."""
        kind = self._random.random()
        if kind < self._none_expire:
            return RetentionPolicy()
        before_ms = self._random.choice(self._starts) + self._random.randint(0, 1)
        if kind < (1 + self._none_expire) / 2:
            return RetentionPolicy(before_ms)
        datasets = self._random.sample(DATASETS, self._random.randint(1, 2))
        return RetentionPolicy(datasets_ms=dict.fromkeys(datasets, before_ms))

    def window(self) -> Window:
        """Draw a window: all time, whole days, or any; edges are mostly starts of runs."""
        kind = self._random.random()
        if kind < 0.4:
            return ALWAYS
        if kind < 0.6:
            first, last = sorted(self._random.choices(range(-1, 3), k=2))
            return Window(MIDNIGHT_MS + first * DAY_MS, MIDNIGHT_MS + last * DAY_MS + DAY_MS)
        edges = [*EDGES_MS, *(start + more for start in self._starts for more in (0, 1) for _ in range(5))]
        return Window(*sorted(self._random.choices(edges, k=2)))
