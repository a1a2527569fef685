"""What do all groups of routes share: the strict query parser, and the problems that any route may answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import flask_smorest
from flask import current_app

from api.openapi.schemas import ProblemSchema
from api.problems import MEDIA_TYPE
from api.query_params import Parser
from fll_hbase.config import Settings
from fll_hbase.store.lineage_store import LineageStore

View = TypeVar("View", bound=Callable[..., Any])

_PROBLEMS = {
    400: "The question or document cannot be understood",
    404: "No run ever named it",
    409: "One checksum names two contents",
    413: "Too large",
    415: "Not a media type that is taken",
    422: "Well-formed, but no lineage",
    503: "The store does not answer; try again after the time told",
}


class Blueprint(flask_smorest.Blueprint):  # type: ignore[misc]
    """A group of routes."""

    ARGUMENTS_PARSER = Parser()

    def problems(self, *statuses: int) -> Callable[[View], View]:
        """Say which problems a route answers with."""

        def decorate(view: View) -> View:
            for status in statuses:
                view = self.alt_response(
                    status, schema=ProblemSchema, content_type=MEDIA_TYPE, description=_PROBLEMS[status]
                )(view)
            return view

        return decorate


def store() -> LineageStore:
    """The store that the app was made over."""
    found: LineageStore = current_app.extensions["fll-store"]
    return found


def settings() -> Settings:
    """The settings that the app was made with."""
    found: Settings = current_app.extensions["fll-settings"]
    return found
