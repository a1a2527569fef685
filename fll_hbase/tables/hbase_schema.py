"""How must the table be made: the column families and what each of them is told, as HBase's shell has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FAMILIES = ("d", "o")
COMPRESSION = "SNAPPY"
COMPRESSIONS = ("NONE", "SNAPPY", "LZ4", "ZSTD", "GZ")
FOREVER_SECONDS = 2**31 - 1

SPLITS = (
    *(f"c|{digit:x}" for digit in range(1, 16)),
    "d",
    "f|",
    *(f"r|{digit:x}0" for digit in range(1, 16)),
)
"""Where a new table is split into regions: contents and run rows spread by their hashes."""


@dataclass(frozen=True, slots=True, order=True)
class Family:
    """What a gateway tells of a column family; `ttl_seconds` is FOREVER_SECONDS where cells do not expire."""

    name: str
    versions: int
    ttl_seconds: int
    bloom_filter: str
    block_cache: bool
    compression: str


def create_statement(table: str, *, compression: str = COMPRESSION) -> str:
    """The shell's statement that makes the table as it should be, split and encoded."""
    families = [_told(name, _attributes(compression)) for name in FAMILIES]
    splits = ", ".join(f"'{split}'" for split in SPLITS)
    return ",\n  ".join([f"create '{table}'", *families, f"{{SPLITS => [{splits}]}}"])


def alter_statement(table: str, families: Mapping[str, Mapping[str, str]]) -> str:
    """The shell's statement that gives families these attributes, and makes those that are missing."""
    return ", ".join([f"alter '{table}'", *(_told(name, families[name]) for name in families)])


def mending(found: Mapping[str, Family]) -> dict[str, dict[str, str]]:
    """Attributes that must be changed before lineage is safe in a table; empty where it is.

    More than one version brings deleted cells back, and a time to live takes cells away.
    """
    wrong: dict[str, dict[str, str]] = {}
    for name in FAMILIES:
        family = found.get(name)
        if family is None:
            wrong[name] = _attributes("NONE")
            continue
        if family.versions != 1:
            wrong.setdefault(name, {})["VERSIONS"] = "1"
        if family.ttl_seconds != FOREVER_SECONDS:
            wrong.setdefault(name, {})["TTL"] = "FOREVER"
    return wrong


def advice(found: Mapping[str, Family]) -> dict[str, dict[str, str]]:
    """Attributes that would make reading faster."""
    slow: dict[str, dict[str, str]] = {}
    for name in FAMILIES:
        family = found.get(name)
        if family is not None and family.bloom_filter != "ROW":
            slow.setdefault(name, {})["BLOOMFILTER"] = "ROW"
        if family is not None and not family.block_cache:
            slow.setdefault(name, {})["BLOCKCACHE"] = "true"
    return slow


def _attributes(compression: str) -> dict[str, str]:
    return {
        "VERSIONS": "1",
        "BLOOMFILTER": "ROW",
        "DATA_BLOCK_ENCODING": "FAST_DIFF",
        "COMPRESSION": compression,
        "BLOCKCACHE": "true",
        "TTL": "FOREVER",
    }


def _told(name: str, attributes: Mapping[str, str]) -> str:
    pairs = {"NAME": name, **attributes}
    return "{" + ", ".join(f"{key} => '{value}'" for key, value in pairs.items()) + "}"
