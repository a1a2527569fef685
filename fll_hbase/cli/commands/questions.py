"""`fll questions`: many questions of the REST API, answered together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import Target, target_options
from fll_hbase.cli.render import console
from fll_hbase.runtime.errors import FieldError, UnreadableDocument

FILE_BYTES_MAX = 2**24


@groups.command(
    "fll questions questions.txt --server http://localhost:8080",
    "echo /v3/search?q=uid | fll questions - --server http://localhost:8080",
)
@click.argument("file", metavar="FILE", type=click.File("rb"))
@target_options
def questions(*, file: BinaryIO, target: Target) -> None:
    """Ask the questions of FILE together, and print their answers as JSON, in their order.

    FILE has one query path per line, or is the JSON of a batch. A query path is the path of a GET request of
    the REST API. The command needs a server. Questions without an answer do not stop the others. The exit
    code is then 1.
    """
    listed = _read(file)
    with target.open() as client:
        answer = client.batch(*listed)
    console.print_json(answer.body)
    if answer.incomplete:
        print_err(f"fll: not complete: {answer.incomplete}.")
    failed = sum(item.status >= 400 for item in answer.body.answers)
    if failed:
        print_err(f"fll: {failed} of {len(listed)} questions failed; the status of each says why.")
        click.get_current_context().exit(1)


def _read(file: BinaryIO) -> Sequence[dict[str, Any]]:
    """Return the questions of a file that begins with `{`, which is JSON, or else has one path per line.

    Raises UnreadableDocument for a file that has none, is not UTF-8 or has over FILE_BYTES_MAX bytes.
    """
    raw = file.read(FILE_BYTES_MAX + 1)
    try:
        text = raw.decode()
        if text.lstrip().startswith("{"):
            listed = json.loads(text)["questions"]
        else:
            listed = [{"path": line.strip()} for line in text.splitlines() if line.strip()]
    except (ValueError, KeyError) as error:
        raise UnreadableDocument([FieldError("", f"the file has no questions: {error!r}")]) from error
    if len(raw) > FILE_BYTES_MAX or not isinstance(listed, list) or not listed:
        raise UnreadableDocument(
            [FieldError("", f"the file has no questions, or over {FILE_BYTES_MAX} bytes")]
        )
    return listed
