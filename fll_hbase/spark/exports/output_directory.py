"""Directories that jobs write: which files are ours, and how new output replaces the last.

A marker file says that a directory is ours, and a manifest lists every file that a job put there. No other
file is moved or deleted. A job writes its output to a separate directory below, and its manifest when the
output is complete. From then on the output replaces the last one, if necessary at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.spark.exports.hadoop_files import TEMPORARY, FileStatus, HadoopDirectory

REJECTS, EXPORT = "_FLL_REJECTS", "_FLL_EXPORT"
"""Names of markers. Spark ignores files whose names begin with `_`."""

NEW, REPLACED, MANIFEST = "_fll_new-", "_fll_replaced-", "_fll_files-"
"""Prefixes of the directory of new output, of the directory of replaced output, and of manifests."""

ABANDONED_MS = 7 * 24 * 3_600_000
"""Age from which incomplete output is abandoned. Its job must have been killed, since none takes so long."""

_VERSION = 1
_STARTED, _COMPLETE, _CLEARED = "_FLL_STARTED", "_FLL_COMPLETE", "_FLL_CLEARED"
"""Files in a directory of new output: its start time, its manifest, and a mark that the place is free."""

_SPARK_NAMES = ("part-", "_SUCCESS", "_started_", "_committed_")


@dataclass(frozen=True, slots=True)
class Owner:
    """The writer of a directory: name of the marker, job, and source such as a checkpoint, "" for any."""

    marker: str
    job: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class _Manifest:
    """The files of one output, and the manifests of the outputs that it replaces."""

    files: tuple[FileStatus, ...]
    replaces: tuple[str, ...]

    def dump(self) -> bytes:
        """Return the manifest as JSON, in the form that `_read_manifest` parses."""
        members = {
            "version": _VERSION,
            "replaces": self.replaces,
            "files": [astuple(file) for file in self.files],
        }
        return json.dumps(members).encode()

    @property
    def names(self) -> list[str]:
        """The sorted first parts of the paths of the files."""
        return sorted({file.path.partition("/")[0] for file in self.files})


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """A directory that belongs to a job. Create it with `claim`."""

    directory: HadoopDirectory
    owner: Owner

    @contextmanager
    def replacing(self) -> Iterator[str]:
        """Return a context with the URL of a new directory, whose files replace the last output at the end.

        Spark's writers need mode `append` for the directory itself. After an exception the last output stays,
        and the new one is deleted. Raises LineageError if a foreign file has appeared in the directory. Then
        the new output waits below, and the next job puts it in place once the file has been moved.
        """
        output = uuid4().hex
        self.directory.create(f"{NEW}{output}")
        self.directory.write(f"{NEW}{output}/{_STARTED}", str(now_ms()).encode())
        try:
            yield f"{self.directory.url}/{NEW}{output}"
            self._complete(output, self._manifest_ids())
        except BaseException:
            self._discard(output)
            raise
        foreign = next(self.foreign_files(), None)
        if foreign is not None:
            raise LineageError(
                f"{self.directory.url}/{foreign} appeared or changed while the job ran: move it elsewhere"
                " and run the job again; the new output waits in the same directory"
            )
        self._install(output)

    def clear(self) -> None:
        """Remove the last output by replacing it with nothing. Raises LineageError if a file is foreign."""
        with self.replacing():
            pass

    def files(self) -> list[FileStatus]:
        """Return the files of the current output, sorted by path."""
        return sorted(file for output in self._manifest_ids() for file in self._manifest(output).files)

    def _complete(self, output: str, replaces: Sequence[str]) -> None:
        """Write the manifest of new output, which is put in place afterwards."""
        folder = f"{NEW}{output}"
        written = (file for file in self.directory.walk(folder) if file.path != f"{folder}/{_STARTED}")
        files = (
            FileStatus(file.path[len(folder) + 1 :], file.size_bytes, file.modified_ms) for file in written
        )
        manifest = _Manifest(tuple(sorted(files)), tuple(replaces))
        self.directory.write(f"{folder}/{_COMPLETE}", manifest.dump())

    def _install(self, output: str) -> None:
        """Put complete output in place of the output that it replaces. Each step may be repeated."""
        folder = f"{NEW}{output}"
        manifest = self._read_manifest(f"{folder}/{_COMPLETE}")
        if not self.directory.exists(f"{folder}/{_CLEARED}"):
            for replaced in manifest.replaces:
                for name in self._manifest(replaced).names:
                    self.directory.move(name, f"{REPLACED}{output}/{name}")
            self.directory.write(f"{folder}/{_CLEARED}", b"")
        for name in manifest.names:
            self.directory.move(f"{folder}/{name}", name)
        self.directory.write(f"{MANIFEST}{output}", self._current(manifest).dump())
        self._remove_replaced(output, manifest)
        for name in (_CLEARED, _STARTED, _COMPLETE, ""):
            self.directory.delete(f"{folder}/{name}".rstrip("/"))

    def _current(self, manifest: _Manifest) -> _Manifest:
        """Return the manifest with the present times, since a rename that copies changes them."""
        statuses = (self.directory.status(file.path) for file in manifest.files)
        return _Manifest(tuple(status for status in statuses if status), manifest.replaces)

    def _remove_replaced(self, output: str, manifest: _Manifest) -> None:
        """Delete the replaced files that have their listed size, empty directories, and their manifests."""
        folder = f"{REPLACED}{output}"
        for replaced in manifest.replaces:
            files = self._manifest(replaced).files
            for file in files:
                # The file was unchanged when it was moved a moment ago. A move on an object store changes the
                # time.
                status = self.directory.status(f"{folder}/{file.path}")
                if status and status.size_bytes == file.size_bytes:
                    self.directory.delete(status.path)
            _delete_empty(self.directory, folder, files)
            self.directory.delete(f"{MANIFEST}{replaced}")

    def recover(self) -> None:
        """Put complete output of a killed job in place, and remove output abandoned since ABANDONED_MS."""
        for name in list(self.directory.names()):
            if name.startswith(NEW) and self.directory.exists(f"{name}/{_COMPLETE}"):
                self._install(name.removeprefix(NEW))
            elif name.startswith(NEW) and self._is_abandoned(name):
                self._discard(name.removeprefix(NEW))

    def _is_abandoned(self, folder: str) -> bool:
        started = self.directory.status(f"{folder}/{_STARTED}")
        return started is not None and now_ms() - started.modified_ms > ABANDONED_MS

    def _discard(self, output: str) -> None:
        """Delete the directory of new output, unless it is complete or has files that Spark did not write."""
        folder = f"{NEW}{output}"
        if not self.directory.exists(f"{folder}/{_COMPLETE}") and all(
            _is_written_by_spark(file.path) for file in self.directory.walk(folder)
        ):
            self.directory.delete_tree(folder)

    def foreign_files(self, *, parts: str = "") -> Iterator[str]:
        """Yield the paths of files that are not ours, or were changed since they were written, in no order.

        Directories whose names begin with `parts`, if given, have their own markers, and are left out. New
        output is left out, too. Raises ConfigurationError for an unreadable manifest.
        """
        ours = self._listed()
        # On an object store, a move changes the time of a file.
        sizes = {(file.path, file.size_bytes) for file in ours}
        skip = tuple(prefix for prefix in (NEW, parts) if prefix)
        for file in self.directory.walk(skip=lambda path: "/" not in path and path.startswith(skip)):
            if file.path.startswith(REPLACED):
                is_ours = (file.path.partition("/")[2], file.size_bytes) in sizes
            else:
                is_ours = file in ours or self._is_own_name(file.path)
            if not is_ours:
                yield file.path

    def _listed(self) -> set[FileStatus]:
        """Return the files of all manifests, including complete output that is not in place yet."""
        waiting = [f"{name}/{_COMPLETE}" for name in self.directory.names() if name.startswith(NEW)]
        present = [path for path in waiting if self.directory.exists(path)]
        manifests = [self._manifest(output) for output in self._manifest_ids()]
        manifests += [self._read_manifest(path) for path in present]
        return {file for manifest in manifests for file in manifest.files}

    def _is_own_name(self, path: str) -> bool:
        """Return whether a path is the marker, a manifest or a temporary file of this directory."""
        return path == self.owner.marker or (path.startswith((MANIFEST, TEMPORARY)) and "/" not in path)

    def _manifest_ids(self) -> tuple[str, ...]:
        """Return the sorted ids of the outputs that have a manifest in place."""
        names = self.directory.names()
        return tuple(name.removeprefix(MANIFEST) for name in sorted(names) if name.startswith(MANIFEST))

    def _manifest(self, output: str) -> _Manifest:
        path = f"{MANIFEST}{output}"
        return self._read_manifest(path) if self.directory.exists(path) else _Manifest((), ())

    def _read_manifest(self, path: str) -> _Manifest:
        """Parse the list of the files of an output. Raises ConfigurationError for any other file."""
        try:
            if self.directory.status(path) is None:
                raise ValueError("a directory")
            members = json.loads(self.directory.read(path))
            files = tuple(FileStatus(*file) for file in members["files"])
            return _Manifest(files, tuple(members["replaces"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{self.directory.url}/{path} is not a list of files of a job; use another directory"
            ) from error


def claim(spark: SparkSession, path: str, owner: Owner, *, parts: str = "") -> OutputDirectory:
    """Return a directory that is empty, new, or has a marker of the owner and only files that its jobs wrote.

    The call completes the output of a killed job. `parts` is the prefix of subdirectories that are claimed
    separately. Raises ConfigurationError, before any file is changed, for a directory of another owner or
    that cannot be written, and with the first file that is not ours. Raises LineageError if a file is in the
    way of the output of the killed job.
    """
    try:
        directory = HadoopDirectory(spark, path)
        directory.create()
        directory.check_writable()
        _check_owner(directory, path, owner)
        output = OutputDirectory(directory, owner)
        foreign = next(output.foreign_files(parts=parts), None)
        if foreign is not None:
            raise ConfigurationError(
                f"{path!r} contains {foreign!r}, which is not an unchanged file of an export:"
                " move it elsewhere, or use another directory"
            )
        output.recover()
        return output
    except Py4JJavaError as error:
        reason = str(error.java_exception.toString()).partition("\n")[0]
        raise ConfigurationError(f"{path!r} cannot be written: {reason}") from error


def _check_owner(directory: HadoopDirectory, path: str, owner: Owner) -> None:
    """Create the marker in an empty directory. Raises ConfigurationError without it or for another source."""
    # Only the first name, since a foreign directory may have millions.
    name = next((name for name in directory.names() if not name.startswith(TEMPORARY)), None)
    if name is None:
        members = {"version": _VERSION, "job": owner.job, "source": owner.source}
        directory.write(owner.marker, json.dumps(members).encode())
    elif not directory.exists(owner.marker):
        raise ConfigurationError(
            f"{path!r} contains {name!r} and no {owner.marker}, so it is not ours: use a new or empty"
            " directory; output of releases without that file has to be removed by hand"
        )
    source = _marker_source(directory, path, owner.marker)
    if owner.source and source != owner.source:
        raise ConfigurationError(
            f"{path!r} belongs to {source!r}, not to {owner.source!r}: use another directory"
        )


def _marker_source(directory: HadoopDirectory, path: str, marker: str) -> str:
    """Return the source in the marker file. Raises ConfigurationError for another form or a later version."""
    try:
        members = json.loads(directory.read(marker))
        version, source = members["version"], members["source"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path}/{marker} is not a marker of ours; use another directory") from error
    if version != _VERSION:
        raise ConfigurationError(f"{path}/{marker} has version {version!r} of a later release; use that one")
    return str(source)


def _is_written_by_spark(path: str) -> bool:
    """Return whether a file in a directory of new output has a name that Spark uses, including checksums."""
    _, *directories, name = path.split("/")
    plain = name[1:-4] if name.startswith(".") and name.endswith(".crc") else name
    return plain.startswith((*_SPARK_NAMES, _STARTED)) or directories[:1] == ["_temporary"]


def _delete_empty(directory: HadoopDirectory, folder: str, files: Iterable[FileStatus]) -> None:
    """Delete a folder, and the directories below it that the listed files were in, if they are empty."""
    parents = {folder}
    for file in files:
        *names, _ = file.path.split("/")
        parents.update("/".join([folder, *names[: depth + 1]]) for depth in range(len(names)))
    for parent in sorted(parents, key=len, reverse=True):
        if directory.exists(parent) and next(directory.names(parent), None) is None:
            directory.delete(parent)
