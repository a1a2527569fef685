"""Which end point does a DataHub urn name, and which urn an end point: one rule, both ways.

`urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)` is `db.table` in the namespace `hive`; where the
environment is not PROD the namespace says it, `hive:DEV`. A platform instance stays first in the name. Commas
and parentheses, which urns hold percent-encoded, stand as they are in the names of end points. Other entities
keep their urn: `urn:li:chart:(looker,a)` is `(looker,a)` in the namespace `urn:li:chart`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from fll_hbase.model.datasets import Dataset

PROD = "PROD"
_DATASET = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:([^,]+),(.+),([A-Za-z0-9_]+)\)", re.DOTALL)
_ENTITY = re.compile(r"(urn:li:(?!dataset:)[A-Za-z0-9]+):(.+)", re.DOTALL)
_ENTITIES = re.compile(r"urn:li:(?!dataset\Z)[A-Za-z0-9]+")
_FIELD = "urn:li:schemaField:("
_PLAIN_FIELD = re.compile(r"urn:li:schemaField:\((urn:li:dataset:\([^()]*\)),(.+)\)", re.DOTALL)
_JOB = re.compile(r"urn:li:dataJob:\(urn:li:dataFlow:\(([^,]+),(.+),([^,()]+)\),(.+)\)", re.DOTALL)
_ENVIRONMENT = re.compile(r"(.+):([A-Za-z0-9_]+)", re.DOTALL)

_CODES = {",": "2C", "(": "28", ")": "29", "␟": "E2%90%9F"}
_CHARACTERS = {code: character for character, code in _CODES.items()}
_ENCODED = re.compile(r"%((?:25)*)(2C|28|29|E2%90%9F)")


class Field(NamedTuple):
    """What a schemaField urn names: a field path as DataHub has it, in an end point."""

    end_point: Dataset
    path: str


@lru_cache(1_024)
def end_point(urn: str) -> Dataset:
    """The end point that a urn names. Raises ValueError for what is no urn of an entity."""
    dataset = _DATASET.fullmatch(urn)
    if dataset and not dataset[1].startswith("urn:"):
        platform, name, environment = decoded(dataset[1]), decoded(dataset[2]), dataset[3]
        return Dataset(_namespace(platform, environment), name)
    entity = _ENTITY.fullmatch(urn)
    if entity:
        return Dataset(entity[1], entity[2])
    raise ValueError(
        f"{urn[:200]!r} is no urn of a dataset: urn:li:dataset:(urn:li:dataPlatform:…,name,PROD)"
    )


def urn(of: Dataset) -> str:
    """The urn that names an end point; `end_point` is its inverse but for a needless `:PROD`."""
    if _ENTITIES.fullmatch(of.namespace):
        return f"{of.namespace}:{of.name}"
    platform, environment = parts(of.namespace)
    return f"urn:li:dataset:(urn:li:dataPlatform:{encoded(platform)},{encoded(of.name)},{environment})"


def parts(namespace: str) -> tuple[str, str]:
    """The platform and the environment that a namespace says."""
    said = _ENVIRONMENT.fullmatch(namespace)
    return (said[1], said[2]) if said else (namespace, PROD)


def field(urn: str) -> Field:
    """The field that a schemaField urn names. Raises ValueError for anything else."""
    plain = _PLAIN_FIELD.fullmatch(urn)
    if plain:
        return Field(end_point(plain[1]), decoded(plain[2]))
    inner = urn[len(_FIELD) : -1]
    comma = _end_of_urn(inner)
    if not urn.startswith(_FIELD) or not urn.endswith(")") or comma < 0 or not inner[comma + 1 :]:
        raise ValueError(
            f"{urn[:200]!r} is no urn of a field: urn:li:schemaField:(<urn of a dataset>,<path>)"
        )
    return Field(end_point(inner[:comma]), decoded(inner[comma + 1 :]))


def field_urn(of: Field) -> str:
    """The schemaField urn of a field path."""
    return f"{_FIELD}{urn(of.end_point)},{encoded(of.path)})"


class Job(NamedTuple):
    """A data job: where it runs, its flow and itself."""

    namespace: str
    flow: str
    name: str


def job(urn: str) -> Job:
    """The job that a dataJob urn names. Raises ValueError for anything else."""
    said = _JOB.fullmatch(urn)
    if said is None:
        raise ValueError(
            f"{urn[:200]!r} is no urn of a job: urn:li:dataJob:(urn:li:dataFlow:(…,…,PROD),name)"
        )
    orchestrator, flow, cluster, name = map(decoded, said.groups())
    return Job(_namespace(orchestrator, cluster), flow, name)


def encoded(text: str) -> str:
    """Text as a part of a urn. What looks encoded already gets one `25` more, so that nothing is lost."""
    text = _ENCODED.sub(lambda found: f"%25{found[1]}{found[2]}", text)
    return "".join(f"%{_CODES[character]}" if character in _CODES else character for character in text)


def decoded(text: str) -> str:
    """The inverse of `encoded`."""
    if "%" not in text:
        return text
    return _ENCODED.sub(
        lambda found: f"%{found[1][2:]}{found[2]}" if found[1] else _CHARACTERS[found[2]], text
    )


def _namespace(platform: str, environment: str) -> str:
    plain = environment == PROD and not _ENVIRONMENT.fullmatch(platform)
    return platform if plain else f"{platform}:{environment}"


def _end_of_urn(text: str) -> int:
    """Where the comma after a leading urn is, -1 without one: parentheses nest."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            return place
    return -1
