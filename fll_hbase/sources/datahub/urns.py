"""From DataHub urns to datasets and back; an invalid urn in an aspect becomes an error with its path.

`urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)` is `db.table` in the namespace `hive`. An
environment other than PROD is part of the namespace, as in `hive:DEV`. A platform instance is the first part
of a name. Commas and parentheses are percent-encoded in urns and plain in names of datasets. The urn of any
other entity is split: `urn:li:chart:(looker,a)` is `(looker,a)` in the namespace `urn:li:chart`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.datahub import schema_paths
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part

NOWHERE = Dataset("?", "?")
PROD = "PROD"
URN_BYTES_MAX = 2**16
"""Longer than any urn of allowed names; reading a urn of megabytes would take a fifth of a second."""
_DATASET = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:([^,]+),(.+),([A-Za-z0-9_]+)\)", re.DOTALL)
_ENTITY = re.compile(r"(urn:li:(?!dataset:)[A-Za-z0-9]+):(.+)", re.DOTALL)
_ENTITIES = re.compile(r"urn:li:(?!dataset\Z)[A-Za-z0-9]+")
_FIELD = "urn:li:schemaField:("
# The common case, without parentheses in the name; other urns require counting parentheses.
_PLAIN_FIELD = re.compile(r"urn:li:schemaField:\((urn:li:dataset:\([^()]*\)),(.+)\)", re.DOTALL)
_JOB = re.compile(r"urn:li:dataJob:\(urn:li:dataFlow:\(([^,]+),(.+),([^,()]+)\),(.+)\)", re.DOTALL)
_ENVIRONMENT = re.compile(r"(.+):([A-Za-z0-9_]+)", re.DOTALL)

# The characters that DataHub's clients reserve in urns.
_CODES = {",": "2C", "(": "28", ")": "29", "␟": "E2%90%9F"}
_CHARACTERS = {code: character for character, code in _CODES.items()}
_ENCODED = re.compile(r"%((?:25)*)(2C|28|29|E2%90%9F)")
_T = TypeVar("_T")


class FieldUrn(NamedTuple):
    """A schemaField urn: a dataset and a field path in DataHub's notation."""

    dataset: Dataset
    path: str


# A message has few distinct dataset urns, each repeated in many field urns.
@lru_cache(1_024)
def parse_dataset(urn: str) -> Dataset:
    """Parse the urn of a dataset, whose name is decoded, or of another entity. Raises ValueError."""
    dataset = _DATASET.fullmatch(urn)
    if dataset and not dataset[1].startswith("urn:"):
        platform, name, environment = decode(dataset[1]), decode(dataset[2]), dataset[3]
        return Dataset(_namespace(platform, environment), name)
    entity = _ENTITY.fullmatch(urn)
    if entity:
        return Dataset(entity[1], entity[2])
    raise ValueError(
        f"{urn[:200]!r} is not an urn of a dataset: urn:li:dataset:(urn:li:dataPlatform:…,name,PROD)"
    )


def dataset_urn(dataset: Dataset) -> str:
    """Return the urn of a dataset: the inverse of `parse_dataset`, except for a redundant `:PROD`."""
    if _ENTITIES.fullmatch(dataset.namespace):
        return f"{dataset.namespace}:{dataset.name}"
    platform, environment = platform_and_environment(dataset.namespace)
    return f"urn:li:dataset:(urn:li:dataPlatform:{encode(platform)},{encode(dataset.name)},{environment})"


def platform_and_environment(namespace: str) -> tuple[str, str]:
    """Split a namespace: `hive:DEV` into `hive` and `DEV`, `hive` into `hive` and the default `PROD`.

    Other entities have no environment, so `urn:li:chart` is not split, and also has the default.
    """
    data = None if _ENTITIES.fullmatch(namespace) else _ENVIRONMENT.fullmatch(namespace)
    return (data[1], data[2]) if data else (namespace, PROD)


