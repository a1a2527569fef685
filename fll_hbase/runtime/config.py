"""Settings, read once from the environment variables `FLL_*` when a process starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import MappingProxyType

from fll_hbase.runtime.errors import ConfigurationError

PREFIX = "FLL_"

_PARAMETER = re.compile(r"([?&;]([^?=&;]*)=)[^&;]*")
_SECRET_NAME = re.compile("token|passw|secret|key|sig", re.IGNORECASE)
"""Words that mark the value of a URL parameter as secret, if they are part of its name."""

SERVER_SCHEMES = ("http://", "https://")
"""Prefixes of URLs of servers. URLs of stores have other prefixes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults; docs/reference/configuration.md describes each.

    Sizes are in bytes, and times have the unit that a name ends with. A name with `_max` is an upper limit.
    """

    store: str = "sqlite:///data/field_level_lineage.db"
    # For the command line: the server to query instead of a store, and the zone of its times.
    server: str = ""
    timezone: str = "UTC"
    # The token that clients send. As a secret it is never part of a printed setting.
    token: str = field(default="", repr=False)
    # Loopback: any other address needs authentication, or the explicit consent of `allow_unauthenticated`.
    host: str = "127.0.0.1"
    port: int = 8080
    auth: str = "none"
    allow_unauthenticated: int = 0
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_jwks_url: str = ""
    jwt_groups: str = "groups"
    # With authentication, this secret allows reading metrics without an admin's token.
    metrics_token: str = field(default="", repr=False)
    # A separate listener for metrics, without authentication; off by default.
    metrics_host: str = ""
    metrics_port: int = 9_464
    # For each principal, or for each address without authentication; 0 means no limit.
    rate_requests: int = 0
    rate_bytes: int = 0
    questions_max: int = 0
    # For each address in one process, which has 10,000 in all: enough for a proxy or a site's gateway.
    address_connections_max: int = 1_000
    cors_origins: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    # The number of trusted proxies in front of the server, whose X-Forwarded headers count.
    proxies: int = 0
    # Names separated by commas. Empty allows `localhost` on loopback, else any host
    # (docs/operate/security.md).
    allowed_hosts: str = ""
    # More than the 7 s of a gateway (docs/operate/hbase.md), so that its error with the reason arrives first.
    store_timeout_ms: int = 10_000
    # At least `threads`: each thread uses one connection at a time.
    store_connections_max: int = 16
    workers: int = 2
    threads: int = 8
    # As long as one call to the store may take, and less than clients commonly wait (30 s).
    request_seconds: int = 10
    document_bytes_max: int = 16 * 2**20
    batch_bytes_max: int = 512 * 2**20
    batch_errors_max: int = 10_000
    # Repetitive documents reach 250: a match of gzip has at most 258 bytes and takes at least one. Higher
    # ratios (up to 1,030) come only from runs of a few bytes, which lineage never contains.
    gzip_ratio_max: int = 300
    # Limits of one answer, so that no query can exhaust a process (decision 8).
    level_max: int = 32
    pairs_max: int = 250_000
    connections_max: int = 50_000
    # About a second of work. Only operations built to be expensive need so many steps.
    steps_max: int = 1_000_000
    runs_max: int = 100_000
    list_limit: int = 1_000
    list_limit_max: int = 10_000
    search_end_points_max: int = 20_000
    # What an assistant reads of one answer: some 6,000 tokens.
    mcp_bytes_max: int = 20_000
    cache_bytes: int = 256 * 2**20
    # At least an hour: a commit may take half of it (docs/reference/row-keys.md, step 5), and clocks differ.
    grace_ms: int = 3_600_000
    retry_after_seconds: int = 2
    name_rules: str = ""
    namespace_rules: str = ""
    # Logs for the operator: a file, `-` for standard error, or empty for no log.
    log_level: str = "warning"
    access_log: str = ""
    audit_log: str = ""
    # The first failing call may take half of it, which is longer than HBase needs to move a server's regions.
    recorder_seconds: int = 60
    spool: str = ""
    # The number of files is limited because a directory of very many files is slow to list.
    spool_files_max: int = 10_000
    spool_bytes_max: int = 256 * 2**20
    # Capture of Spark jobs; `spark.fll.capture.*` of a job override them (docs/record/spark.md).
    capture_url: str = ""
    capture_namespace: str = "default"
    capture_spool: str = ""
    capture_literals: int = 0
    capture_bytes_max: int = 256 * 2**20

    @property
    def address(self) -> str:
        """Return `host:port` as in a URL, with an IPv6 address in brackets."""
        return authority(self.host, self.port)

    @property
    def metrics_address(self) -> str:
        """Return `host:port` of the metrics listener, or "" without one."""
        return authority(self.metrics_host, self.metrics_port) if self.metrics_host else ""


def authority(host: str, port: int) -> str:
    """Return `host:port` as in a URL, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


DEFAULTS = Settings()
"""The default settings; other modules read defaults from here and define none."""

