"""Query parameters of recent activity."""

from __future__ import annotations

from math import ceil
from typing import Any

import marshmallow as ma
from marshmallow import validate

from ..observability.recent_activity import REFUSED, WARNED
from ..wire.query_params import CountParam, NoParams, TimeParam, now_ms

DEFAULT_MS = 3_600_000
"""The last hour."""

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000


class ActivityParams(NoParams):
    """Documents since a time, loaded as `since_ms`; `outcome` is None for all."""

    since_s = TimeParam(
        data_key="since",
        load_default=None,
        metadata={"description": "Epoch seconds, ISO 8601 or `now-5m`; default `now-1h`"},
    )
    outcome = ma.fields.String(
        load_default=None,
        validate=validate.OneOf(["accepted", WARNED, REFUSED]),
        metadata={"description": "Only documents that were accepted, accepted with warnings, or refused"},
    )
    limit = CountParam(
        load_default=LIMIT_DEFAULT,
        validate=validate.Range(min=1, max=LIMIT_MAX),
        metadata={"minimum": 1, "maximum": LIMIT_MAX},
    )

    @ma.post_load
    def _load_since(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        since_s = data.pop("since_s")
        return {**data, "since_ms": now_ms() - DEFAULT_MS if since_s is None else ceil(since_s * 1000)}
