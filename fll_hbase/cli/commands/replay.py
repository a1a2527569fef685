"""`fll replay`: record the documents that wait in a spool."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.options import Target, replace_option, target_options
from fll_hbase.ingest.outcomes import RecordOutcome, RecordResult
from fll_hbase.recorder import replay as spool_replay
from fll_hbase.recorder.spool import Spool, SpoolLimits, open_spool
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import ConfigurationError, InputError, LineageError
from fll_hbase.runtime.escape import escape_control

REFUSED = "refused"


@groups.command("fll replay /var/spool/lineage --server http://localhost:8080")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@replace_option
@target_options
def replay(*, directory: Path, take_over: bool, target: Target) -> None:
    """Record the documents of the spool DIR, and remove each once it is acknowledged.

    Recorders write to a spool what they cannot send. A document that is refused is reported with every error
    and renamed to `….refused`. After an interruption, run the same command again; runs are stored once.
    """
    settings = config.from_environment(store=target.store)
    limits = SpoolLimits(settings.spool_files_max, settings.spool_bytes_max)
    spool = open_spool(directory, limits, create=False)
    counts: Counter[str] = Counter()
    with target.open(create=True) as client:
        try:
            documents = spool_replay.replay(
                spool, client, bytes_max=settings.document_bytes_max, take_over=take_over
            )
            for document in documents:
                if isinstance(document.result, RecordResult):
                    counts[document.result.outcome.value] += 1
                else:
                    counts[REFUSED] += 1
                    print_err(escape_control(f"{document.path}: {document.result}"))
        except LineageError as error:
            raise _incomplete(error, spool, counts) from error
    click.echo(_summary(counts))
    if counts[REFUSED]:
        click.get_current_context().exit(FAILURE)


def _incomplete(error: LineageError, spool: Spool, counts: Counter[str]) -> LineageError:
    """Return an error with the exit code of `error` that also says what was done and what to do next."""
    kind = ConfigurationError if isinstance(error, (ConfigurationError, InputError)) else LineageError
    remaining = spool.documents()
    first = f", the first is {remaining[0]}" if remaining else ""
    return kind(f"{error}. So far: {_summary(counts)}; {len(remaining)} remain{first}. Run it again")


def _summary(counts: Counter[str]) -> str:
    """Return the number of documents by outcome, as text in a fixed order."""
    words = [*(outcome.value for outcome in RecordOutcome), REFUSED]
    return ", ".join(f"{counts[word]} {word}" for word in words)
