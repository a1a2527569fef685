"""Which fields run from one stage to the next, and which operation made each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fll_hbase.errors import TooLarge
from fll_hbase.model.operations import InputField

Origins = tuple[InputField, ...]
"""Where a field comes from: of several places where stages meet, of none where that is not known."""

TAKEN_MAX = 50_000
"""Inputs that no stage names and that are put in for it, beyond as many as the config names fields."""

COPIED_MAX = 5_000_000
"""Fields handed on to more than one stage, all in all."""


@dataclass(slots=True)
class Flow:
    """The fields after a stage.

    `alive` are sure to be there, and are all there is where `whole`. `origins` also has fields that are gone
    or may be: who asks for one by name gets it. `roots` are the READs behind it all, `open` those of them
    whose fields are not known; `records` tell the fields inside each record.
    """

    origins: dict[str, Origins] = field(default_factory=dict)
    alive: dict[str, None] = field(default_factory=dict)
    whole: bool = True
    roots: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        """What it takes to copy it."""
        return len(self.origins) + len(self.alive) + len(self.roots)

    def copy(self) -> Flow:
        """The same, its own."""
        return Flow(dict(self.origins), dict(self.alive), self.whole, self.roots, self.open, self.records)

    def make(self, name: str, origins: Origins) -> None:
        """A field is there from now on, in the place of one of that name."""
        self.origins[name] = origins
        self.alive[name] = None

    def everything(self) -> Origins:
        """All that is alive and of known origin."""
        return tuple(taken for name in self.alive for taken in self.origins.get(name, ()))


def together(flows: Collection[Flow]) -> Flow:
    """The fields of several stages: one of the same name in more than one comes from all of them."""
    union = Flow(
        whole=all(flow.whole for flow in flows),
        roots=tuple(dict.fromkeys(root for flow in flows for root in flow.roots)),
        open=tuple(dict.fromkeys(root for flow in flows for root in flow.open)),
        records={name: paths for flow in flows for name, paths in flow.records.items()},
    )
    for flow in flows:
        union.alive |= flow.alive
    gone = ({name: flow.origins[name] for name in flow.origins.keys() - union.alive.keys()} for flow in flows)
    here = ({name: flow.origins[name] for name in flow.alive} for flow in flows)
    union.origins = _united(gone) | _united(here)
    return union


def _united(each: Iterable[Mapping[str, Origins]]) -> dict[str, Origins]:
    """Per field all the places it comes from."""
    found: dict[str, Origins] = {}
    several: dict[str, dict[InputField, None]] = {}
    for origins_of in each:
        for name, origins in origins_of.items():
            if found.setdefault(name, origins) != origins:
                several.setdefault(name, dict.fromkeys(found[name])).update(dict.fromkeys(origins))
    return found | {name: tuple(origins) for name, origins in several.items()}


@dataclass(slots=True)
class Budget:
    """How much may still be put in or copied for a config, so that a short one makes no endless work."""

    taken: int = TAKEN_MAX
    copied: int = COPIED_MAX

    def take(self, count: int) -> None:
        """Raises TooLarge where all stages together take more than a run may hold."""
        self.taken -= count
        if self.taken < 0:
            raise TooLarge(
                "sinks and stages without operations take too many fields that no operation names: more than "
                f"{TAKEN_MAX} beyond those of schemas; give them operations, or record the pipeline in parts"
            )

    def copy(self, count: int) -> None:
        """Raises TooLarge likewise."""
        self.copied -= count
        if self.copied < 0:
            raise TooLarge(
                f"the stages hand on more than {COPIED_MAX} fields; give stages a schema, or record the "
                "pipeline in parts"
            )
