"""Query parameters of diffs."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from marshmallow import ValidationError

from fll_hbase.queries import time_window
from fll_hbase.queries.base_window import base_window
from fll_hbase.runtime.errors import InvalidQuery

from .query_params import FlagParam, TimeParam, WindowWithFailedParams, now_ms

_TIMES = {"start", "end", "base_start", "base_end"}


class DiffParams(WindowWithFailedParams):
    """A window, and the times of the base window that it is compared with; None for a default."""

    indirect = FlagParam(load_default=True, metadata={"description": "Include indirect dependencies"})

    base_start = TimeParam(
        data_key="baseStart",
        load_default=None,
        metadata={
            "description": "Start of the base window, included; default as long before `baseEnd` as the"
            " window is"
        },
    )
    base_end = TimeParam(
        data_key="baseEnd",
        load_default=None,
        metadata={"description": "End of the base window, excluded; default `start`"},
    )

    @ma.validates_schema(skip_on_field_errors=False)
    def _check_base(self, data: dict[str, Any], **_: Any) -> None:
        """Raise ValidationError, by parameter, for a base window that ends before it starts."""
        # A time that could not be parsed is missing here, and is reported already.
        if not data.keys() >= _TIMES:
            return
        try:
            window = time_window.to_window(data["start"], data["end"], now_ms=now_ms())
        except InvalidQuery:
            # Reported by `WindowParams`; without the window the base window has no defaults.
            return
        try:
            base_window(window, data["base_start"], data["base_end"])
        except InvalidQuery as error:
            raise ValidationError({item.path: [item.detail] for item in error.errors}) from error
