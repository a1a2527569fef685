"""Record lineage from inside a program, for instance a PySpark driver.

recorder = LineageRecorder("http://lineage:8080", namespace="myns")
recorder.record(
    Destination("myns", "mytableds"),
    [
        FieldOperation("read", inputs=[Source("myns", "user_data")], outputs=["body"]),
        FieldOperation("parse", inputs=["body"], outputs=[Field("name", "string")]),
    ],
    run=Run(application="UserData", program="load"),
)
"""

from fll_hbase.model.datasets import Field
from fll_hbase.model.runs import State
from fll_hbase.recorder.delivery import NotRecorded, Outcome, Recorded, Spooled
from fll_hbase.recorder.recorder import LineageRecorder, OnError
from fll_hbase.recorder.stage_context import FieldMutation, StageContext
from fll_hbase.recorder.types import Destination, FieldOperation, Run, Source

__all__ = [
    "Destination",
    "Field",
    "FieldMutation",
    "FieldOperation",
    "LineageRecorder",
    "NotRecorded",
    "OnError",
    "Outcome",
    "Recorded",
    "Run",
    "Source",
    "Spooled",
    "StageContext",
    "State",
]
