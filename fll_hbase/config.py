"""Which settings are there: read from the environment once, at the doors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from fll_hbase.errors import ConfigurationError

PREFIX = "FLL_"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default; `FLL_<NAME>` in the environment overrides it.

    Sizes are bytes, times are milliseconds or as the name says; `_max` is the largest that is still taken.
    """

    store: str = "sqlite:///data/field_level_lineage.db"
    host: str = "127.0.0.1"
    port: int = 8080
    store_timeout_ms: int = 10_000
    store_connections_max: int = 16
    workers: int = 2
    threads: int = 8
    document_bytes_max: int = 16 * 2**20
    batch_bytes_max: int = 512 * 2**20
    level_max: int = 32
    pairs_max: int = 250_000
    connections_max: int = 50_000
    runs_max: int = 100_000
    list_limit: int = 1_000
    list_limit_max: int = 10_000
    search_end_points_max: int = 20_000
    cache_bytes: int = 256 * 2**20
    grace_ms: int = 3_600_000
    retry_after_seconds: int = 2
    name_rules: str = ""


def from_environment(environment: Mapping[str, str] = os.environ, **overrides: str | int | None) -> Settings:
    """Settings from `FLL_…` variables; overrides that are not None win. Raises ConfigurationError."""
    known = {field.name: field for field in fields(Settings)}
    given: dict[str, str | int] = {
        name: environment[PREFIX + name.upper()] for name in known if PREFIX + name.upper() in environment
    }
    given |= {name: value for name, value in overrides.items() if value is not None}
    return Settings(**{name: _typed(name, value) for name, value in given.items()})  # type: ignore[arg-type]


def _typed(name: str, value: str | int) -> str | int:
    if type(getattr(Settings(), name)) is str:
        return str(value)
    try:
        number = int(value)
    except ValueError as error:
        raise ConfigurationError(f"{PREFIX}{name.upper()}={value!r} is not a whole number") from error
    if number < 0:
        raise ConfigurationError(f"{PREFIX}{name.upper()}={value!r} is negative")
    return number