def parse_field(urn: str) -> FieldUrn:
    """Parse a schemaField urn and decode its path. Raises ValueError for any other text."""
    plain = _PLAIN_FIELD.fullmatch(urn)
    if plain:
        return FieldUrn(parse_dataset(plain[1]), decode(plain[2]))
    inner = urn[len(_FIELD) : -1]
    comma = _end_of_urn(inner)
    if not urn.startswith(_FIELD) or not urn.endswith(")") or comma < 0 or not inner[comma + 1 :]:
        raise ValueError(
            f"{urn[:200]!r} is not an urn of a field: urn:li:schemaField:(<urn of a dataset>,<path>)"
        )
    return FieldUrn(parse_dataset(inner[:comma]), decode(inner[comma + 1 :]))


class JobUrn(NamedTuple):
    """A dataJob urn: namespace of the orchestrator, flow and job name."""

    namespace: str
    flow: str
    name: str


def parse_job(urn: str) -> JobUrn:
    """Parse a dataJob urn and decode its parts. Raises ValueError for any other text."""
    data = _JOB.fullmatch(urn)
    if data is None:
        raise ValueError(
            f"{urn[:200]!r} is not an urn of a job: urn:li:dataJob:(urn:li:dataFlow:(…,…,PROD),name)"
        )
    orchestrator, flow, cluster, name = map(decode, data.groups())
    return JobUrn(_namespace(orchestrator, cluster), flow, name)


def encode(text: str) -> str:
    """Encode comma, parentheses and `␟` in one component of a urn, such as a name.

    A string `%2C` becomes `%252C`, as do other codes, so that `decode` returns exactly this string.
    """
    # A name may contain `%2C` itself, which `decode` would otherwise turn into a comma.
    text = _ENCODED.sub(lambda match: f"%25{match[1]}{match[2]}", text)
    return "".join(f"%{_CODES[character]}" if character in _CODES else character for character in text)


def decode(text: str) -> str:
    """Decode one component of a urn, the inverse of `encode`: codes of comma, parentheses and `␟`.

    Everything else is unchanged, including `%20` and a single `%`. Raises nothing.
    """
    if "%" not in text:
        return text
    return _ENCODED.sub(
        lambda match: f"%{match[1][2:]}{match[2]}" if match[1] else _CHARACTERS[match[2]], text
    )


def _namespace(platform: str, environment: str) -> str:
    # A platform that looks like `name:ENV` keeps `:PROD`, so that the reverse splits it correctly.
    plain = environment == PROD and not _ENVIRONMENT.fullmatch(platform)
    return platform if plain else f"{platform}:{environment}"


def _end_of_urn(text: str) -> int:
    """Return the index of the first comma outside parentheses, which ends a leading urn, or -1."""
    depth = 0
    for item_path, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            return item_path
    return -1


def read_dataset(urn: Part) -> Dataset:
    """Return the dataset of a urn, with an error if a name is too long; NOWHERE with an error if invalid."""
    dataset = _parse_urn(urn, parse_dataset)
    if dataset is None:
        return NOWHERE
    _check(urn, dataset)
    return dataset


def read_field(urn: Part) -> DatasetField:
    """Return the field of a schemaField urn, or a placeholder with an error for an invalid urn."""
    field = _parse_urn(urn, parse_field)
    if field is None:
        return DatasetField(NOWHERE, "?")
    _check(urn, field.dataset)
    name = urn.validator.name(schema_paths.field_name(field.path), urn.path, bytes_max=NAME_BYTES_MAX)
    return DatasetField(field.dataset, name)


def read_dataset_member(holder: Part, name: str) -> Dataset:
    """Return the dataset whose urn is a required member, or NOWHERE with an error if it is missing."""
    if name not in holder:
        holder.error("missing", name)
        return NOWHERE
    return read_dataset(holder.member(name))


def _parse_urn(urn: Part, reading: Callable[[str], _T]) -> _T | None:
    """Parse a urn, or return None with an error if it is invalid."""
    errors_before = urn.validator.errors.count
    text = urn.name(bytes_max=URN_BYTES_MAX)
    # The error is already reported, and parsing the placeholder would add a false error.
    if urn.validator.errors.count > errors_before:
        return None
    try:
        return reading(text)
    except ValueError as error:
        urn.error(str(error))
        return None


def _check(urn: Part, dataset: Dataset) -> None:
    """Add an error at the urn if its dataset's namespace or name is empty or too long."""
    urn.validator.name(dataset.namespace, urn.path, bytes_max=ID_BYTES_MAX)
    urn.validator.name(dataset.name, urn.path, bytes_max=NAME_BYTES_MAX)
