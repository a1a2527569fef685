"""Files of `fll record`: kinds recognised by name, and advice about files without documents."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Any, BinaryIO

import click

from fll_hbase.ingest.document_batches import LocatedDocument

_RUN = "--namespace NS --application A --program P"
_SUFFIXES = {
    ".py .ipynb .scala .jar": "a program: `fll capture run` records what it does in Spark",
    ".csv .tsv .parquet .orc .avro .xlsx": "data: record the run that writes it, or see the options for rows",
    ".yaml .yml .xml .toml": "not JSON: FILE has documents, events or proposals as JSON",
    ".zip .tar .tgz .bz2 .xz .zst .7z": "packed: unpack it first (gzip alone is read without unpacking)",
}
"""Endings of names, with a description of such files."""

_STATEMENTS = (b"select", b"insert", b"create", b"merge", b"with", b"update", b"delete", b"--", b"/*")


class DocumentFile(click.File):
    """A file to read as bytes, `-` for standard input. The error for a folder says what to give instead."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Open the file. Raises BadParameter."""
        if isinstance(value, str) and value != "-" and Path(value).is_dir():
            self.fail(_advise_folder(Path(value)), param, ctx)
        return super().convert(value, param, ctx)


def _advise_folder(folder: Path) -> str:
    """Return what to do instead of giving a folder, which may be a dbt project."""
    for target in (folder, folder / "target"):
        if (target / "manifest.json").is_file():
            command = f"fll record --dbt {shlex.quote(str(target))} --namespace NS"
            return f"{str(folder)!r} is a dbt project: `{command}` records it."
    return f"{str(folder)!r} is a folder: give one file, or all to `fll spark load`."


def file_name(file: BinaryIO | None) -> str:
    """Return the name of a file as given, or `-` for standard input and for no file."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name != "<stdin>" else "-"


def file_status(file: BinaryIO | None) -> os.stat_result | None:
    """Return the size and times of a file on disk, or None for a pipe and for no file."""
    # A pipe has size 0 and another time each time, and an object other than a system file has no number.
    try:
        status = os.fstat(file.fileno()) if file else None
    except OSError:
        return None
    return status if status and stat.S_ISREG(status.st_mode) else None


def is_sql(file: BinaryIO | None) -> bool:
    """Return whether a file is a SQL script, by its name."""
    return file_name(file).lower().endswith(".sql")


def advise_file(file: BinaryIO, document: LocatedDocument) -> str:
    """Return the kind of a file whose first document was refused, and how to record it, or "" if unknown."""
    name = file_name(file)
    path, quoted = Path(name.lower()), shlex.quote(name)
    raw = document.line.raw
    if document.head.format.name == "pipelines" and not document.head.run:
        return f"{name} is a pipeline config: fll record --pipeline {quoted} {_RUN}"
    if b"dbt_schema_version" in raw:
        folder = shlex.quote(str(Path(name).parent))
        return f"{name} is an artifact of dbt: fll record --dbt {folder} --namespace NS"
    if b'"event_time"' in raw and b'"event"' in raw:
        return f"{name} has rows of Marquez: fll record --marquez {quoted}"
    if name.lower().endswith(".sql.gz"):
        return f"{name} is packed: unpack it, then fll record --sql {shlex.quote(name[:-3])} {_RUN}"
    for suffixes, kind in _SUFFIXES.items():
        if path.suffix in suffixes.split():
            return f"{name} is {kind}"
    if raw.lstrip()[:10].lower().startswith(_STATEMENTS):
        return f"{name} may be SQL: fll record --sql {quoted} {_RUN}"
    return ""
