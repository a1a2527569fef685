"""A checkpoint belongs to one store, one source and one directory of rejected lines."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.output_directory import REJECTS
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.streams.stream_identity import IDENTITY_FILE, StreamIdentity, claim_checkpoint
from tests.support.profiles import COSTLY
from tests.support.stream_process import documents, move_file, rejected_lines
from tests.support.stream_setup import StreamSetup, files_below


@pytest.fixture
def setup(tmp_path: Path, spark: SparkSession) -> StreamSetup:
    """A stream that has recorded one line and rejected another."""
    setup = StreamSetup(tmp_path, spark)
    move_file(setup.folder, "first", [*documents(0, 1), b"{}"], time_s=1)
    assert setup.drain()[0].counts == LineCounts(recorded=1, rejected=1)
    return setup


def test_another_store_source_or_directory_is_refused_and_nothing_changes(setup: StreamSetup) -> None:
    other_folder, other_url = setup.home / "other", f"sqlite:///{setup.home}/other.db"
    move_file(other_folder, "second", documents(1, 1), time_s=2)
    files = files_below(setup.home)
    with pytest.raises(ConfigurationError) as store:
        setup.drain(url=other_url)
    assert f"begun with the store {setup.url!r}, not {other_url!r}: start with that one" in str(store.value)
    with pytest.raises(ConfigurationError) as source:
        setup.drain(folder=other_folder)
    assert f"the source 'file:{setup.folder}', not 'file:{other_folder}'" in str(source.value)
    with pytest.raises(ConfigurationError) as rejects:
        setup.drain(rejects=setup.home / "new")
    assert f"the rejects 'file:{setup.rejects}', not 'file:{setup.home}/new'" in str(rejects.value)
    assert all(IDENTITY_FILE in str(caught.value) for caught in (store, source, rejects))
    assert files_below(setup.home) == files
    assert setup.drain() == []


def test_two_checkpoints_do_not_share_rejected_lines(setup: StreamSetup) -> None:
    lines = rejected_lines(setup.rejects)
    other = setup.home / "checkpoint 2"
    with pytest.raises(ConfigurationError) as caught:
        setup.drain(checkpoint=other)
    for checkpoint in (setup.checkpoint, other):
        assert f"the checkpoint file:{checkpoint} begun 2" in str(caught.value).replace("%20", " ")
    shutil.rmtree(setup.checkpoint)
    with pytest.raises(ConfigurationError, match="belongs to 'the checkpoint"):
        setup.drain()
    (setup.rejects / REJECTS).unlink()
    with pytest.raises(ConfigurationError, match="not ours"):
        setup.drain()
    assert rejected_lines(setup.rejects) == lines


def test_other_names_of_the_same_directories_are_the_same(setup: StreamSetup) -> None:
    move_file(setup.folder, "second", documents(1, 1), time_s=2)
    again = setup.drain(
        url=f"sqlite:///{setup.home}/incoming/../store.db",
        folder=f"file://{setup.folder}/",
        checkpoint=f"file:{setup.home}/./checkpoint/",
        rejects=os.path.relpath(setup.rejects),
    )
    assert [batch.counts for batch in again] == [LineCounts(recorded=1)]


def test_a_store_that_was_moved_is_corrected_by_hand_and_a_broken_file_refused(setup: StreamSetup) -> None:
    file = setup.checkpoint / IDENTITY_FILE
    text = file.read_text()
    Path(setup.home / "store.db").rename(setup.home / "moved.db")
    moved = f"sqlite:///{setup.home}/moved.db"
    with pytest.raises(ConfigurationError, match="correct 'store'"):
        setup.drain(url=moved)
    file.write_text(text.replace(setup.url, moved))
    assert setup.drain(url=moved) == []
    incomplete = {name: value for name, value in json.loads(file.read_text()).items() if name != "begun"}
    for broken in ("", "[]", "{}", '{"store": 1}', json.dumps(incomplete)):
        file.write_text(broken)
        with pytest.raises(ConfigurationError, match="not the identity of a stream"):
            setup.drain(url=moved)
    # As a checkpoint of an earlier release.
    file.unlink()
    with pytest.raises(ConfigurationError, match="belongs to 'the checkpoint"):
        setup.drain(url=moved)


def test_a_start_that_read_nothing_binds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    setup = StreamSetup(tmp_path, spark)
    setup.folder.mkdir()
    (tmp_path / "mistyped").mkdir()
    assert setup.drain(folder=tmp_path / "mistyped", url=setup.other_url) == []
    move_file(setup.folder, "first", documents(0, 1), time_s=1)
    assert setup.drain()[0].counts == LineCounts(recorded=1)


def test_directories_of_others_are_refused_and_not_changed(setup: StreamSetup) -> None:
    mine = setup.home / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    files = files_below(setup.home)
    with pytest.raises(ConfigurationError, match=r"contains 'notes.txt'"):
        setup.drain(checkpoint=mine)
    for checkpoint in (setup.rejects, setup.rejects / "checkpoint"):
        with pytest.raises(ConfigurationError, match="use separate directories"):
            setup.drain(checkpoint=checkpoint)
    with pytest.raises(ConfigurationError, match="use separate directories"):
        setup.drain(rejects=setup.checkpoint / "rejects")
    assert files_below(setup.home) == files


def test_a_file_of_somebody_in_the_directory_of_a_batch_is_not_replaced(setup: StreamSetup) -> None:
    notes = setup.rejects / "batch=0" / "part-notes.json"
    notes.write_text("{}")
    setup.forget_commit(0)
    with pytest.raises(ConfigurationError, match="part-notes"):
        setup.drain()
    assert notes.read_text() == "{}"


def test_a_stream_beside_another_of_the_same_checkpoint_ends_with_what_to_do(setup: StreamSetup) -> None:
    """The other one commits the batch while it is recorded here."""
    move_file(setup.folder, "second", documents(1, 1), time_s=2)
    with pytest.raises(ConfigurationError, match="another stream is using the checkpoint"):
        setup.drain(in_batch=lambda: setup.commit(1))


def test_credentials_are_not_written(spark: SparkSession, tmp_path: Path) -> None:
    identity = StreamIdentity(
        "hbase://a:9090/t", "s3a://key:secret@bucket/folder", "file:/c", "file:/r", "", ""
    )
    agreed = claim_checkpoint(spark, str(tmp_path / "c"), identity)
    assert agreed.source == "s3a://bucket/folder"
    assert "secret" not in (tmp_path / "c" / IDENTITY_FILE).read_text()


NAMES = ("part-0", "_SUCCESS", ".x.crc", "batch=0/part-1.json", "_fll_new-1/part-0", "a b: 100%")
"""Names that Spark and our own jobs use, too."""


@settings(max_examples=COSTLY, suppress_health_check=list(HealthCheck))
@given(beside=st.sets(st.sampled_from(NAMES), min_size=3), inside=st.sets(st.sampled_from([".x", "_mine"])))
def test_files_around_the_directories_stay(
    beside: set[str], inside: set[str], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("around")
    setup = StreamSetup(home / "stream", spark)
    files = [home / name for name in beside] + [setup.home / name for name in beside]
    files += [folder / name for folder in (setup.checkpoint, setup.folder) for name in inside]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(file))
    move_file(setup.folder, "first", [*documents(0, 1), b"{}"], time_s=1)
    assert setup.drain()[0].counts == LineCounts(recorded=1, rejected=1)
    setup.forget_commit(0)
    move_file(setup.folder, "second", documents(1, 1), time_s=2)
    assert len(setup.drain()) == 2
    assert [file.read_text() for file in files] == [str(file) for file in files]
