"""Marked directories: a marker file says which program owns a directory, so no other files are touched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fll_hbase.runtime.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Marker:
    """The name and content of a marker file, and the name of such a directory in errors."""

    name: str
    content: str
    title: str


def open_marked(path: Path, marked: Marker, *, create: bool) -> Path:
    """Return the absolute path of a marked directory; `create` makes it, or marks an existing empty one.

    A leading `~` is expanded. Raises ConfigurationError for a directory that is missing or has no marker,
    unless `create` gives it one, for the marker of another release, and if it cannot be read or written.
    """
    directory = path.expanduser().absolute()
    try:
        if create:
            # Lineage reveals names of tables and fields, so new directories are accessible to the user only.
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_marker(directory, marked, create=create)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise ConfigurationError(f"the spool {directory} is read-only: make it writable, or name another")
    except OSError as error:
        # mkdir raises FileExistsError for a file and for a broken link.
        reason = "not a directory" if isinstance(error, FileExistsError) else os_reason(error)
        advice = "name a directory that can be written"
        raise ConfigurationError(f"{directory} cannot be a spool: {reason}; {advice}") from error
    return directory


def _check_marker(directory: Path, marked: Marker, *, create: bool) -> None:
    """Check the marker of a directory, with `create` after marking an existing empty one.

    Raises ConfigurationError unless the directory exists with this marker. With `create`, an absent directory
    raises FileNotFoundError. Raises OSError if it cannot be read or written.
    """
    marker = directory / marked.name
    if create and not marker.exists() and _is_empty(directory, marked):
        # Renamed, so that other processes never see an incomplete marker. All writers write the same content.
        unfinished = directory / f"{marked.name}.{os.getpid()}-{os.urandom(4).hex()}"
        write_durably(unfinished, marked.content.encode())
        unfinished.rename(marker)
        flush_directory(directory)
    if not directory.exists():
        raise ConfigurationError(f"there is no directory {directory}; name {marked.title}")
    if not marker.is_file():
        raise ConfigurationError(
            f"{directory} is not {marked.title}: there is no file {marked.name} in it; name {marked.title}"
            + (", or a directory that is empty or absent" if create else "")
        )
    content = marker.read_text(errors="replace")
    if content != marked.content:
        raise ConfigurationError(
            f"{marker} is {content[:80]!r}, not {marked.content!r}: {marked.title} of another release"
        )


def _is_empty(directory: Path, marked: Marker) -> bool:
    """Return whether a directory has no files except markers that other processes are writing."""
    with os.scandir(directory) as entries:
        return all(entry.name.startswith(f"{marked.name}.") for entry in entries)


def write_durably(path: Path, content: bytes) -> None:
    """Create a file of this user only, and return once its content, but not its name, is on the disk.

    Call `flush_directory` for the name. Raises OSError, also if it exists. A file that cannot be written in
    full stays.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def flush_directory(path: Path) -> None:
    """Return once the names of the files in a directory are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def os_reason(error: OSError) -> str:
    """Return the operating system's message in an error, else the text of the error."""
    return error.strerror or str(error)
