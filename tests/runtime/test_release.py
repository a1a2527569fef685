"""The release that runs: version and commit, as files of the package and of git state them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fll_hbase import __version__
from fll_hbase.runtime import release

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git tree with one commit, in which the package is where this project has it."""
    folder = tmp_path / "tree"
    for name in ("api/command.py", "fll_hbase/__init__.py"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def commit_of(tree: Path) -> str:
    return release.find_commit(str(tree / "fll_hbase"), str(tree))


class TestGitTree:
    def test_a_branch(self, tree: Path) -> None:
        assert commit_of(tree) == git(tree, "rev-parse", "HEAD")

    def test_packed_references(self, tree: Path) -> None:
        git(tree, "branch", "main2")
        git(tree, "pack-refs", "--all")
        assert not (tree / ".git/refs/heads/main").exists()
        assert commit_of(tree) == git(tree, "rev-parse", "HEAD")

    def test_a_branch_is_newer_than_its_packed_reference(self, tree: Path) -> None:
        git(tree, "pack-refs", "--all")
        git(tree, "commit", "--quiet", "--allow-empty", "--message", "second")
        assert commit_of(tree) == git(tree, "rev-parse", "HEAD") != git(tree, "rev-parse", "HEAD~1")

    def test_a_commit_without_a_branch(self, tree: Path) -> None:
        git(tree, "checkout", "--quiet", "--detach")
        assert commit_of(tree) == git(tree, "rev-parse", "HEAD")

    @pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
    def test_a_further_worktree(self, tree: Path, packed: bool) -> None:
        further = tree.parent / "further"
        git(tree, "worktree", "add", "--quiet", "-b", "topic/one", str(further))
        git(further, "commit", "--quiet", "--allow-empty", "--message", "second")
        if packed:
            git(tree, "pack-refs", "--all")
        assert commit_of(further) == git(further, "rev-parse", "HEAD") != commit_of(tree)

    def test_a_tree_of_another_project_has_other_commits(self, tree: Path) -> None:
        (tree / "api/command.py").unlink()
        assert commit_of(tree) == ""


class TestOddFiles:
    @pytest.mark.parametrize(
        "head",
        [
            b"",
            b"ref: ",
            b"ref: refs/heads/gone",
            b"ref: refs/heads/.invalid",
            b"0123abc",
            b"\xff\xfe",
            b"ref: refs/\0",
        ],
        ids=["empty", "no name", "no branch", "reftable", "short", "not UTF-8", "zero byte"],
    )
    def test_a_head_that_cannot_be_read_is_no_commit(self, tree: Path, head: bytes) -> None:
        (tree / ".git/HEAD").write_bytes(head)
        assert commit_of(tree) == ""

    def test_references_that_are_no_commits(self, tree: Path) -> None:
        (tree / ".git/refs/heads/main").write_text("main\n")
        (tree / ".git/packed-refs").write_text("abc refs/heads/main\n")
        assert commit_of(tree) == ""

    def test_a_worktree_whose_repository_is_gone(self, tree: Path) -> None:
        further = tree.parent / "further"
        git(tree, "worktree", "add", "--quiet", str(further))
        tree.rename(tree.parent / "moved")
        assert commit_of(further) == ""

    def test_no_tree(self, tmp_path: Path) -> None:
        assert commit_of(tmp_path) == ""


def test_a_build_may_have_written_the_commit(tree: Path) -> None:
    (tree / "fll_hbase/commit").write_text(f"{COMMIT}\n")
    assert commit_of(tree) == COMMIT
    (tree / "fll_hbase/commit").write_text("unknown\n")
    assert commit_of(tree) == git(tree, "rev-parse", "HEAD")


def test_the_version_is_printed_with_the_commit_of_this_tree() -> None:
    """The repository is a git tree, or a copy of its files without one."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True)
    expected = f"{__version__} ({done.stdout[:12]})" if (root / ".git").exists() else __version__
    assert release.describe_release() == expected
    program = "from api.command import main; main(['--version'])"
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert printed.stdout == f"fll {expected}\n"
