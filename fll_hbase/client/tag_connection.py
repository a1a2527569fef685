"""Changes of tags and policies in Python. The first change imports their queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from fll_hbase.client.answers import TypedAnswer
from fll_hbase.queries.query import BodyT, Changeable
from fll_hbase.runtime.errors import FieldError, InvalidQuery, UnreadableDocument

if TYPE_CHECKING:
    from fll_hbase.queries.policies import Policy, PolicyBody
    from fll_hbase.queries.tags import Tag, TagBody

FieldName = tuple[str, str, str]
"""Namespace, dataset and field."""


class TagConnection(ABC):
    """The part of a connection that changes tags of fields and policies."""

    @abstractmethod
    def put(self, query: Changeable[BodyT], body: TagBody | PolicyBody) -> BodyT:
        """Set the tag or policy that a query names; return it as stored.

        Raises UnreadableDocument, NotFound for the field of a tag, and UnknownSubject for a policy.
        """

    @abstractmethod
    def delete(self, query: Changeable[Any]) -> None:
        """Remove the tag or policy that a query names. Raises NotFound and AmbiguousName."""

    def put_tag(
        self, namespace: str, name: str, field: str, tag: str, *, by: str = "", description: str = ""
    ) -> TypedAnswer[Tag]:
        """Give a field a tag. Repeating the same call changes nothing and keeps the time of the first one.

        `by` is the person or program that sets the tag, and `description` the reason. Raises NotFound for a
        field that was never recorded.

        >>> client.put_tag("bank", "DailyTransactions", "UID", "PII", by="ana").body.tag
        'PII'
        """
        from fll_hbase.queries.tags import TagBody, TagOfField

        query = TagOfField(namespace, name, field, tag)
        query.check()
        with _invalid_query():
            return TypedAnswer(self.put(query, TagBody(by=by, description=description)))

    def remove_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Remove a tag from a field. Raises NotFound if the field does not have it.

        >>> client.put_tag("bank", "Customers", "phone", "PII").body.field
        'phone'
        >>> client.remove_tag("bank", "Customers", "phone", "PII")
        """
        from fll_hbase.queries.tags import TagOfField

        query = TagOfField(namespace, name, field, tag)
        query.check()
        self.delete(query)

    def put_policy(
        self,
        policy: str,
        max_age: str,
        *,
        tag: str = "",
        field: FieldName | None = None,
        description: str = "",
        allow_unknown: bool = False,
    ) -> TypedAnswer[Policy]:
        """Set a policy that limits the age of the data of all fields with `tag`, or of one `field`.

        `max_age` is a number with a unit, such as `90d` or `6mo`. Give either `tag` or `field`, a triple of
        namespace, dataset and field. Raises UnknownSubject, with similar names, if no field has the tag or
        the field was never recorded, unless `allow_unknown`.

        >>> client.put_policy("uid", "90d", field=("bank", "DailyTransactions", "UID")).body.max_age
        '90d'
        """
        from fll_hbase.queries.policies import PolicyBody, PolicyByName, PolicyField, UncheckedPolicy

        query = UncheckedPolicy(policy) if allow_unknown else PolicyByName(policy)
        query.check()
        if bool(tag) is (field is not None):
            raise InvalidQuery([FieldError("tag", "give either a tag or a field")])
        subject = None
        if field is not None:
            namespace, name, field_name = field
            subject = PolicyField(namespace=namespace, name=name, field=field_name)
        body = PolicyBody(max_age=max_age, tag=tag, field=subject, description=description)
        with _invalid_query():
            return TypedAnswer(self.put(query, body))

    def put_flow_policy(
        self,
        policy: str,
        *,
        tag: str,
        into: str = "",
        only_into: str = "",
        influence: Literal["value", "any"] = "value",
        unless_masked: bool = False,
        description: str = "",
        allow_unknown: bool = False,
    ) -> TypedAnswer[Policy]:
        """Set a policy on where data of all fields with `tag` must not go.

        `into` is a pattern of forbidden datasets, such as `marketing/*`. `only_into` is a pattern of allowed
        ones: all others are forbidden, or with `into` all others that it matches. Give one of them or both.
        With `influence="any"`, filters, join keys and the like count, too. With `unless_masked`, ways through
        an operation that hashes or masks the value do not count. Raises UnknownSubject, with similar names,
        if no field has the tag, unless `allow_unknown`.

        >>> client.put_flow_policy("ads", tag="ads", into="ads/*", allow_unknown=True).body.influence
        'value'
        """
        from fll_hbase.queries.policies import PolicyBody, PolicyByName, UncheckedPolicy

        query = UncheckedPolicy(policy) if allow_unknown else PolicyByName(policy)
        query.check()
        body = PolicyBody(
            tag=tag,
            description=description,
            into=into,
            only_into=only_into,
            influence=influence,
            unless_masked=unless_masked,
        )
        with _invalid_query():
            return TypedAnswer(self.put(query, body))

    def remove_policy(self, policy: str, *, namespace: str = "") -> None:
        """Remove a policy on a tag or a field.

        If policies of several namespaces have the name, `namespace` selects the one on a field of this
        namespace, and `*` the one on a tag. Raises AmbiguousName without it, and NotFound.

        >>> client.put_policy("old", "90d", tag="old", allow_unknown=True).body.name
        'old'
        >>> client.remove_policy("old")
        """
        from fll_hbase.queries.policies import PolicyByName

        query = PolicyByName(policy, namespace=namespace)
        query.check()
        self.delete(query)


@contextmanager
def _invalid_query() -> Iterator[None]:
    """Return a context that raises InvalidQuery instead of UnreadableDocument, for invalid arguments."""
    try:
        yield
    except UnreadableDocument as error:
        raise InvalidQuery(error.errors) from error