_VARIABLES = {field.name: PREFIX + field.name.upper() for field in fields(Settings)}
"""The environment variable of each setting."""

_BOUNDS = {
    "port": (1, 65_535),
    "metrics_port": (1, 65_535),
    "request_seconds": (1, None),
    "workers": (1, None),
    "threads": (1, None),
    "store_connections_max": (1, None),
    "allow_unauthenticated": (0, 1),
    "capture_literals": (0, 1),
    "capture_bytes_max": (2**16, None),
    "proxies": (0, 10),
    # Room for the window and the notes of an answer.
    "mcp_bytes_max": (4_000, None),
}
"""The smallest and greatest accepted values of settings that do not accept every value from 0 on."""

_CHOICES = {"log_level": ("debug", "info", "warning", "error", "critical")}
"""The allowed values of settings with a fixed set of values."""


def from_environment(environment: Mapping[str, str] = os.environ, **overrides: str | int | None) -> Settings:
    """Return the settings of the `FLL_*` variables; overrides that are not None have priority.

    Raises ConfigurationError for a value that is not a whole number, out of bounds, or not a valid choice.
    """
    values: dict[str, str | int] = {
        name: environment[variable] for name, variable in _VARIABLES.items() if variable in environment
    }
    values |= {name: value for name, value in overrides.items() if value is not None}
    return Settings(**{name: convert(name, value) for name, value in values.items()})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SettingSource:
    """The value of a setting as text without credentials, its source, and its fault, "" for a valid value.

    The source is `default`, `environment` or the option, such as `--store`.
    """

    variable: str
    value: str
    source: str
    fault: str = ""


def explain(
    environment: Mapping[str, str] = os.environ, options: Mapping[str, str | None] = MappingProxyType({})
) -> Iterator[SettingSource]:
    """Yield every setting in effect, in the order of `Settings`; an option that is None was not given.

    The value of a secret shows only its length, and URLs come without user and password. An invalid value
    raises nothing: `fault` has the error.
    """
    for setting in fields(Settings):
        variable = _VARIABLES[setting.name]
        value: str | int = getattr(DEFAULTS, setting.name)
        source, fault = "default", ""
        if (option := options.get(setting.name)) is not None:
            value, source = option, f"--{setting.name}"
        elif variable in environment:
            value, source = environment[variable], "environment"
        try:
            value = convert(setting.name, value)
        except ConfigurationError as error:
            fault = str(error)
        text = without_credentials(str(value))
        if not setting.repr:
            text = f"(set, {len(str(value))} characters)" if value else ""
        yield SettingSource(variable, text, source, fault)


def without_credentials(text: str) -> str:
    """Return a URL with `***` in place of user and password, and of values of parameters such as `token=`.

    Text without `://` is returned unchanged.
    """
    scheme, separator, rest = text.partition("://")
    # A password may contain any character, so everything up to the last `@` is hidden. A path has no user.
    if separator and not rest.startswith("/") and "@" in rest:
        rest = f"***@{rest.rpartition('@')[2]}"
    return scheme + separator + _PARAMETER.sub(_without_secret, rest)


def _without_secret(parameter: re.Match[str]) -> str:
    """Return a parameter of a URL, with `***` as value if its name says that it is secret."""
    return f"{parameter[1]}***" if _SECRET_NAME.search(parameter[2]) else parameter[0]


def unknown_variables(environment: Mapping[str, str] = os.environ) -> Iterator[tuple[str, str]]:
    """Yield each unknown `FLL_*` variable that looks like a misspelt setting, with that setting's variable.

    The pairs are sorted. Other variables are skipped: Kubernetes sets `FLL_SERVICE_HOST` for a service `fll`.
    """
    settings = list(_VARIABLES.values())
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in settings:
            for near in get_close_matches(variable, settings, 1, 0.85):
                yield variable, near


def convert(name: str, value: str | int) -> str | int:
    """Return the value of a setting, numbers as int, choices in lower case.

    Raises ConfigurationError, which names its variable, for a number that is none or out of bounds, and for
    another choice.
    """
    choices = _CHOICES.get(name)
    if choices and str(value).lower() not in choices:
        raise ConfigurationError(
            f"invalid value {_VARIABLES[name]}={value!r}: expected one of {', '.join(choices)}"
        )
    # The type of the default decides, because annotations are texts at run time.
    if type(getattr(DEFAULTS, name)) is str:
        return str(value).lower() if choices else str(value)
    try:
        number = int(value)
    except ValueError as error:
        raise ConfigurationError(f"{_VARIABLES[name]}={value!r} is not a whole number") from error
    least, greatest = _BOUNDS.get(name, (0, None))
    if number < least or (greatest is not None and number > greatest):
        bounds = f"{least} or more" if greatest is None else f"{least} to {greatest}"
        raise ConfigurationError(f"invalid value {_VARIABLES[name]}={value!r}: expected {bounds}")
    return number
