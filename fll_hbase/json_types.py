"""Types of JSON values in annotations."""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
