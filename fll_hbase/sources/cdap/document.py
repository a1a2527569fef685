"""Documents with a pipeline config: the run, and its stages flattened into operations.

An operation is named `stage.operation`. A field that a stage does not touch needs none there. Where stages
meet, a separate operation merges fields of one name, except at a joiner, whose operations name the stages.
"""

from __future__ import annotations

from fll_hbase.model import lineage
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ErrorList, FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.sources.cdap.flatten_state import FlattenState
from fll_hbase.sources.cdap.macros import Macros
from fll_hbase.sources.cdap.pipeline_config import find_errors, read_pipeline, stage_order
from fll_hbase.sources.cdap.propagate import StagePropagation
from fll_hbase.sources.native.document import Reading, ReadOperations, read_head, read_run
from fll_hbase.sources.validation import Part


def read_document(document: object, *, namespace: str | None) -> Reading:
    """Read the run of a document with all stages of its pipeline flattened into operations.

    Without a `namespace` from the URL, the document must have its own. Warnings report unknown parts of the
    pipeline, and stages and fields that do not fit. Raises UnreadableDocument with every error of shape, or
    else InvalidLineage with every error of the pipeline. Also raises TooLarge and DeadlineExceeded.
    """
    top, namespace = read_head(document, namespace, "run", "config", "arguments", "namespace")
    validator, run = top.validator, read_run(top, namespace)
    macros = Macros(_read_arguments(top.optional_object("arguments")))
    if "config" not in top:
        raise UnreadableDocument([*validator.errors, FieldError("config", "missing")])
    pipeline = read_pipeline(top.member("config"), namespace=namespace, macros=macros)
    validator.check()
    if errors := ErrorList(find_errors(pipeline)):
        # The missing parts may have been in a part that could not be read.
        errors.extend(validator.warnings)
        raise InvalidLineage(errors)
    state = FlattenState(stage_order(pipeline))
    for stage in deadline.watched(state.order.stages):
        StagePropagation(state, stage).run()
    validator.warnings.extend(state.warnings)
    # Not lenient, since flattening implies READs and WRITEs, and `find_errors` refuses a config without ends.
    info = lineage.build_lineage(state.operations())
    return Reading(run, ReadOperations(info, ()), tuple(validator.warnings))


def _read_arguments(arguments: Part) -> dict[str, str]:
    """Return the texts of the run's arguments by name; warn of other values and leave them out."""
    texts = {
        name: "" if part.value == "" else part.readable(Part.name) for name, part in arguments.member_parts()
    }
    return {name: text for name, text in texts.items() if text is not None}
