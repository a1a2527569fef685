"""Identity of a stream: the store, source and rejects directory that a checkpoint belongs to.

Spark's checkpoint has positions in a source, but not the name of the source. With another store or source, a
stream would continue at these positions, and lose everything before. Therefore a file in the checkpoint names
its stream, and each start compares it. The marker of the rejects directory (see output_directory) names the
checkpoint, because two checkpoints number their batches alike and would replace each other's rejected lines.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.hadoop_files import HadoopDirectory

IDENTITY_FILE = "fll-stream.json"
"""Name of the file in a checkpoint. Spark ignores names there that are not its own."""

_SPARK_NAMES = frozenset({"metadata", "offsets", "commits", "sources", "state"})
_CREDENTIALS = re.compile(r"//[^/@]*@")

_MEMBERS = ("store", "source", "ending", "rejects", "checkpoint")
"""Members that must be the same at each start, in the order in which differences are reported."""


@dataclass(frozen=True, slots=True)
class StreamIdentity:
    """The stream that a checkpoint belongs to, without credentials; paths are qualified.

    `begun` is the time of the first start, which distinguishes a new checkpoint in the same place.
    """

    store: str
    source: str
    checkpoint: str
    rejects: str
    ending: str
    begun: str

    @property
    def owner(self) -> str:
        """Return a string that identifies the checkpoint by path and first start in its rejects directory."""
        return f"the checkpoint {self.checkpoint} begun {self.begun}"


def claim_checkpoint(spark: SparkSession, path: str, identity: StreamIdentity) -> StreamIdentity:
    """Compare the identity with the one stored at the path, or store it there if there is none.

    Before the first batch, another identity replaces the stored one. Afterwards, identities that differ raise
    ConfigurationError with both values. Return the identity with the time of the first start, without
    credentials. Raises ConfigurationError for a directory with other files or a damaged identity, or that
    cannot be written.
    """
    public = {name: _CREDENTIALS.sub("//", value) for name, value in asdict(identity).items()}
    wanted = StreamIdentity(**public)
    try:
        directory = HadoopDirectory(spark, path)
        _refuse_foreign_names(directory, path)
        stored = _read(directory, path)
        # Before the first batch, nothing depends on the identity, which mistyped options may have written.
        if stored is not None and next(directory.names("offsets"), None) is not None:
            _compare(stored, wanted, path)
        begun = stored.begun if stored else datetime.now(UTC).isoformat(timespec="milliseconds")
        agreed = replace(wanted, begun=begun)
        if stored != agreed:
            directory.create()
            directory.delete(IDENTITY_FILE)
            directory.write(IDENTITY_FILE, json.dumps(asdict(agreed), indent=1).encode() + b"\n")
    except Py4JJavaError as error:
        reason = str(error.java_exception.toString()).partition("\n")[0]
        raise ConfigurationError(f"the checkpoint {path!r} cannot be written: {reason}") from error
    return agreed


def _compare(stored: StreamIdentity, wanted: StreamIdentity, path: str) -> None:
    """Raise ConfigurationError with the first member of _MEMBERS that differs."""
    for member in _MEMBERS:
        first, present = getattr(stored, member), getattr(wanted, member)
        if first != present:
            raise ConfigurationError(
                f"the checkpoint {path!r} was begun with the {member} {first!r}, not {present!r}: start with"
                " that one, or with a new checkpoint and rejects directory; if it is the same under another"
                f" name, correct {member!r} in {IDENTITY_FILE} there"
            )


def _refuse_foreign_names(directory: HadoopDirectory, path: str) -> None:
    """Raise ConfigurationError for the first name that is neither Spark's, hidden, nor IDENTITY_FILE."""
    for name in directory.names():
        if name not in _SPARK_NAMES | {IDENTITY_FILE} and not name.startswith((".", "_")):
            raise ConfigurationError(
                f"{path!r} contains {name!r}, which is not part of a checkpoint; use an empty directory"
            )


def _read(directory: HadoopDirectory, path: str) -> StreamIdentity | None:
    """Return the identity in a checkpoint, or None if absent. Raises ConfigurationError if it is damaged."""
    if not directory.exists(IDENTITY_FILE):
        return None
    try:
        return typed_json.decode(directory.read(IDENTITY_FILE), StreamIdentity)
    except ValueError as error:
        raise ConfigurationError(
            f"{path}/{IDENTITY_FILE} is not the identity of a stream: {error}; restore it, or use a new"
            " checkpoint and rejects directory"
        ) from error
