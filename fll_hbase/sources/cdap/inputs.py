"""Where does a stage take a field from: by its name alone, or by `stage.name` where several lead to it."""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.model.operations import InputField
from fll_hbase.sources.cdap.config import Role, Stage
from fll_hbase.sources.cdap.field_flow import Flow, Origins
from fll_hbase.sources.cdap.flatten_state import Run


class Taking:
    """The fields in reach of one stage: `flow`, which changes as it works, and those of each stage before.

    A stage that names the stages it takes from joins, whatever its type.
    """

    def __init__(self, run: Run, stage: Stage) -> None:
        self._run = run
        self._sides = run.before(stage)
        made = {field.name for one in stage.declared for field in one.outputs}
        names = (name for one in stage.declared for name in one.input_names if name not in made)
        self.joining = len(self._sides) > 1 and (
            stage.role is Role.JOINER or any(map(self._names_a_side, names))
        )
        self.flow = run.entering(stage, self._sides, merging=not self.joining)
        if self.joining and stage.declared:
            self.flow.alive, self.flow.whole = {}, False

    @property
    def first(self) -> bool:
        """Whether no stage leads here."""
        return not self._sides

    def given(self, name: str) -> bool:
        """Whether a field is among those that are here, as far as that is known."""
        flow, own = self._place(name)
        return not flow.whole or own in flow.alive or own in flow.records

    def origins(self, name: str) -> Origins:
        """Where a field comes from that an operation names; as a last resort, the one READ behind the stage.

        It may be gone, or not be in the schema of a stage before. Empty where nothing is known of it.
        """
        flow, own = self._place(name)
        if own not in flow.origins and own in flow.records:
            return self._all(flow, flow.records[own])
        found = self._known(flow, own)
        if not found and own not in flow.origins and len(flow.roots) == 1:
            return (InputField(flow.roots[0], own),)
        return found

    def expected(self, name: str) -> Origins:
        """Where a field comes from that a schema names; empty where it does not reach the stage."""
        if name in self.flow.alive or not self.flow.whole:
            return self._known(self.flow, name)
        return ()

    def _known(self, flow: Flow, name: str) -> Origins:
        return flow.origins[name] if name in flow.origins else self._run.ask(flow.open, name)

    def _all(self, flow: Flow, names: Iterable[str]) -> Origins:
        return tuple(taken for name in names for taken in self._known(flow, name))

    def _place(self, name: str) -> tuple[Flow, str]:
        """The fields that a name is looked for in, and the name it has there.

        Where stages join, one that a stage before goes by is that stage's, whatever is made of that name.
        """
        side = self._side(name)
        if side is None or (name in self.flow.alive and not self.joining):
            return self.flow, name
        if len(self._sides) > 1:
            return side
        return self.flow, name if name in self.flow.origins else side[1]

    def _side(self, name: str) -> tuple[Flow, str] | None:
        """The stage before that a name begins with, and the rest; stages and fields may have dots in them."""
        found = None
        at = name.find(".")
        while at != -1:
            flow, rest = self._sides.get(name[:at]), name[at + 1 :]
            if flow is not None and rest and (found is None or rest in flow.origins):
                found = flow, rest
            at = name.find(".", at + 1)
        return found

    def _names_a_side(self, name: str) -> bool:
        return self._side(name) is not None and not any(name in flow.alive for flow in self._sides.values())
