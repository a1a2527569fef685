"""The REST API: one Flask app over one store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app import create_app

__all__ = ["create_app"]


# Every `fll` command imports this package, but only `serve` needs Flask, so Flask is imported on demand.
def __getattr__(name: str) -> object:
    """Return `create_app`, imported on its first use (PEP 562). Raises AttributeError for any other name."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .app import create_app

    return create_app
