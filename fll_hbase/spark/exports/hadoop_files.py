"""Files below one directory of any file system that Hadoop supports: local, HDFS, object stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from fll_hbase.runtime.errors import LineageError

TEMPORARY = "_fll_tmp-"
"""Prefix of a file that is being written. A file gets its final name when it is complete."""


@dataclass(frozen=True, slots=True, order=True)
class FileStatus:
    """A file: its path below the directory, its size, and when it was last modified."""

    path: str
    size_bytes: int
    modified_ms: int


class HadoopDirectory:
    """A directory; all paths are relative to it, "" is the directory itself.

    Every method raises py4j's Py4JJavaError with the error of the file system.
    """

    # Private members, because PySpark has no public access to Hadoop's file systems, whose credentials and
    # schemes jobs share.
    def __init__(self, spark: SparkSession, root: str) -> None:
        """Open the file system of `root`, which need not exist. Local checksum files are visible as files."""
        java: Any = spark._jvm
        self._java = java
        self._gateway: Any = spark.sparkContext._gateway
        self._configuration = spark._jsc.hadoopConfiguration()
        self._root = java.org.apache.hadoop.fs.Path(root)
        self._files = self._root.getFileSystem(self._configuration)
        if str(self._files.getUri().getScheme()) == "file":
            # The default file system hides `.x.crc`, the checksum of x, which may be a user's own file.
            self._files = java.org.apache.hadoop.fs.RawLocalFileSystem()
            self._files.initialize(java.java.net.URI("file:///"), self._configuration)
        # Not as a URI, which would escape spaces, because Spark takes paths as they are.
        self.url = str(self._files.makeQualified(self._root).toString())

    def create(self, path: str = "") -> None:
        """Create a directory and its parents, unless it exists."""
        self._files.mkdirs(self._path(path))

    def check_writable(self) -> None:
        """Raise the error of the file system if files cannot be created in the root directory."""
        self._files.access(self._root, self._java.org.apache.hadoop.fs.permission.FsAction.WRITE)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory with this path."""
        return bool(self._files.exists(self._path(path)))

    def names(self, path: str = "") -> Iterator[str]:
        """Yield the names in a directory, unordered, or none if the directory is absent."""
        return (name for name, _ in self._entries(path))

    def walk(self, path: str = "", *, skip: Callable[[str], bool] = lambda _: False) -> Iterator[FileStatus]:
        """Yield the files below a directory, in no order, except below paths that `skip` accepts."""
        for name, status in self._entries(path):
            below = _join(path, name)
            if not status.isDirectory():
                yield FileStatus(below, int(status.getLen()), int(status.getModificationTime()))
            elif not skip(below):
                yield from self.walk(below, skip=skip)

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a file, or None if it is absent or a directory."""
        if not self.exists(path):
            return None
        status = self._files.getFileStatus(self._path(path))
        is_file = not status.isDirectory()
        return FileStatus(path, int(status.getLen()), int(status.getModificationTime())) if is_file else None

    def read(self, path: str) -> bytes:
        """Return the content of a file, which has to fit into memory."""
        stream = self._files.open(self._path(path))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Create a file, which appears only when complete, unless it exists. Raises LineageError."""
        if self.exists(path):
            return
        temporary = f"{TEMPORARY}{uuid4().hex}"
        stream = self._files.create(self._path(temporary), False)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()
        # The file system returns False, and raises nothing, if another job created the file meanwhile.
        if not self._files.rename(self._path(temporary), self._path(path)) and not self.exists(path):
            raise LineageError(f"{temporary} cannot be moved to {path} in {self.url}; run the job again")

    def create_file(self, name: str, text: str) -> bool:
        """Create a file, which appears only when complete; False if it exists, as for all writers but one."""
        files = self._java.org.apache.hadoop.fs
        file_system = self._root.getFileSystem(self._configuration)
        temporary, target = (
            file_system.makeQualified(self._path(path)) for path in (f"{TEMPORARY}{uuid4().hex}", name)
        )
        stream = file_system.create(temporary, False)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        # FileSystem.rename would replace a local file.
        context = files.FileContext.getFileContext(file_system.getUri(), self._configuration)
        try:
            context.rename(temporary, target, self._gateway.new_array(files.Options.Rename, 0))
        except Py4JJavaError as error:
            file_system.delete(temporary, False)
            if "FileAlreadyExistsException" in str(error.java_exception.toString()):
                return False
            raise
        return True

    def move(self, source: str, target: str) -> None:
        """Move a file or directory, into an existing directory if an earlier move was interrupted.

        The call does nothing if `source` is absent. A target file of the same size counts as moved, and the
        source is deleted. Raises LineageError rather than replace a file of another size.
        """
        if not self.exists(source):
            return
        if not self.exists(target):
            self.create(target.rpartition("/")[0])
            if self._files.rename(self._path(source), self._path(target)):
                return
            raise LineageError(f"{source} cannot be moved to {target} in {self.url}; run the job again")
        self._merge(source, target)

    def delete(self, path: str) -> None:
        """Delete a file or an empty directory, if it exists; a directory with files raises the error."""
        self._files.delete(self._path(path), False)

    def delete_tree(self, path: str) -> None:
        """Delete a directory with everything below it, or a file, if it exists."""
        self._files.delete(self._path(path), True)

    def _merge(self, source: str, target: str) -> None:
        """Complete an interrupted move file by file. Raises LineageError if a different file is there."""
        moved, present = self.status(source), self.status(target)
        if moved is None and present is None:
            for name in list(self.names(source)):
                self.move(_join(source, name), _join(target, name))
        elif moved is None or present is None or moved.size_bytes != present.size_bytes:
            raise LineageError(
                f"{self.url}/{target} is in the way of new output; move it and run the job again"
            )
        self.delete(source)

    def _entries(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield names and Hadoop's statuses, one by one, because a directory may have millions."""
        if not self.exists(path):
            return
        statuses = self._files.listStatusIterator(self._path(path))
        while statuses.hasNext():
            status = statuses.next()
            yield str(status.getPath().getName()), status

    def _path(self, path: str) -> Any:
        """Return Hadoop's path for a path below the root, which may contain colons."""
        # As three strings, because a colon in a relative path would be read as a scheme.
        return self._java.org.apache.hadoop.fs.Path(self._root, f"./{path}") if path else self._root


def ancestors(spark: SparkSession, path: str) -> Iterator[Any]:
    """Yield Hadoop's qualified path of a directory, which need not exist, then of each directory above it."""
    java: Any = spark._jvm
    hadoop_path = java.org.apache.hadoop.fs.Path(path)
    files = hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration())
    directory = files.makeQualified(hadoop_path)
    while directory is not None:
        yield directory
        directory = directory.getParent()


def is_subdirectory(spark: SparkSession, path: str, parent: str) -> bool:
    """Return whether a directory is `parent` or below it, by any scheme. Neither has to exist."""
    (host, directory), (other_host, other) = (
        _host_and_path(next(ancestors(spark, item))) for item in (path, parent)
    )
    # With the slash, so that `/data/rejects-old` is not below `/data/rejects`.
    return host == other_host and f"{directory}/".startswith(f"{other}/")


def _host_and_path(path: Any) -> tuple[str, str]:
    """Return the host or bucket of Hadoop's path, else "", and its path without a slash at its end."""
    uri = path.toUri()
    return uri.getAuthority() or "", str(uri.getPath()).rstrip("/")


def _join(path: str, name: str) -> str:
    """Return the path of a name in a directory; "" is the root."""
    return f"{path}/{name}" if path else name
