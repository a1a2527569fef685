"""Settings of capture, by precedence: arguments, `spark.fll.capture.*`, `FLL_CAPTURE_*`, defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from fll_hbase.runtime import config
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.sources.validation import ID_BYTES_MAX

SPARK_PREFIX = "spark.fll.capture."

_SPARK_NAMES = {
    "capture_url": "url",
    "capture_namespace": "namespace",
    "capture_spool": "spool",
    "capture_literals": "literals",
    "capture_bytes_max": "bytesMax",
}
"""The part of each setting's name after SPARK_PREFIX."""

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]")

_WORDS = {"true": "1", "false": "0"}
"""Spark's own switches are words, so capture accepts words, too."""


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """Destination of one application's lineage, and the directory in which up to `bytes_max` bytes wait.

    `url` may contain a user and a password, and `token` is a secret: neither is written anywhere.
    """

    url: str = field(repr=False)
    namespace: str
    spool: Path
    literals: bool
    bytes_max: int
    token: str = field(default="", repr=False)

    @property
    def destination(self) -> str:
        """Return the URL of the server without user, password, query and trailing slashes."""
        return without_credentials(self.url)


def without_credentials(url: str) -> str:
    """Return a URL without user, password, query, fragment and trailing slashes."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=netloc, query="", fragment="").geturl().rstrip("/")


def read_settings(
    arguments: Mapping[str, str | int | None],
    spark_value: Callable[[str], str | None],
    environment: Mapping[str, str] = os.environ,
) -> CaptureSettings | None:
    """Return the settings, or None if the URL is unset or empty, which turns capture off.

    `arguments` are keyed by the names of `config.Settings`. `spark_value` returns the value of a setting of
    the application. The first value counts that is not None: argument, setting, `environment`, default. The
    token is `FLL_TOKEN`. If there is a URL, raises ConfigurationError with every error.
    """
    values: dict[str, str | int] = {}
    faults: list[str] = []
    for name, part in _SPARK_NAMES.items():
        spark_name, variable = SPARK_PREFIX + part, config.PREFIX + name.upper()
        sources = (
            (name.removeprefix("capture_"), arguments.get(name)),
            (spark_name, spark_value(spark_name)),
            (variable, environment.get(variable)),
        )
        source, value = next((item for item in sources if item[1] is not None), ("", None))
        if value is None:
            values[name] = getattr(config.DEFAULTS, name)
            continue
        try:
            values[name] = config.convert(name, _WORDS.get(str(value).lower(), value))
        except ConfigurationError as error:
            faults.append(str(error).replace(f"{variable}=", f"{source}="))
    if not values.get("capture_url"):
        return None
    faults += _faults(values)
    spool = _spool(str(values["capture_spool"]), environment, faults)
    if faults or spool is None:
        raise ConfigurationError("; ".join(faults))
    return CaptureSettings(
        url=str(values["capture_url"]).strip(),
        namespace=str(values["capture_namespace"]),
        spool=spool,
        literals=bool(values["capture_literals"]),
        bytes_max=int(values["capture_bytes_max"]),
        token=environment.get(f"{config.PREFIX}TOKEN", ""),
    )


def default_spool(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the default directory of plans: `fll-capture` in XDG_STATE_HOME, else in ~/.local/state.

    Raises ConfigurationError for a user without a home directory.
    """
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG base directory specification ignores relative paths.
    try:
        base = Path(state) if os.path.isabs(state) else Path("~/.local/state").expanduser()
    except RuntimeError:
        raise ConfigurationError("this user has no home directory: set FLL_CAPTURE_SPOOL") from None
    return base / "fll-capture"


def _spool(path: str, environment: Mapping[str, str], faults: list[str]) -> Path | None:
    """Return the directory of plans, the default for "", or add to `faults` why there is none."""
    try:
        if "\0" not in path:
            return Path(path).expanduser() if path else default_spool(environment)
    except ConfigurationError as error:
        faults.append(str(error))
        return None
    except RuntimeError:
        # The path names the home directory of an unknown user.
        pass
    faults.append(f"the spool {path!r} is not a path")
    return None


def _faults(values: Mapping[str, str | int]) -> list[str]:
    """Return the error texts of an invalid URL or namespace; passwords are not shown."""
    faults = []
    parts = _split(str(values["capture_url"]))
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        shown = "the URL" if parts is None or "@" in parts.netloc else repr(values["capture_url"])
        faults.append(f"{shown} is not the URL of a server: expected http://host:port")
    namespace = str(values.get("capture_namespace", "default"))
    if not namespace.strip() or not namespace.isprintable() or len(namespace.encode()) > ID_BYTES_MAX:
        faults.append(f"the namespace {namespace[:80]!r} is empty, too long or has control characters")
    return faults


def _split(url: str) -> SplitResult | None:
    """Split a URL, or return None for inner white space or control characters, or an invalid port or host."""
    if _BLANKS.search(url.strip()):
        return None
    try:
        parts = urlsplit(url)
        # Reading the port parses it, and raises for `http://host:port`.
        _ = parts.port
    except ValueError:
        return None
    return parts
