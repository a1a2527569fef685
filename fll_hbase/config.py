"""Application settings, read once from `FLL_*` environment variables at process start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from fll_hbase.errors import ConfigurationError

PREFIX = "FLL_"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults; `FLL_<NAME>` in the environment overrides one.

    Sizes are in bytes, times in milliseconds unless the name has another unit; a `_max` is the largest value
    that is accepted.
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


DEFAULTS = Settings()
"""The only place that other modules take a default from."""


def from_environment(environment: Mapping[str, str] = os.environ, **overrides: str | int | None) -> Settings:
    """Read settings from `FLL_*` variables; overrides that are not None win.

    Raises ConfigurationError for a value that is not a whole number or is negative.
    """
    variables = {field.name: PREFIX + field.name.upper() for field in fields(Settings)}
    values: dict[str, str | int] = {
        name: environment[variable] for name, variable in variables.items() if variable in environment
    }
    values |= {name: value for name, value in overrides.items() if value is not None}
    return Settings(**{name: _convert(name, value) for name, value in values.items()})  # type: ignore[arg-type]


def _convert(name: str, value: str | int) -> str | int:
    if type(getattr(DEFAULTS, name)) is str:
        return str(value)
    try:
        number = int(value)
    except ValueError as error:
        raise ConfigurationError(f"{PREFIX}{name.upper()}={value!r} is not a whole number") from error
    if number < 0:
        raise ConfigurationError(f"{PREFIX}{name.upper()}={value!r} is negative")
    return number
