"""Version of this package, as jobs write it into what they export."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """Return the version; `unknown` where the package is shipped as an archive, without its metadata."""
    try:
        return version("fll-hbase")
    except PackageNotFoundError:
        return "unknown"
