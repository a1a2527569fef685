"""Query parameters of reports."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from marshmallow import validate

from .query_params import FlagParam, PageParams, WindowWithFailedParams


def _name(description: str) -> ma.fields.String:
    return ma.fields.String(
        required=True, validate=validate.Length(min=1), metadata={"description": description}
    )


class _ReportParams(WindowWithFailedParams):
    """The field and the window of a report."""

    namespace = _name("Namespace of the dataset")
    endpoint = _name("Name of the dataset")
    field = _name("Name of the field")
    causal = FlagParam(
        load_default=True,
        metadata={"description": "Only what a value can have taken, by the starts of the runs on its way"},
    )


def _part(*members: str) -> Any:
    return ma.fields.String(
        load_default=members[0],
        validate=validate.OneOf(members),
        metadata={"description": "The part of the report that is returned as CSV"},
    )


class ConsumptionParams(_ReportParams, PageParams):
    """A consumption report with a page of runs."""

    part = _part("derived", "programs", "runs")


class ProvenanceParams(_ReportParams):
    """A provenance report."""

    part = _part("sources", "upstream", "stretches")
