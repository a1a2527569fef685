"""What do the texts of a config come to: names and schemas with their macros replaced."""

from __future__ import annotations

import json
from typing import Any

from fll_hbase.errors import FieldError
from fll_hbase.sources.cdap import record_schema
from fll_hbase.sources.cdap.macros import Macros
from fll_hbase.sources.cdap.record_schema import FIELD_TEXT_MIN, InvalidSchema, Schema, TooManyFields
from fll_hbase.sources.validation import Validator

SPARE_FIELDS_MAX = 5_000
"""Fields of all schemas together that records make which are said once and named elsewhere."""

_SHOWN = 200


class Texts:
    """Reads texts; what cannot be known is told as a warning. One schema may stand at many stages."""

    def __init__(self, checks: Validator, macros: Macros) -> None:
        self._checks = checks
        self._macros = macros
        self._schemas: dict[str, Schema | InvalidSchema] = {}
        self._spare = SPARE_FIELDS_MAX

    def name(self, text: str, at: str, *, bytes_max: int) -> str:
        """A name; empty where macros leave none, and the caller's next best name has to do."""
        found = self._macros.resolve(text)
        if found.unresolved:
            self._warn(at, f"{_unresolved(found.unresolved)}; the name is not known")
            return ""
        if len(found.text.encode()) > bytes_max:
            self._warn(at, f"is longer than {bytes_max} bytes; the name is not known")
            return ""
        return found.text

    def schema(self, said: object, at: str) -> Schema | None:
        """A schema; None where there is none, or none that can be read."""
        if said is None or said == "":
            return None
        if isinstance(said, dict):
            return self._known(self._parsed_object(said), at)
        text = self._macros.resolve(self._checks.name(said, at))
        if text.unresolved:
            self._warn(at, f"{_unresolved(text.unresolved)}; the fields are not known")
            return None
        if text.text not in self._schemas:
            self._schemas[text.text] = self._parsed(text.text)
        return self._known(self._schemas[text.text], at)

    def _parsed_object(self, said: dict[str, Any]) -> Schema | InvalidSchema:
        try:
            return self._parsed(json.dumps(said))
        except (RecursionError, ValueError, TypeError) as error:
            return InvalidSchema(str(error))

    def _parsed(self, text: str) -> Schema | InvalidSchema:
        try:
            found = record_schema.parse_schema(text, spare=self._spare)
        except InvalidSchema as error:
            self._spare = 0 if isinstance(error, TooManyFields) else self._spare
            return error
        self._spare = max(0, self._spare - max(0, len(found.types) - len(text) // FIELD_TEXT_MIN))
        return found

    def _known(self, found: Schema | InvalidSchema, at: str) -> Schema | None:
        if isinstance(found, Schema):
            return found
        self._warn(at, f"no schema of a record: {found}; the fields are not known")
        return None

    def _warn(self, at: str, detail: str) -> None:
        self._checks.warnings.append(FieldError(at, detail))


def _unresolved(keys: tuple[str, ...]) -> str:
    told = ", ".join(f"${{{key}}}" for key in keys)
    return f"no argument is given for {told[:_SHOWN]}"
