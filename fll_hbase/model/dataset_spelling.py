"""Spellings of one dataset or field: what clients write differently though they mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

Name = tuple[str, str]
"""Namespace and name of a dataset."""

SCHEMES = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfs": "abfss",
    "wasb": "wasbs",
    "postgresql": "postgres",
    "sqlserver": "mssql",
    "mariadb": "mysql",
}
"""Schemes of namespaces, each with the one that the naming rules of OpenLineage have for it."""

PORTS = {
    "postgres": 5432,
    "mysql": 3306,
    "mssql": 1433,
    "oracle": 1521,
    "redshift": 5439,
    "hive": 9083,
    "hdfs": 8020,
    "trino": 8080,
    "cassandra": 9042,
}
"""Default ports, by scheme of the naming rules."""

_WITHOUT_TABLES = {
    "s3",
    "gs",
    "abfss",
    "wasbs",
    "hdfs",
    "dbfs",
    "file",
    "kafka",
    "pubsub",
    "pulsar",
    "kinesis",
}
"""Schemes of files and topics, whose names have no parts, and mean others in another case."""

HADOOP_S3 = re.compile(r"s3[an]://")
_STEPS_MAX = 16
"""Parts of a name, and directories above a path, that are looked at: names are long, and events have many."""
_QUOTED = re.compile(r'(?:"[^"./]+"|`[^`./]+`)(?:\.(?:"[^"./]+"|`[^`./]+`|[^"`./]+))*')
_QUOTED_LATER = re.compile(r'[^"`./]+(?:\.(?:"[^"./]+"|`[^`./]+`|[^"`./]+))+')


def without_quotes(name: str) -> str:
    """Return a name in a database without the quotes around its parts; other names as they are."""
    if '"' not in name and "`" not in name:
        return name
    is_quoted = _QUOTED.fullmatch(name) or _QUOTED_LATER.fullmatch(name)
    return name.replace('"', "").replace("`", "") if is_quoted else name


def object_name(namespace: str, name: str) -> Name:
    """Return an object of S3 as the naming rules have it, if Hadoop's scheme is used, else the names given.

    Hadoop's paths begin with a slash, and may end with one; keys of S3 do not.
    """
    if not HADOOP_S3.match(namespace):
        return namespace, name
    return HADOOP_S3.sub("s3://", namespace), name.strip("/") or name


def namespace_key(namespace: str) -> str:
    """Return what all spellings of a namespace have in common: scheme, host and port."""
    scheme, separator, host = namespace.removeprefix("jdbc:").partition("://")
    scheme = SCHEMES.get(scheme.lower(), scheme.lower()).rstrip(":/")
    host = host.rstrip("/").lower()
    if host and scheme in PORTS:
        # Of a database, this is a user; of others, the container in a storage account.
        host = host.rpartition("@")[2]
        host = host if ":" in host else f"{host}:{PORTS[scheme]}"
    return f"{scheme}{separator}{host}" if host else scheme


class DeclaredNames:
    """Datasets that a name in another spelling may mean."""

    def __init__(self) -> None:
        self._datasets: dict[Name, set[Name]] = {}
        self._shortened: dict[Name, set[Name]] = {}

    def add(self, dataset: Name, aliases: Iterable[Name] = ()) -> None:
        """Add a dataset with its further names."""
        for namespace, name in (dataset, *aliases):
            key, plain = _key(namespace, name)
            self._datasets.setdefault((key, plain), set()).add(dataset)
            for short in (*_suffixes(key, plain), *_without_partitions(plain)):
                self._shortened.setdefault((key, short), set()).add(dataset)

    def find(self, name: Name) -> Name | None:
        """Return the dataset that a name means, or None if none or several of them may be meant.

        It has the same name in another spelling, else one without the database, or a database more; a path
        is that of the nearest directory above it, or of the partitions below it.
        """
        key, plain = _key(*name)
        # The first that is declared: one that two datasets have means neither.
        candidates = self._datasets.get((key, plain)) or self._shortened.get((key, plain))
        for part in chain(_suffixes(key, plain), _parents(plain)) if not candidates else ():
            candidates = candidates or self._datasets.get((key, part))
        return next(iter(candidates)) if candidates and len(candidates) == 1 else None


def _key(namespace: str, name: str) -> tuple[str, str]:
    """Return the key of a namespace, and a name without slashes at its ends.

    That of a table is in lower case, without quotes.
    """
    key, path = namespace_key(namespace), name.strip("/")
    return key, without_quotes(path).casefold() if _is_table(key, path) else path


def _is_table(key: str, name: str) -> bool:
    """Return whether a name is one of a table, with parts, and not of a file or topic."""
    return "/" not in name and key.partition(":")[0] not in _WITHOUT_TABLES


def _suffixes(key: str, name: str) -> Iterator[str]:
    """Yield the names of a table without its database, and without its schema, none of a path or topic."""
    parts = name.rsplit(".", _STEPS_MAX) if _is_table(key, name) else []
    yield from (".".join(parts[start:]) for start in range(1, len(parts)))


def _parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    for _ in range(_STEPS_MAX):
        path = path.rpartition("/")[0]
        if not path:
            return
        yield path


def _without_partitions(path: str) -> Iterator[str]:
    """Yield the directories above the partitions that a path ends with."""
    last = path
    for directory in _parents(path):
        if "=" not in last[len(directory) :]:
            return
        yield directory
        last = directory


class FieldNames:
    """Fields of a schema, found under other spellings: nested ones with dots, and any in another case."""

    def __init__(self, fields: Iterable[str]) -> None:
        """Take the fields, nested ones as `a/b`."""
        self._fields = set(fields)
        self._spellings: dict[str, str | None] | None = None

    def add(self, fields: Iterable[str]) -> None:
        """Add the fields of a further schema of the same dataset."""
        self._fields.update(fields)
        self._spellings = None

    def find(self, name: str) -> str:
        """Return the field that a name means; the name itself if there is none, or more than one."""
        if name in self._fields or not self._fields:
            return name
        if self._spellings is None:
            self._spellings = self._find_spellings()
        return self._spellings.get(name) or self._spellings.get(name.casefold()) or name

    def _find_spellings(self) -> dict[str, str | None]:
        """Return the fields by dotted paths, and by both in lower case, or None where several match."""
        spellings: dict[str, str | None] = {}
        for field in sorted(self._fields):
            for spelling in {field.casefold(), field.replace("/", ".").casefold()}:
                spellings[spelling] = None if spelling in spellings else field
        # Dots as they are written go before another case.
        return spellings | {field.replace("/", "."): field for field in sorted(self._fields) if "/" in field}
