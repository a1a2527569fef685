"""Hook that captures every Spark session of this process without changing its program.

Importing this module is cheap and does not import Spark: the hook waits until the program does.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_MODULES = ("pyspark.sql.session", "pyspark.sql.connect.session")
"""The modules with a class `SparkSession`: sessions with a JVM, and Spark Connect's."""


def activate() -> None:
    """Capture sessions created from now on, even if PySpark is imported; do nothing if already active."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in _MODULES:
        if name in sys.modules:
            _wrap_session(sys.modules[name])
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds the module of sessions as usual, and wraps its loader."""

    def __init__(self) -> None:
        self._is_searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of PySpark, with a loader that wraps its session; return None for others."""
        if fullname not in _MODULES or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = find_spec(fullname)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Loads the module of sessions, and wraps the constructor of sessions."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the wrapped loader creates."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with the wrapped loader, then make its sessions install capture."""
        self._loader.exec_module(module)
        _wrap_session(module)

    def __getattr__(self, name: str) -> Any:
        """Return a member that only the wrapped loader has, such as `get_source`, which tracebacks use."""
        return getattr(self._loader, name)


def _wrap_session(module: ModuleType) -> None:
    """Make the constructor of sessions install capture, once, because every way to a session calls it."""
    session = getattr(module, "SparkSession", None)
    if session is None or hasattr(session.__init__, "__wrapped__"):
        return
    original = session.__init__

    @wraps(original)
    def initialise(self: Any, *args: Any, **members: Any) -> None:
        """Create the session as before, then install capture."""
        original(self, *args, **members)
        _install(self)

    session.__init__ = initialise


def _install(session: Any) -> None:
    """Install capture for a session; log an error of importing or starting it instead of raising it."""
    try:
        from fll_hbase.capture.capture_session import install_once

        install_once(session)
    except Exception as error:  # noqa: BLE001 (a module of the job may hide one that capture imports)
        logging.getLogger("fll_hbase.capture").warning("capture is off: %s", error)
