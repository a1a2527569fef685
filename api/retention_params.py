"""Query parameters of retention requests."""

from __future__ import annotations

from math import ceil
from typing import Any

import marshmallow as ma
from marshmallow import ValidationError

from api.query_params import FlagParam, NoParams, TimeParam, now_ms
from fll_hbase.model.window import START_LIMIT_MS


class RetentionRequestParams(NoParams):
    """The time before which runs are to go, loaded as `before_ms`; explicit, and not in the future."""

    before_s = TimeParam(
        data_key="before",
        required=True,
        metadata={"description": "Runs that started before go: epoch seconds, ISO 8601 or `now-400d`"},
    )
    dry_run = FlagParam(
        data_key="dryRun", load_default=False, metadata={"description": "Store nothing; report the result"}
    )

    @ma.post_load
    def _load_before(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        # Rounded up, as the bounds of windows are.
        before_ms = ceil(data.pop("before_s") * 1000)
        if before_ms > min(now_ms(), START_LIMIT_MS):
            raise ValidationError({"before": ["is in the future: no run can have started since"]})
        return {**data, "before_ms": before_ms}
