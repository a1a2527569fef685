"""Listener of capture: Java source, compiled in the driver's JVM by the compiler that comes with Spark.

The listener appends lines to the plan file. Each line is one JSON object, written once and ended by a
newline; a line without its newline is incomplete.

- `{"application": {"id", "name", "user", "version", "start"}}` is the first line; times are epoch ms.
- `{"execution": {"id", "root", "start", "end", "action"?, "error"?}, "datasets": [...], "plan": {...}}` is an
  execution that writes. `root` is the execution that started it, or its own id. `error` is the class of the
  failure. Without a plan, the line only ends a group of executions. `fault` instead of a plan means that the
  plan could not be read. `fll_hbase.capture.resolver.dump` describes datasets and plans.
- `{"fault": {"error"}}` is an event that could not be processed.
- `{"unseen": {"job"}}` is the first job that writes an RDD, which has no plan; there is at most one.
- `{"applicationEnd": {"time", "missed", "dropped"}}` is the last line after a clean stop. `dropped` counts
  the lines that did not fit, `missed` the executions whose events Spark dropped.
"""

from __future__ import annotations

import logging
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from fll_hbase.capture import class_cache
from fll_hbase.runtime.errors import LineageError

if TYPE_CHECKING:
    from pyspark import SparkContext


class CaptureUnavailable(LineageError):
    """Capture cannot run in this Spark; the text names its version or what else is missing."""


_PACKAGE = "fll.capture"
_CLASS = f"{_PACKAGE}.CaptureListener"
_COMPILER = "org.codehaus.janino.SimpleCompiler"
_CACHE = "_fll_capture_class"
_log = logging.getLogger("fll_hbase.capture")
_IMPORT = re.compile(r"^import [\w.]+;\n", re.MULTILINE)


class Listener:
    """A registered listener. Its methods call the driver's JVM, and may raise once that has ended."""

    def __init__(self, listener: Any) -> None:
        self._listener = listener

    def waiting(self) -> int:
        """Return how many lines wait in memory for room in the plan file."""
        return int(self._listener.waiting())

    def dropped(self) -> int:
        """Return how many executions are not in the plan file, because it is full or cannot be written."""
        return int(self._listener.dropped())

    def missed(self) -> int:
        """Return how many executions, of any kind, may be missing because Spark dropped their events."""
        return int(self._listener.missed())

    def restart(self, recorded: int) -> bool:
        """Empty the plan file if it has exactly `recorded` bytes; return whether it was emptied.

        Then it gets the first line again, and the waiting lines that fit.
        """
        return bool(self._listener.restart(recorded))

    def dump(self, query_execution: Any) -> str:
        """Return the line that the listener would write for a QueryExecution. Only benchmarks call this."""
        return str(self._listener.dump(query_execution))

    def wait_until_empty(self, seconds: float) -> bool:
        """Wait until Spark's listeners have processed every event so far; False after `seconds`."""
        return bool(self._listener.waitUntilEmpty(max(int(seconds * 1_000), 1)))

    def stop(self) -> None:
        """Remove the listener, end the plan file and drop lines that do not fit. Can be called again."""
        self._listener.stop()

    def disconnect(self) -> None:
        """Close the connection of this thread to the JVM, if it has one.

        py4j would close it when the thread ends, and write a line at INFO into the log of the job.
        """
        client = self._listener._gateway_client
        connection = client.get_thread_connection() if hasattr(client, "get_thread_connection") else None
        if connection is None or connection.socket is None:
            return
        connection.close = _is_closed
        connection.stream.close()
        connection.socket.close()
        connection.socket = None


def _is_closed(*_: object, **__: object) -> None:
    """Return None for any arguments; replaces `close` of a connection that is already closed."""


def start_listener(spark_context: SparkContext, plan_file: str, bytes_max: int, literals: bool) -> Listener:
    """Load the listener from the cache of classes or compile it, and register it with its own queue.

    The listener appends to `plan_file` until the file has `bytes_max` bytes. With `literals`, lines contain
    the constants of expressions. Raises CaptureUnavailable if the context is stopped, has no JVM of its own,
    or does not accept the listener.
    """
    gateway = getattr(spark_context, "_gateway", None)
    if gateway is None:
        raise CaptureUnavailable("this Spark session has no JVM of its own (Spark Connect)")
    if spark_context._jsc is None:
        raise CaptureUnavailable("the SparkContext is stopped")
    try:
        context = spark_context._jsc.sc()
        listener = _create(
            gateway, _listener_class(gateway, context), (context, plan_file, bytes_max, literals)
        )
    # py4j raises both its own errors and Java's, and capture must not fail the job.
    except Exception as error:
        detail = (str(getattr(error, "java_exception", error)).splitlines() or [repr(error)])[0]
        raise CaptureUnavailable(
            f"Spark {spark_context.version} does not accept the listener: {detail}"
        ) from error
    return Listener(listener)


