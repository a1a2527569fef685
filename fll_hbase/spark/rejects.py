"""Can rejected lines go to a folder: one that is written anew each time, and must hold nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from fll_hbase.errors import ConfigurationError

_WRITTEN = ("part-", "_", ".")
"""What Spark writes begins so."""


def prepare_directory(
    spark: SparkSession, folder: str, *, inputs: Iterable[str], written: tuple[str, ...] = _WRITTEN
) -> None:
    """Make the folder if there is none. Raises ConfigurationError where it cannot be written or holds other files.

    `written` is how names begin that may be there.
    """
    java: Any = spark._jvm
    try:
        path = java.org.apache.hadoop.fs.Path(folder)
        files = path.getFileSystem(spark._jsc.hadoopConfiguration())
        files.mkdirs(path)
        files.access(path, java.org.apache.hadoop.fs.permission.FsAction.WRITE)
        held = [str(status.getPath().getName()) for status in files.listStatus(path)]
    except Py4JJavaError as error:
        said = str(error.java_exception.toString()).partition("\n")[0]
        raise ConfigurationError(f"rejected lines cannot be written to {folder!r}: {said}") from error
    others = [name for name in held if not name.startswith(written)]
    if others:
        raise ConfigurationError(
            f"{folder!r} holds {others[0]!r}, which no such job wrote; name a folder of its own"
        )
    whole = _place(str(files.makeQualified(path).toUri()))
    if any(_is_below(_place(file), whole) for file in inputs):
        raise ConfigurationError(
            f"{folder!r} holds what is to be loaded; name another folder for rejected lines"
        )


def is_subdirectory(spark: SparkSession, folder: str, other: str) -> bool:
    """Whether a folder is another one, or is in it."""
    java: Any = spark._jvm

    def place(name: str) -> tuple[str, str]:
        path = java.org.apache.hadoop.fs.Path(name)
        files = path.getFileSystem(spark._jsc.hadoopConfiguration())
        return _place(str(files.makeQualified(path).toUri()))

    return place(folder) == place(other) or _is_below(place(folder), place(other))


def _place(uri: str) -> tuple[str, str]:
    """Host or bucket, and path."""
    parts = urlsplit(uri)
    return parts.netloc, unquote(parts.path).rstrip("/")


def _is_below(file: tuple[str, str], folder: tuple[str, str]) -> bool:
    return file[0] == folder[0] and file[1].startswith(folder[1] + "/")
