"""What do the stages of a pipeline do as one run: operations `stage.operation`, each field with its origin.

A field that a stage does not touch runs through it and needs no operation. Where stages meet, fields of one
name become one by an operation of its own, but at a joiner, whose operations name the stages.
"""

from __future__ import annotations

from fll_hbase.errors import Fault
from fll_hbase.model.operations import Operation
from fll_hbase.sources.pipeline_config.config import Pipeline
from fll_hbase.sources.pipeline_config.course import course
from fll_hbase.sources.pipeline_config.passage import Passage
from fll_hbase.sources.pipeline_config.run import Run


def flatten(pipeline: Pipeline) -> tuple[list[Operation], list[Fault]]:
    """The operations of a pipeline without faults, and what in it is not known or not as it seems.

    Raises TooLarge.
    """
    run = Run(course(pipeline))
    for stage in run.course.stages:
        passage = Passage(run, stage)
        passage.pass_through()
        run.leave(stage, passage.flow)
    return run.finished(), run.warnings