def source() -> str:
    """Return the Java source of the listener: all its files, by name, joined into one compilation unit."""
    folder = files(__package__) / "listener"
    texts = [
        file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".java")
    ]
    imports = sorted({line for text in texts for line in _IMPORT.findall(text)})
    return "".join([f"package {_PACKAGE};\n", *imports, *(_IMPORT.sub("", text) for text in texts)])


def _listener_class(gateway: Any, context: Any) -> Any:
    """Return the class of the listener, loaded once per gateway: from its cached jar, else compiled."""
    # A missing attribute of a gateway reads as a Java package, so look into its dictionary.
    if _CACHE not in gateway.__dict__:
        loader = context.getClass().getClassLoader()
        code = source()
        jar = _jar_path(gateway, context, code)
        compiled = _load(gateway, loader, jar) if jar and class_cache.is_usable(jar) else None
        gateway.__dict__[_CACHE] = compiled or _compile(gateway, loader, code, jar)
    return gateway.__dict__[_CACHE]


def _jar_path(gateway: Any, context: Any, code: str) -> Path | None:
    """Return the jar for this source, build of Spark and Java, or None if these or its place are unknown."""
    try:
        location = str(context.getClass().getProtectionDomain().getCodeSource().getLocation())
        java = str(gateway.jvm.System.getProperty("java.version"))
    except Exception as error:  # noqa: BLE001 (some platforms refuse such calls: nothing is cached there)
        _log.debug("the classes of the listener are not cached: %s", error)
        return None
    try:
        status = os.stat(unquote(urlsplit(location).path))
        file = f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        file = ""
    return class_cache.jar_path([code, str(context.version()), java, location, file])


def _load(gateway: Any, loader: Any, jar: Path) -> Any | None:
    """Return the listener's class from a jar, or log at DEBUG that the JVM rejects it and return None."""
    try:
        url = _create(gateway, loader.loadClass("java.net.URL"), (jar.as_uri(),))
        urls = _array(gateway, "java.net.URL", (url,))
        classes = _create(gateway, loader.loadClass("java.net.URLClassLoader"), (urls, loader))
        return classes.loadClass(_CLASS)
    except Exception as error:  # noqa: BLE001 (py4j raises several; the source is compiled then)
        _log.debug("%s is not used: %s", jar, error)
        return None


def _compile(gateway: Any, loader: Any, code: str, jar: Path | None) -> Any:
    """Compile Java source in the JVM and return the loaded class; write it to `jar` unless that is None."""
    compiler = _create(gateway, loader.loadClass(_COMPILER), ())
    compiler.setParentClassLoader(loader)
    compiler.cook(code)
    if jar is not None:
        class_cache.write(
            jar, {str(name): bytes(content) for name, content in compiler.getBytecodes().items()}
        )
    return compiler.getClassLoader().loadClass(_CLASS)


def _create(gateway: Any, java_class: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a new object by the constructor with as many parameters; TypeError if there is none."""
    for constructor in java_class.getConstructors():
        if constructor.getParameterCount() == len(arguments):
            return constructor.newInstance(_array(gateway, "java.lang.Object", arguments))
    raise TypeError(f"{java_class.getName()} has no constructor with {len(arguments)} parameters")


def _array(gateway: Any, class_name: str, items: tuple[Any, ...]) -> Any:
    """Return a new Java array of the items; `class_name` is the full name of their class."""
    # Imported here, because py4j comes with Spark and programs that only send events do not have it.
    from py4j.java_gateway import JavaClass

    # gateway.jvm would look up each part of the name in all jars of Spark.
    values = gateway.new_array(JavaClass(class_name, gateway._gateway_client), len(items))
    for position, item in enumerate(items):
        values[position] = item
    return values
