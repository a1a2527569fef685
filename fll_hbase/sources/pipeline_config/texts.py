"""What do the texts of a config come to: names and schemas with their macros replaced."""

from __future__ import annotations

from typing import Any

from fll_hbase.errors import Fault
from fll_hbase.sources.checks import Checks
from fll_hbase.sources.pipeline_config import schemas
from fll_hbase.sources.pipeline_config.macros import Macros
from fll_hbase.sources.pipeline_config.schemas import NoSchema, Schema

_SHOWN = 200


class Texts:
    """Reads texts; what cannot be known is told as a warning. One schema may stand at many stages."""

    def __init__(self, checks: Checks, macros: Macros) -> None:
        self._checks = checks
        self._macros = macros
        self._schemas: dict[str, Schema | NoSchema] = {}

    def name(self, text: str, at: str, *, bytes_max: int) -> str:
        """A name; empty where macros leave none, and the caller's next best name has to do."""
        found = self._macros.resolve(text)
        if found.unresolved:
            self._warn(at, f"{_unresolved(found.unresolved)}; the name is not known")
            return ""
        if len(found.said.encode()) > bytes_max:
            self._warn(at, f"is longer than {bytes_max} bytes; the name is not known")
            return ""
        return found.said

    def schema(self, said: object, at: str) -> Schema | None:
        """A schema; None where there is none, or none that can be read."""
        if said is None or said == "":
            return None
        if isinstance(said, dict):
            return self._known(_parsed(said), at)
        text = self._macros.resolve(self._checks.name(said, at))
        if text.unresolved:
            self._warn(at, f"{_unresolved(text.unresolved)}; the fields are not known")
            return None
        if text.said not in self._schemas:
            self._schemas[text.said] = _parsed(text.said)
        return self._known(self._schemas[text.said], at)

    def _known(self, found: Schema | NoSchema, at: str) -> Schema | None:
        if isinstance(found, Schema):
            return found
        self._warn(at, f"no schema of a record: {found}; the fields are not known")
        return None

    def _warn(self, at: str, detail: str) -> None:
        self._checks.warnings.append(Fault(at, detail))


def _parsed(said: str | dict[str, Any]) -> Schema | NoSchema:
    try:
        return schemas.parse(said)
    except NoSchema as error:
        return error


def _unresolved(keys: tuple[str, ...]) -> str:
    told = ", ".join(f"${{{key}}}" for key in keys)
    return f"no argument is given for {told[:_SHOWN]}"
