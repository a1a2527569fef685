"""Query parameters: each is checked and may occur once; unknown ones are refused."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any
from urllib.parse import quote

import marshmallow as ma
from flask import Request, g
from marshmallow import ValidationError
from webargs.flaskparser import FlaskParser

from fll_hbase.model.window import Window
from fll_hbase.queries import time_window
from fll_hbase.runtime import clock
from fll_hbase.runtime.errors import ErrorList, FieldError, InvalidQuery

from .paths import decode_percent
from .responses import epoch_seconds

# int() also accepts `1_0`, `+1` and digits of other scripts, and refuses more than 4,300 digits.
_DIGITS = re.compile(r"[0-9]{1,1000}", re.ASCII)


class TimeParam(ma.fields.String):
    """Epoch seconds, ISO 8601 or `now` arithmetic; loaded as exact seconds since 1970."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        """Return a time, which may be relative to now, in seconds since 1970. Raises ValidationError."""
        try:
            return time_window.parse_seconds(str(value), now_ms=now_ms())
        except ValueError as error:
            raise ValidationError(str(error)) from error


class CountParam(ma.fields.Integer):
    """A whole number of at most 1,000 ASCII digits, without a sign."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        """Return the number. Raises ValidationError for anything but 1 to 1,000 ASCII digits."""
        if not _DIGITS.fullmatch(str(value)):
            raise ValidationError(f"{str(value)[:100]!r} is not a whole number")
        return int(value)


class FlagParam(ma.fields.Boolean):
    """`true` or `false`."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        """Return the bool. Raises ValidationError for anything but `true` and `false`."""
        # marshmallow's Boolean also accepts `1`, `yes` and `On`, but the contract is case-sensitive.
        if value not in ("true", "false"):
            raise ValidationError(f"{str(value)[:100]!r} is neither `true` nor `false`")
        return bool(value == "true")


class FixedSchema(ma.Schema):
    """An immutable schema, whose deep copy is the schema itself.

    flask-smorest copies the documentation of a route, with all of its schemas, for each of its decorators,
    which would take most of the start of a server.
    """

    def __deepcopy__(self, memo: object) -> FixedSchema:
        return self


class NoParams(FixedSchema):
    """No parameters at all."""

    class Meta:
        # Ignoring a misspelt parameter would answer another query than the client meant.
        unknown = ma.RAISE


class PutPolicyParams(NoParams):
    """Parameter `allowUnknown`: the policy may name a tag that no field has, or a field never recorded."""

    allow_unknown = FlagParam(
        data_key="allowUnknown",
        load_default=False,
        metadata={"description": "Also on a tag that no field has, or a field that was never recorded"},
    )


class RecordParams(NoParams):
    """Parameter `dryRun`: store nothing and report the result."""

    dry_run = FlagParam(
        data_key="dryRun", load_default=False, metadata={"description": "Store nothing; report the result"}
    )


class RecordRunParams(RecordParams):
    """Parameters `dryRun`, and `replace`: a run may replace a run of another program with the same id."""

    replace = FlagParam(
        load_default=False,
        metadata={"description": "Replace a run that another program recorded under the same id"},
    )


class QueryParser(FlaskParser):
    """webargs' parser with the query strings of the contract; raises InvalidQuery for invalid ones."""

    # webargs' default, 422, would be documented for every route, but means invalid lineage here.
    DEFAULT_VALIDATION_STATUS = 400
    # None leaves unknown parameters to the schema; webargs would drop them from a query.
    DEFAULT_UNKNOWN_BY_LOCATION = {"query": None}  # noqa: RUF012 (as in the class it overrides)

    def load_querystring(self, req: Request, schema: ma.Schema) -> dict[str, str]:
        """Return the parameters of the query string as text, by name, also kept as `g.query_params`.

        Raises InvalidQuery, with the errors of the schema too, if any is unknown, repeated or not decodable.
        """
        # werkzeug's `args` hides repeated parameters and broken escapes.
        names = {field.data_key or name for name, field in schema.fields.items()}
        g.query_params, errors = parse_query_string(req.environ.get("QUERY_STRING", ""), names)
        if errors:
            # A parameter that cannot be decoded would also be reported as missing.
            paths = {error.path for error in errors}
            schema_errors = _field_errors(schema.validate(g.query_params))
            raise InvalidQuery([*errors, *(error for error in schema_errors if error.path not in paths)])
        return dict(g.query_params)

    def handle_error(self, error: ValidationError, *_: Any, **__: Any) -> Any:
        """Raise InvalidQuery with the errors of the schema."""
        raise InvalidQuery(_field_errors(error.messages_dict.get("query", {}))) from error


def parse_query_string(raw: str, names: Set[str]) -> tuple[dict[str, str], ErrorList]:
    """Return the decoded parameters whose names are in `names`, and an error for every other pair.

    An unknown name, a broken escape, invalid UTF-8 and each repetition of a name are errors; the first value
    of a repeated name is returned. A name without `=` has the value "". An empty text returns no parameters.
    Pairs after ERRORS_COUNTED_MAX errors are not read.
    """
    errors = ErrorList()
    params: dict[str, str] = {}
    valid_names = f"parameters here: {', '.join(sorted(names)) or 'none'}"
    for pair in filter(None, raw.split("&")):
        if errors.is_full:
            break
        name, _, value = pair.partition("=")
        try:
            name, value = (decode_percent(_to_ascii(text).replace("+", " ")) for text in (name, value))
        except ValueError as error:
            errors.append(FieldError(name, str(error)))
            continue
        if name not in names:
            errors.append(FieldError(name, f"unknown parameter; {valid_names}"))
        elif name in params:
            errors.append(FieldError(name, f"given more than once; {valid_names}"))
        else:
            params[name] = value
    return params, errors


def _field_errors(messages: dict[Any, Any]) -> list[FieldError]:
    """Return marshmallow's messages by parameter as errors, sorted by name."""
    return [FieldError(str(name), " ".join(map(str, texts))) for name, texts in sorted(messages.items())]


def window_params(window: Window) -> dict[str, str]:
    """Return a window as the parameters `start` and `end`, in epoch seconds with milliseconds."""
    # Not the texts of the query: in a link, `now` would mean a later time, and pages would not match.
    return {"start": epoch_seconds(window.start_ms), "end": epoch_seconds(window.stop_ms)}


def _to_ascii(text: str) -> str:
    """Return WSGI text with bytes beyond ASCII and unsafe characters escaped; escapes and `+` stay."""
    # As in `path_params`: WSGI strings are bytes as latin-1, and clients may send UTF-8 without escapes.
    return quote(text.encode("latin-1", "replace"), safe="%+/:@!$'()*,;?=-._~")


def now_ms() -> int:
    """Return the time of the first call in this request, in milliseconds since 1970."""
    # Read once: `start` and `end` of one window must mean the same `now`.
    if "now_ms" not in g:
        g.now_ms = clock.now_ms()
    return int(g.now_ms)
