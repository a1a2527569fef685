"""Column families of the HBase table: required settings, and shell statements to create and alter them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# `d`: small cells that every query reads. `o`: operations and graphs, for detailed queries only.
FAMILIES = ("d", "o")
COMPRESSION = "SNAPPY"
COMPRESSIONS = ("NONE", "SNAPPY", "LZ4", "ZSTD", "GZ")
# HBase reports "no expiry" as the largest Java int.
FOREVER_SECONDS = 2**31 - 1

SPLITS = (
    *(f"c|{digit:x}" for digit in range(1, 16)),
    "d",
    "f|",
    *(f"r|{digit:x}0" for digit in range(1, 16)),
)
"""Region boundaries of a new table. Content rows and run rows begin with a hash, so they spread evenly."""


@dataclass(frozen=True, slots=True, order=True)
class Family:
    """Settings of a column family as a gateway reports them; FOREVER_SECONDS means no expiry."""

    name: str
    versions: int
    ttl_seconds: int
    bloom_filter: str
    block_cache: bool
    compression: str


def create_statement(table: str, *, compression: str = COMPRESSION) -> str:
    """Return the HBase shell statement that creates the table with regions, encoding and compression."""
    families = [_render_family(name, _attributes(compression)) for name in FAMILIES]
    splits = ", ".join(f"'{split}'" for split in SPLITS)
    return ",\n  ".join([f"create '{table}'", *families, f"{{SPLITS => [{splits}]}}"])


def alter_statement(table: str, families: Mapping[str, Mapping[str, str]]) -> str:
    """Return the HBase shell statement that sets attributes, given by family, and adds missing families."""
    return ", ".join([f"alter '{table}'", *(_render_family(name, families[name]) for name in families)])


def required_fixes(families: Mapping[str, Family]) -> dict[str, dict[str, str]]:
    """Return, by family, the attributes that must change before the table can store lineage safely.

    With more than one version, deleted cells reappear. With a time to live, cells disappear. A missing family
    gets all attributes of a new one, but no compression.
    """
    fixes: dict[str, dict[str, str]] = {}
    for name in FAMILIES:
        family = families.get(name)
        if family is None:
            # Use no compression, because other codecs may not be installed on the cluster.
            fixes[name] = _attributes("NONE")
            continue
        if family.versions != 1:
            fixes.setdefault(name, {})["VERSIONS"] = "1"
        if family.ttl_seconds != FOREVER_SECONDS:
            fixes.setdefault(name, {})["TTL"] = "FOREVER"
    return fixes


def suggestions(families: Mapping[str, Family]) -> dict[str, dict[str, str]]:
    """Return, by existing family, the attributes whose change would speed up reading, or {}."""
    changes: dict[str, dict[str, str]] = {}
    for name in FAMILIES:
        family = families.get(name)
        if family is not None and family.bloom_filter != "ROW":
            changes.setdefault(name, {})["BLOOMFILTER"] = "ROW"
        if family is not None and not family.block_cache:
            changes.setdefault(name, {})["BLOCKCACHE"] = "true"
    return changes


def _attributes(compression: str) -> dict[str, str]:
    """Return the attributes of a new column family in HBase shell terms."""
    return {
        "VERSIONS": "1",
        "BLOOMFILTER": "ROW",
        "DATA_BLOCK_ENCODING": "FAST_DIFF",
        "COMPRESSION": compression,
        "BLOCKCACHE": "true",
        "TTL": "FOREVER",
    }


def _render_family(name: str, attributes: Mapping[str, str]) -> str:
    """Return a column family with its attributes in HBase shell syntax: `{NAME => 'd', ...}`."""
    pairs = {"NAME": name, **attributes}
    return "{" + ", ".join(f"{key} => '{value}'" for key, value in pairs.items()) + "}"
