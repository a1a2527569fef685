"""The running release: its version, and its commit if that is known."""

from __future__ import annotations

import os
import re

VERSION = "0.1.0"
"""The version of the release, which the build, the API, metrics and reports read from here."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TREE = os.path.dirname(_PACKAGE)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_DIGITS = 12


def describe_release() -> str:
    """Return the version, with the commit if it is known: `0.1.0 (abcdef123456)`.

    A build may have written the commit into the package. In a git tree of this project it is the commit that
    is checked out, whether or not there are uncommitted changes.
    """
    commit = find_commit(_PACKAGE, _TREE)
    return f"{VERSION} ({commit[:_DIGITS]})" if commit else VERSION


def find_commit(package: str, tree: str) -> str:
    """Return the commit of a package, which is `tree/fll_hbase` in a git tree, or "" if it is unknown.

    This only reads files, because starting git takes longer than the rest of `fll --version`. Unexpected
    files, such as another format of references, make the commit unknown and raise nothing.
    """
    written = _read(os.path.join(package, "commit"))
    if _COMMIT.fullmatch(written):
        return written
    # A git tree that merely contains a copy of the package has its own commits.
    if not os.path.isfile(os.path.join(tree, "api", "command.py")):
        return ""
    return _head_commit(_git_folder(tree))


def _git_folder(tree: str) -> str:
    """Return the folder with HEAD, which the file `.git` names in a linked worktree."""
    path = os.path.join(tree, ".git")
    pointer = re.fullmatch(r"gitdir: (.+)", _read(path))
    return os.path.join(tree, pointer[1]) if pointer else path


def _head_commit(folder: str) -> str:
    """Return the commit of HEAD in a git folder, or "" if it, or the branch that it names, is unknown."""
    head = _read(os.path.join(folder, "HEAD"))
    reference = re.fullmatch(r"ref: (refs/[^\0]+)", head)
    if reference is None:
        return head if _COMMIT.fullmatch(head) else ""
    # A further worktree has its own HEAD, but shares branches with the first.
    shared = os.path.join(folder, _read(os.path.join(folder, "commondir")))
    commit = _read(os.path.join(shared, reference[1]))
    if _COMMIT.fullmatch(commit):
        return commit
    packed = _read(os.path.join(shared, "packed-refs"))
    line = re.search(rf"^([0-9a-f]+) {re.escape(reference[1])}$", packed, re.MULTILINE)
    return line[1] if line and _COMMIT.fullmatch(line[1]) else ""


def _read(path: str) -> str:
    """Return the text of a file without surrounding white space, or "" if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
