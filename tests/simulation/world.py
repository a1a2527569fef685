"""What is recorded and asked about: few end points, contents, runs and times, so that they collide."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window

A, B, C = Dataset("n", "a"), Dataset("n", "b"), Dataset("n|a", "a|b")
END_POINTS = (A, B, C)

DAY = 19_675
MIDNIGHT_MS = DAY * DAY_MS
STARTS_MS = tuple(
    MIDNIGHT_MS + offset
    for offset in (-DAY_MS, -DAY_MS // 2, -1, 0, 1, 5_000, DAY_MS // 2, DAY_MS - 1, DAY_MS, DAY_MS + 1)
)
"""Three days: first and last milliseconds, noons, and neighbours."""

EDGES_MS = tuple(sorted({start + more for start in STARTS_MS for more in (0, 1)}))
ALWAYS = Window(MIDNIGHT_MS - DAY_MS, MIDNIGHT_MS + 2 * DAY_MS)
RUNS = ("run-0", "run-1", "run/2|", "run-3", "run-4")
COMMON = "x"
"""The field that every content reads from every source and writes to every destination."""


def _content(
    number: int, sources: tuple[Dataset, ...], destinations: tuple[Dataset, ...]
) -> FieldLineageInfo:
    """Every source gives `x` and a field of this content alone to every destination, by that very name."""
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
        taken = tuple(InputField(origin, name) for name in names for origin in origins[name])
        operations.append(Write(f"write {destination}", "", destination, "", taken))
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
"""So many of them, the first, are about the same end points."""

BY_CHECKSUM = {info.checksum: info for info in CONTENTS}
OWN_FIELDS = {info.checksum: own_field(number) for number, info in enumerate(CONTENTS)}
FIELDS = tuple(OWN_FIELDS.values())


def ends(info: FieldLineageInfo, direction: Direction) -> tuple[Dataset, ...]:
    """What the content writes (backward) or reads (forward)."""
    return info.destinations if direction is Direction.BACKWARD else info.sources


@dataclass(frozen=True, slots=True)
class Question:
    """One end point over one window; of the contents those that touch `field`, which is all where COMMON."""

    end_point: Dataset
    window: Window
    failed: bool
    direction: Direction = Direction.BACKWARD
    field: str = COMMON

    @property
    def end_point_field(self) -> DatasetField:
        return DatasetField(self.end_point, self.field)

    def admits(self, document: RecordedRun) -> bool:
        """Whether a run that is what this document says belongs to the answer."""
        run = document.run
        return (
            run.start_ms in self.window
            and (self.failed or not run.state.failed)
            and self.end_point in ends(document.info, self.direction)
            and self.field in (COMMON, OWN_FIELDS[document.info.checksum])
        )


class World:
    """The small part of all names and times that one schedule uses."""

    def __init__(self, random: Random) -> None:
        self._random = random
        most = random.choice((1, 2, 2, 4))
        self._runs = RUNS[: random.randint(1, most + 1)]
        self._starts = random.sample(STARTS_MS, random.randint(1, most))
        alike = random.random() < 0.5
        self._contents = random.sample(
            CONTENTS[:ALIKE] if alike else CONTENTS, random.randint(1, min(most + 1, ALIKE))
        )
        self._versions = random.choice((("1",), ("1", "2")))
        self._states = random.choice(
            ((State.COMPLETE,), (State.COMPLETE, State.COMPLETE, State.FAIL, State.RUNNING, State.ABORT))
        )

    def document(self) -> RecordedRun:
        pick = self._random.choice
        run, start, state = pick(self._runs), pick(self._starts), pick(self._states)
        program_run = ProgramRun("n", "app", pick(self._versions), "t", "p", run, start, state)
        return RecordedRun(program_run, pick(self._contents))

    def question(self) -> Question:
        """Mostly about an end point that some content of this schedule names."""
        pick = self._random.choice
        info, direction, failed = pick(self._contents), pick(list(Direction)), pick((False, True))
        end_point = pick(ends(info, direction)) if self._random.random() < 0.95 else pick(END_POINTS)
        field = COMMON if self._random.random() < 0.7 else pick(FIELDS)
        return Question(end_point, self.window(), failed, direction, field)

    def everything(self) -> list[Question]:
        """All time, of every end point in every direction that some content of this schedule names."""
        named = {(end, d) for info in self._contents for d in Direction for end in ends(info, d)}
        in_order = sorted(named, key=lambda item: (item[0], item[1].value))
        return [Question(end, ALWAYS, self._random.random() < 0.5, direction) for end, direction in in_order]

    def horizon_ms(self) -> int:
        """Mostly none, else a start of some run, or the next millisecond."""
        if self._random.random() < 0.6:
            return 0
        return self._random.choice(self._starts) + self._random.randint(0, 1)

    def window(self) -> Window:
        """All time, whole days, or any; edges are mostly starts of runs, or the next millisecond."""
        kind = self._random.random()
        if kind < 0.4:
            return ALWAYS
        if kind < 0.6:
            first, last = sorted(self._random.choices(range(-1, 3), k=2))
            return Window(MIDNIGHT_MS + first * DAY_MS, MIDNIGHT_MS + last * DAY_MS + DAY_MS)
        edges = [*EDGES_MS, *(start + more for start in self._starts for more in (0, 1) for _ in range(5))]
        return Window(*sorted(self._random.choices(edges, k=2)))
