"""Print the test files and folders of an area, or of the changes in the working tree.

    python tools/areas.py store    tests of fll_hbase/store
    python tools/areas.py          tests of what differs from the last commit, untracked files included

An area is a package of `fll_hbase`, `api` or `page`. `make quick` and `make test-stress` run these tests.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"


def areas() -> list[str]:
    """Return the names of all areas that have a folder of tests."""
    packages = sorted(path.parent.name for path in ROOT.glob("fll_hbase/*/__init__.py"))
    return [name for name in [*packages, "api", "page"] if (TESTS / name).is_dir()]


def tests_of(path: str) -> str:
    """Return the tests of one file of the repository, empty for a file that no area contains."""
    parts = Path(path).parts
    if parts[0] == "tests" and Path(path).name.startswith("test_"):
        return path
    if parts[0] == "tests" and len(parts) > 2:
        return str(Path(*parts[:2]))
    area = parts[1] if parts[0] == "fll_hbase" and len(parts) > 2 else parts[0]
    return f"tests/{area}" if area in areas() else ""


def changed_files() -> list[str]:
    """Return the files that differ from the last commit."""
    listed: list[str] = []
    for command in ("git diff --name-only HEAD", "git ls-files --others --exclude-standard"):
        done = subprocess.run(command.split(), cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
        listed += done.stdout.splitlines()
    return listed


def without_contained(paths: Iterable[str]) -> list[str]:
    """Return existing paths in order, leaving out what a folder among them contains."""
    existing = sorted({path for path in paths if path and (ROOT / path).exists()})
    return [path for path in existing if not any(path.startswith(f"{folder}/") for folder in existing)]


def main(arguments: list[str]) -> int:
    """Print the paths in one line; return 2, with the areas on standard error, for an unknown area."""
    if unknown := [name for name in arguments if name not in areas()]:
        print(f"invalid area {unknown[0]!r}: expected {', '.join(areas())}", file=sys.stderr)
        return 2
    paths = [f"tests/{name}" for name in arguments] or [tests_of(path) for path in changed_files()]
    print(*without_contained(paths))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
