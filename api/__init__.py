"""The REST API: one Flask app over one store.

Flask is imported with the first use of `create_app`: `fll` imports this package, and only `serve` needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> object:
    """Import `create_app` on demand."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from api.app import create_app

    return create_app
