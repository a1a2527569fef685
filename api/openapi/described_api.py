"""The routes of an app and their OpenAPI document, which is built on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import flask_smorest
from flask import Flask
from msgspec import Struct

from ..wire import problems
from .answer_schemas import Problem
from .query_schemas import body_schema, schema_name


class DescribedApi(flask_smorest.Api):  # type: ignore[misc]
    """The routes of an app, the error handlers of `problems`, and the OpenAPI document."""

    ERROR_SCHEMA = body_schema(Problem)
    # flask-smorest would add a default error to every route. Each route lists the problems it can have.
    DEFAULT_ERROR_RESPONSE_NAME = None

    def __init__(self, app: Flask, *, components: Iterable[type[Struct]]) -> None:
        """Take the app, and as `components` the bodies that routes refer to by name."""
        self._components = list(components)
        self._undescribed: list[flask_smorest.Blueprint] = []
        self._lock = threading.Lock()
        super().__init__(app)

    def register_blueprint(self, blueprint: flask_smorest.Blueprint) -> None:
        """Register the routes of a blueprint on the app; `document` describes them later."""
        self._app.extensions["flask-smorest"]["blp_name_to_api"][blueprint.name] = self
        self._app.register_blueprint(blueprint)
        self._undescribed.append(blueprint)

    def _init_spec(self, **options: Any) -> None:
        """Keep the options of the document; `document` does later what flask-smorest would do here."""
        self._spec_options = options

    def document(self) -> dict[str, Any]:
        """Return the OpenAPI document of all registered routes. Threads may call it at once."""
        # Building it when the app is created would make that several times as slow in every process.
        with self._lock:
            self._describe()
            document: dict[str, Any] = self.spec.to_dict()
            return document

    def _describe(self) -> None:
        """Add the components and blueprints not yet described to the document. The caller holds the lock."""
        if self.spec is None:
            super()._init_spec(**self._spec_options)
        # Before the routes: apispec names a schema that it first meets in a route after its class.
        for body in self._components:
            self.spec.components.schema(schema_name(body), schema=body_schema(body))
        self._components.clear()
        for blueprint in self._undescribed:
            blueprint.register_views_in_doc(self, self._app, self.spec, name=blueprint.name, parameters=None)
            self.spec.tag({"name": blueprint.name, "description": blueprint.description})
        self._undescribed.clear()

    def _register_error_handlers(self) -> None:
        """Register the handlers of `problems` in place of flask-smorest's own."""
        # flask-smorest's own handler covers HTTP errors alone, and its JSON is not a problem of RFC 9457.
        problems.register_error_handlers(self._app)
