"""Documents with a pipeline config: the run, and its stages flattened into operations.

An operation is named `stage.operation`. A field that a stage does not touch needs no operation there. Where
stages meet, fields of one name are merged by an operation of its own, except at a joiner, whose operations
name the stages.
"""

from __future__ import annotations

from typing import Any

from fll_hbase.model import lineage
from fll_hbase.model.operations import Operation
from fll_hbase.runtime.errors import ErrorList, FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.sources.cdap.dag import find_errors, stage_order
from fll_hbase.sources.cdap.flatten_state import FlattenState
from fll_hbase.sources.cdap.macros import Macros
from fll_hbase.sources.cdap.pipeline_config import Pipeline, read_pipeline
from fll_hbase.sources.cdap.propagate import propagate
from fll_hbase.sources.native.document import Reading, ReadOperations, read_namespace, read_run
from fll_hbase.sources.openlineage import json_access
from fll_hbase.sources.validation import Validator, child_path


def read_document(document: object, *, namespace: str | None) -> Reading:
    """Read the run of a document with all stages of its pipeline flattened into operations.

    Without `namespace`, that of the URL, the document must have its own. Warnings report unknown parts of the
    pipeline, and stages and fields that do not fit. Raises UnreadableDocument with every error of shape,
    else InvalidLineage with every error of the pipeline, else TooLarge.
    """
    validator = Validator()
    members = validator.members(document, "", ("run", "config", "arguments", "namespace"))
    if validator.errors:
        raise UnreadableDocument(validator.errors)
    namespace = read_namespace(validator, members, namespace)
    run = read_run(validator, members, namespace)
    macros = Macros(_read_arguments(validator, members))
    if "config" not in members:
        raise UnreadableDocument([*validator.errors, FieldError("config", "missing")])
    pipeline = read_pipeline(validator, members["config"], namespace=namespace, macros=macros)
    if validator.errors:
        raise UnreadableDocument(validator.errors)
    if errors := ErrorList(find_errors(pipeline)):
        # What is missing may have been in a part that could not be read.
        errors.extend(validator.warnings)
        raise InvalidLineage(errors)
    operations, warnings = _flatten(pipeline)
    validator.warnings.extend(warnings)
    # Not lenient: flattening adds implied READs and WRITEs, and `find_errors` refuses a config without ends.
    info = lineage.build_lineage(operations)
    return Reading(run, ReadOperations(info, ()), tuple(validator.warnings))


def _flatten(pipeline: Pipeline) -> tuple[list[Operation], ErrorList]:
    """Return the operations of a pipeline without errors, and warnings; raises TooLarge."""
    state = FlattenState(stage_order(pipeline))
    for stage in state.order.stages:
        propagate(state, stage)
    return state.operations(), state.warnings


def _read_arguments(validator: Validator, members: dict[str, Any]) -> dict[str, str]:
    """Read the arguments of the run, each a text that may be empty; others are left out."""
    arguments = json_access.members(validator, members.get("arguments"), "arguments", optional=True)
    texts = validator.readable(
        ((name, child_path("arguments", name)) for name in arguments),
        lambda name, _: (name, validator.optional(arguments, name, "arguments")),
    )
    return dict(texts)
