"""Shapes of a batch of questions and its answers, for the OpenAPI document alone."""

from __future__ import annotations

import marshmallow as ma
from marshmallow import fields, validate

from fll_hbase.sources.validation import ID_BYTES_MAX

from .document_schemas import Text

QUESTIONS_MAX = 100
"""Questions of one batch."""


class QuestionSchema(ma.Schema):
    """A question: the path of a GET request below `/v3/`, with its query string."""

    path = Text(required=True, metadata={"description": "As in the URL, percent-encoded"})
    id = Text(bytes_max=ID_BYTES_MAX, metadata={"description": "Returned with the answer"})


class QuestionsSchema(ma.Schema):
    """Questions to answer together."""

    questions = fields.List(
        fields.Nested(QuestionSchema), required=True, validate=validate.Length(min=1, max=QUESTIONS_MAX)
    )


class AnswerSchema(ma.Schema):
    """The answer to one question: what its own request would have answered."""

    id = fields.String()
    status = fields.Integer(required=True)
    headers = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"description": "Those about the answer: `Link`, `Truncated`, `Window-Start` and the like"},
    )
    body = fields.Raw(required=True, metadata={"description": "The JSON of the answer, or a problem"})


class AnswersSchema(ma.Schema):
    """The answers in the order of the questions."""

    answers = fields.List(fields.Nested(AnswerSchema), required=True)
    truncated = fields.Boolean(
        required=True, metadata={"description": "Whether a question has no answer for a bound of the batch"}
    )
    truncatedBy = fields.List(fields.String())


COMPONENTS = {"Questions": QuestionsSchema}
