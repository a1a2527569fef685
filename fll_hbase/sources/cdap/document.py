"""Which run does a document with a pipeline config record."""

from __future__ import annotations

from typing import Any

from fll_hbase.errors import FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.model import lineage
from fll_hbase.sources.cdap import dag
from fll_hbase.sources.cdap.config import read_pipeline
from fll_hbase.sources.cdap.flatten import flatten
from fll_hbase.sources.cdap.macros import Macros
from fll_hbase.sources.native.document import Reading, ReadOperations, read_namespace, read_run
from fll_hbase.sources.validation import Validator


def read_document(document: object, *, namespace: str | None) -> Reading:
    """The run that a document records, all stages of its pipeline flattened into operations.

    `namespace` is that of the URL; without one the document must name its own. What is not known of the
    pipeline is told in the warnings, a stage or field that does not fit likewise. Raises UnreadableDocument
    with every fault of shape, else InvalidLineage with every fault of the pipeline, else TooLarge.
    """
    checks = Validator()
    members = checks.members(document, "", ("run", "config", "arguments", "namespace"))
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    namespace = read_namespace(checks, members, namespace)
    run = read_run(checks, members, namespace)
    macros = Macros(_arguments(checks, members))
    warnings = len(checks.warnings)
    if "config" not in members:
        raise UnreadableDocument([*checks.errors, FieldError("config", "missing")])
    pipeline = read_pipeline(checks, members["config"], namespace=namespace, macros=macros)
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    faults = dag.find_faults(pipeline)
    if faults:
        raise InvalidLineage(faults)
    operations, told = flatten(pipeline)
    head, of_config = checks.warnings[:warnings], checks.warnings[warnings:]
    info = lineage.build_lineage(operations)
    return Reading(run, ReadOperations(info, (*of_config, *told)), tuple(head))


def _arguments(checks: Validator, members: dict[str, Any]) -> dict[str, str]:
    """The arguments of the run, each a text that may be empty."""
    said = members.get("arguments", {})
    if not isinstance(said, dict):
        checks.members(said, "arguments", ())
        return {}
    return {name: checks.optional(said, name, "arguments") for name in said}
