"""Start of Python under `fll capture run`: the hook, then the module of this name that it hides.

Python imports `sitecustomize` when it starts. This directory is first in the PYTHONPATH that `run` sets.
"""

import os
import sys

_directory = os.path.dirname(os.path.abspath(__file__))


def _remove_directory() -> None:
    """Restore the import path without this directory, including for child processes."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _directory]
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    left = [entry for entry in entries if entry and os.path.abspath(entry) != _directory]
    os.environ.pop("PYTHONPATH", None)
    if left:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)


def _import_original() -> None:
    """Import the module that this one hides, or leave this one under its name if there is none."""
    module = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
        # Importers of this module look for it under this name.
        sys.modules[__name__] = module


def _activate() -> None:
    """Activate the hook. Where `fll_hbase` cannot be imported, write a line to standard error instead."""
    try:
        from fll_hbase.capture import hook
    except ImportError as error:
        # This Python is not the one that runs `fll`, so the job runs without capture.
        sys.stderr.write(f"capture is off: {sys.executable}: {error}\n")
    else:
        hook.activate()


_remove_directory()
_activate()
_import_original()
