"""The REST API: one Flask app over one store."""

from api.app import create_app

__all__ = ["create_app"]
