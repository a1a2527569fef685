"""Tags and policies in Python: one method for each question, and for each change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fll_hbase.client import shapes, table_shapes
from fll_hbase.client.answers import TableAnswer, TypedAnswer, as_table
from fll_hbase.client.arguments import check_names, window_text
from fll_hbase.client.tag_base import RetentionQuestion, TagClient
from fll_hbase.queries import time_window
from fll_hbase.queries.parameters import Time
from fll_hbase.queries.policies import Policy, PolicyBody, PolicyByName, PolicyField
from fll_hbase.queries.tags import Tag, TagBody, TagOfField
from fll_hbase.runtime.errors import FieldError, InvalidQuery, UnreadableDocument

FieldName = tuple[str, str, str]
"""Namespace, dataset and field."""

START, END = time_window.DEFAULT_START, time_window.DEFAULT_END


class TagConnection(TagClient):
    """The part of a connection that is about tags of fields and policies on the age of data."""

    def put_tag(
        self, namespace: str, name: str, field: str, tag: str, *, by: str = "", description: str = ""
    ) -> TypedAnswer[Tag]:
        """Give a field a tag; the same again keeps its time. Raises NotFound for an unknown field.

        >>> client.put_tag("bank", "DailyTransactions", "UID", "PII", by="ana").body.tag
        'PII'
        """
        query = TagOfField(namespace, name, field, tag)
        query.check()
        with _invalid_query():
            return TypedAnswer(self.send_tag(query, TagBody(by=by, description=description)))

    def remove_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Remove a tag from a field. Raises NotFound if the field does not have it.

        >>> client.put_tag("bank", "Customers", "phone", "PII").body.field
        'phone'
        >>> client.remove_tag("bank", "Customers", "phone", "PII")
        """
        query = TagOfField(namespace, name, field, tag)
        query.check()
        self.delete_tag(query)

    def put_policy(
        self,
        policy: str,
        max_age: str,
        *,
        tag: str = "",
        field: FieldName | None = None,
        description: str = "",
    ) -> TypedAnswer[Policy]:
        """Put a policy: how long data of fields with a tag, or of one field, may live, such as `90d`.

        >>> client.put_policy("gdpr", "90d", tag="PII").body.max_age
        '90d'
        """
        query = PolicyByName(policy)
        query.check()
        if bool(tag) is (field is not None):
            raise InvalidQuery([FieldError("tag", "give either a tag or a field")])
        subject = None
        if field is not None:
            namespace, name, field_name = field
            subject = PolicyField(namespace=namespace, name=name, field=field_name)
        body = PolicyBody(max_age=max_age, tag=tag, field=subject, description=description)
        with _invalid_query():
            return TypedAnswer(self.send_policy(query, body))

    def remove_policy(self, policy: str) -> None:
        """Remove a policy. Raises NotFound.

        >>> client.put_policy("old", "90d", tag="PII").body.name
        'old'
        >>> client.remove_policy("old")
        """
        query = PolicyByName(policy)
        query.check()
        self.delete_policy(query)

    def retention_report(
        self,
        policy: str,
        *,
        start: Time = 0,
        end: Time = END,
        indirect: bool = False,
        failed: bool = False,
    ) -> TableAnswer[shapes.Members]:
        """Return where data is older than a policy allows; a row for each field and program.

        >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
        'PII'
        >>> client.put_policy("gdpr", "90d", tag="PII").body.name
        'gdpr'
        >>> client.retention_report("gdpr").body["fields"]
        []
        """
        check_names(policy=policy)
        question = RetentionQuestion(policy, window_text(start, end), indirect, failed)
        return as_table(self.ask_retention(question), shapes.Members, table_shapes.RETENTION)


@contextmanager
def _invalid_query() -> Iterator[None]:
    """Return a context in which an invalid body is an error of the arguments that it was made from."""
    try:
        yield
    except UnreadableDocument as error:
        raise InvalidQuery(error.errors) from error
