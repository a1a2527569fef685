"""Classes of the listener in the cache directory: used only if they are whole and this user's alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fll_hbase.capture import class_cache

CLASSES = {"fll.capture.CaptureListener": b"\xca\xfe\xba\xbe" * 1_000, "fll.capture.Types": b"\xca\xfe"}


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = class_cache.jar_path(["source", "4.3.0"])
    assert path is not None
    return path


def test_what_was_written_is_usable(jar: Path) -> None:
    assert not class_cache.is_usable(jar)
    class_cache.write(jar, CLASSES)
    assert class_cache.is_usable(jar)
    assert jar.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]


def test_every_part_has_its_own_jar(jar: Path) -> None:
    paths = [
        class_cache.jar_path(parts) for parts in (["source", "4.3.1"], ["source4.3.0"], ["source", "4.3.0"])
    ]
    assert len({jar, *paths}) == 3


def test_a_damaged_jar_is_not_used(jar: Path) -> None:
    class_cache.write(jar, CLASSES)
    content = jar.read_bytes()
    for damaged in (
        b"",
        content[:-30],
        content.replace(b"\xca\xfe\xba\xbe" * 1_000, b"\xca\xff\xba\xbe" * 1_000),
    ):
        jar.write_bytes(damaged)
        assert not class_cache.is_usable(jar)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_jar_that_others_may_write_is_not_used(jar: Path, mode: int) -> None:
    class_cache.write(jar, CLASSES)
    jar.chmod(mode)
    assert not class_cache.is_usable(jar)


def test_a_directory_that_others_may_write_is_neither_read_nor_written(jar: Path) -> None:
    class_cache.write(jar, CLASSES)
    jar.parent.chmod(0o777)
    assert not class_cache.is_usable(jar)
    jar.unlink()
    class_cache.write(jar, CLASSES)
    assert not jar.exists()


def test_a_link_is_not_used(jar: Path, tmp_path: Path) -> None:
    class_cache.write(jar, CLASSES)
    jar.rename(tmp_path / "elsewhere.jar")
    jar.symlink_to(tmp_path / "elsewhere.jar")
    assert not class_cache.is_usable(jar)


def test_the_oldest_are_removed_and_files_of_others_stay(jar: Path) -> None:
    class_cache.write(jar, CLASSES)
    (jar.parent / "notes.txt").write_text("mine")
    for number in range(class_cache.JARS_MAX):
        os.utime(jar, ns=(number, number))
        path = class_cache.jar_path([str(number)])
        assert path is not None
        class_cache.write(path, CLASSES)
    assert not jar.exists()
    assert len(list(jar.parent.glob("*.jar"))) == class_cache.JARS_MAX
    assert (jar.parent / "notes.txt").read_text() == "mine"


def test_several_write_at_once(jar: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: class_cache.write(jar, CLASSES), range(50)))
    assert class_cache.is_usable(jar)
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]


def test_a_directory_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = class_cache.jar_path(["source"])
    assert path is not None
    class_cache.write(path, CLASSES)
    assert not class_cache.is_usable(path)


def test_a_relative_directory_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert class_cache.jar_path(["source"]) is None
