"""What do the stages of a pipeline do as one run: operations `stage.operation`, each field with its origin.

A field that a stage does not touch runs through it and needs no operation. Where stages meet, fields of one
name become one by an operation of its own, but at a joiner, whose operations name the stages.
"""

from __future__ import annotations

from fll_hbase.errors import FieldError
from fll_hbase.model.operations import Operation
from fll_hbase.sources.cdap.config import Pipeline
from fll_hbase.sources.cdap.dag import course
from fll_hbase.sources.cdap.flatten_state import Run
from fll_hbase.sources.cdap.propagate import Passage


def flatten(pipeline: Pipeline) -> tuple[list[Operation], list[FieldError]]:
    """The operations of a pipeline without faults, and what in it is not known or not as it seems.

    Raises TooLarge.
    """
    run = Run(course(pipeline))
    for stage in run.course.stages:
        passage = Passage(run, stage)
        passage.pass_through()
        run.leave(stage, passage.flow)
    return run.finished(), run.warnings
