"""What does a question ask: query parameters, each checked, each at most once, unknown ones refused."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any
from urllib.parse import quote

import marshmallow as ma
import msgspec
from flask import Request, g
from marshmallow import ValidationError, validate
from webargs.flaskparser import FlaskParser

from api.path_params import decoded
from fll_hbase import clock, time_window
from fll_hbase.errors import FieldError, InvalidQuery
from fll_hbase.model.runs import Direction, Window
from fll_hbase.store.lineage_store import BOTH

_WHOLE = re.compile(r"[0-9]{1,1000}", re.ASCII)


class Moment(ma.fields.String):
    """Epoch seconds, or a sum of `now` and durations."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        try:
            time_window.seconds(str(value), now_ms=now_ms())
        except ValueError as error:
            raise ValidationError(str(error)) from error
        return str(value)


class Count(ma.fields.Integer):
    """A whole number in digits."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not _WHOLE.fullmatch(str(value)):
            raise ValidationError(f"{str(value)[:100]!r} is no whole number")
        return int(value)


class Flag(ma.fields.Boolean):
    """`true` or `false`."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise ValidationError(f"{str(value)[:100]!r} is neither `true` nor `false`")
        return bool(value == "true")


class NoQuery(ma.Schema):
    """No parameters at all."""

    class Meta:
        unknown = ma.RAISE


class WindowQuery(NoQuery):
    """The window asked about, on the start of runs: `start` is in, `end` is out."""

    start = Moment(
        load_default=None, metadata={"description": "Epoch seconds or `now-7d`; default `now-30d`"}
    )
    end = Moment(load_default=None, metadata={"description": "Epoch seconds or `now`; default `now`"})

    @ma.validates_schema(skip_on_field_errors=False)
    def _in_order(self, data: dict[str, Any], **_: Any) -> None:
        """Told beside the faults of other parameters; nothing to say where a time cannot be read."""
        if "start" in data and "end" in data:
            try:
                time_window.window(data["start"], data["end"], now_ms=now_ms())
            except InvalidQuery as error:
                raise ValidationError({fault.path: [fault.detail] for fault in error.errors}) from error

    @ma.post_load
    def _window(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        start, end = data.pop("start"), data.pop("end")
        return {**data, "window": time_window.window(start, end, now_ms=now_ms())}


class RunsOfWindowQuery(WindowQuery):
    failed = Flag(load_default=False, metadata={"description": "Take failed and aborted runs too"})


class LineageQuery(RunsOfWindowQuery):
    level = Count(
        load_default=1, validate=validate.Range(min=1), metadata={"description": "Hops", "minimum": 1}
    )
    direction = ma.fields.String(
        load_default="both", validate=validate.OneOf(["both", *(direction.value for direction in Direction)])
    )
    indirect = Flag(load_default=True, metadata={"description": "Show indirect influence too"})

    @ma.post_load
    def _directions(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        asked = data.pop("direction")
        return {**data, "directions": BOTH if asked == "both" else (Direction(asked),)}


class FieldLineageQuery(RunsOfWindowQuery):
    direction = ma.fields.Enum(Direction, by_value=True, load_default=Direction.BACKWARD)
    view = ma.fields.String(load_default="detailed", validate=validate.OneOf(["detailed", "simple"]))
    indirect = Flag(load_default=True, metadata={"description": "Show indirect influence too"})


class PageQuery(NoQuery):
    limit = Count(load_default=None, validate=validate.Range(min=1), metadata={"minimum": 1})
    cursor = ma.fields.String(load_default=None, metadata={"description": "From the link to the next page"})


class NamesQuery(PageQuery):
    prefix = ma.fields.String(load_default="", metadata={"description": "What names begin with"})


class SearchQuery(PageQuery):
    q = ma.fields.String(
        required=True,
        validate=validate.Length(min=1),
        metadata={"description": "What names hold, in any case"},
    )


class RunsQuery(WindowQuery, PageQuery):
    pass


class RecordQuery(NoQuery):
    dry_run = Flag(
        data_key="dryRun", load_default=False, metadata={"description": "Store nothing, tell what would be"}
    )


class Parser(FlaskParser):
    """Query parameters as the contract has them; errors are InvalidQuery."""

    DEFAULT_VALIDATION_STATUS = 400
    DEFAULT_UNKNOWN_BY_LOCATION = {"query": None}  # noqa: RUF012 (as in the class it overrides)

    def load_querystring(self, req: Request, schema: ma.Schema) -> dict[str, str]:
        known = {field.data_key or name for name, field in schema.fields.items()}
        g.asked, faults = parsed(req.environ.get("QUERY_STRING", ""), known)
        if faults:
            told = {fault.path for fault in faults}
            others = _told(schema.validate(g.asked))
            raise InvalidQuery([*faults, *(fault for fault in others if fault.path not in told)])
        return dict(g.asked)

    def handle_error(self, error: ValidationError, *_: Any, **__: Any) -> Any:
        raise InvalidQuery(_told(error.messages_dict.get("query", {}))) from error


def parsed(raw: str, known: set[str]) -> tuple[dict[str, str], list[FieldError]]:
    """The parameters of a query string, and what is wrong with it as such."""
    faults: list[FieldError] = []
    given: dict[str, str] = {}
    knows = f"this question knows {', '.join(sorted(known)) or 'none'}"
    for piece in filter(None, raw.split("&")):
        name, _, value = piece.partition("=")
        try:
            name, value = (decoded(_ascii(text).replace("+", " ")) for text in (name, value))
        except ValueError as error:
            faults.append(FieldError(name, str(error)))
            continue
        if name not in known:
            faults.append(FieldError(name, f"is no parameter; {knows}"))
        elif name in given:
            faults.append(FieldError(name, f"is given more than once; {knows}"))
        else:
            given[name] = value
    return given, faults


def _told(messages: dict[Any, Any]) -> list[FieldError]:
    return [FieldError(str(name), " ".join(map(str, told))) for name, told in sorted(messages.items())]


def cursor(*parts: str) -> str:
    """What a next page begins beyond, as an opaque text."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def beyond(text: str | None, count: int) -> list[str] | None:
    """The parts of a cursor. Raises InvalidQuery for what no link gave."""
    if text is None:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        parts = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=list[str])
    except (binascii.Error, ValueError) as error:
        raise _bad_cursor() from error
    if len(parts) != count:
        raise _bad_cursor()
    return parts


def _bad_cursor() -> InvalidQuery:
    return InvalidQuery(
        [FieldError("cursor", "comes from no link to a next page; leave it out to begin anew")]
    )


def asked_seconds(window: Window) -> dict[str, str]:
    """A window as parameters, so that the next page asks about the very same one."""
    return {
        name: f"{milliseconds // 1000}.{milliseconds % 1000:03d}"
        for name, milliseconds in (("start", window.start_ms), ("end", window.stop_ms))
    }


def _ascii(text: str) -> str:
    return quote(text.encode("latin-1", "replace"), safe="%+/:@!$'()*,;?=-._~")


def now_ms() -> int:
    """One moment for all times of a question."""
    if "now_ms" not in g:
        g.now_ms = clock.now_ms()
    return int(g.now_ms)
