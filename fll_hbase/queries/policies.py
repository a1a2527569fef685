"""Policies on the age and on the flow of data: one by name, and all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from fll_hbase.model.flow_policy import VALUE, FlowPolicy
from fll_hbase.model.tags import AgePolicy
from fll_hbase.queries import known_subjects, name_json
from fll_hbase.queries.pages import Paged, first_page
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import Answer, Body, Changeable, Fault, Query, Required
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.queries.tags import TIME_HELP
from fll_hbase.runtime.errors import FieldError
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import tag_bodies
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

_Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_BYTES_MAX)]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_BYTES_MAX)]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=NAME_BYTES_MAX)]
_Age: TypeAlias = Annotated[
    str,
    msgspec.Meta(
        description="A whole number and a unit: s, m, h, d, w, mo (months of the calendar) or y",
        pattern="^[0-9]{1,9}([smhdwy]|mo)$",
    ),
]


NAMESPACE_HELP = (
    "Namespace of the field of the policy, `*` for one on a tag; required if several policies have the name"
)


class PolicyField(Body, frozen=True, kw_only=True):
    """The field that a policy applies to. A hidden field has a number and no names."""

    hidden: int = 0
    namespace: Annotated[_Id, Required] = ""
    name: Annotated[_Name, Required] = ""
    field: Annotated[_Name, Required] = ""


_Pattern: TypeAlias = Annotated[
    str,
    msgspec.Meta(description="`NAMESPACE/DATASET`, where `*` is any text", max_length=NAME_BYTES_MAX),
]
_Influence: TypeAlias = Annotated[
    Literal["", "value", "any"],
    msgspec.Meta(description="Of a flow policy: whether values alone count, or filters and joins, too"),
]
_UnlessMasked: TypeAlias = Annotated[
    bool, msgspec.Meta(description="Of a flow policy: ways through a masking operation do not count")
]


class PolicyBody(Body, frozen=True, kw_only=True):
    """A policy as a client sends it.

    A policy on the age of data has `maxAge`, and either `tag` or `field`. A flow policy has `tag`, and
    `into`, `onlyInto` or both.
    """

    max_age: _Age = ""
    tag: _Id = ""
    field: PolicyField | None = None
    description: _Text = ""
    into: _Pattern = ""
    only_into: _Pattern = ""
    influence: _Influence = ""
    unless_masked: _UnlessMasked = False


class Policy(Body, frozen=True, kw_only=True):
    """A policy as it is stored; `warnings` are about the body that a client sent."""

    name: str
    max_age: _Age = ""
    time: Annotated[int, msgspec.Meta(description=TIME_HELP)] = msgspec.field(name="at")
    tag: _Id = ""
    field: PolicyField | None = None
    description: _Text = ""
    into: _Pattern = ""
    only_into: _Pattern = ""
    influence: _Influence = ""
    unless_masked: _UnlessMasked = False
    warnings: tuple[Fault, ...] = ()


class PoliciesAnswer(Body, frozen=True, kw_only=True):
    """A page of policies."""

    policies: tuple[Policy, ...]


def policy_body(stored: AgePolicy | FlowPolicy, warnings: Iterable[FieldError] = ()) -> Policy:
    """Return a stored policy as the body of an answer, with the warnings about what a client sent."""
    if isinstance(stored, FlowPolicy):
        return Policy(
            name=stored.name,
            time=stored.at_ms,
            tag=stored.tag,
            description=stored.description,
            into=stored.into,
            only_into=stored.only_into,
            influence="value" if stored.influence == VALUE else "any",
            unless_masked=stored.unless_masked,
            warnings=tuple(map(Fault.from_error, warnings)),
        )
    return Policy(
        name=stored.name,
        max_age=stored.max_age.text,
        time=stored.at_ms,
        tag=stored.tag,
        field=None if stored.field is None else PolicyField(**name_json.field(stored.field)),
        description=stored.description,
        warnings=tuple(map(Fault.from_error, warnings)),
    )


def subject(policy: Mapping[str, Any]) -> str:
    """Return the subject of a policy, which is JSON, as text: all fields with a tag, or one field."""
    return name_json.text(policy["field"]) if "field" in policy else f"fields with the tag {policy['tag']}"


def rule(policy: Mapping[str, Any]) -> str:
    """Return where data must not flow by a policy, which is JSON; "" for a policy on the age of data."""
    parts = [f"not into {policy['into']}"] if "into" in policy else []
    parts += [f"only into {policy['onlyInto']}"] if "onlyInto" in policy else []
    parts += ["also by filters and joins"] if policy.get("influence") == "any" else []
    parts += ["unless masked"] if policy.get("unlessMasked") else []
    return ", ".join(parts)


def _rows(body: Json) -> list[Row]:
    """Return the policies of an answer's JSON as rows, each with its subject as text."""
    return [policy | {"appliesTo": subject(policy)} for policy in body["policies"]]


@dataclass(frozen=True)
class PolicyByName(Changeable[Policy]):
    """Return a policy. 404 if there is none of that name, 409 if there are several."""

    path: ClassVar[str] = "/v3/policies/{policy}"
    result: ClassVar[str] = "OK"
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 409, 503)

    policy: str
    namespace: Annotated[str, About(NAMESPACE_HELP, minimum=1)] = field(default="", kw_only=True)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[Policy]:
        """Return the policy. Raises NotFound, AmbiguousName, and errors of the store."""
        return Answer(policy_body(store.policies.get(self.policy, self.namespace)))

    def put(self, store: LineageStore, raw: bytes) -> tuple[Policy, bool]:
        """Put the policy that the body describes; return it, and whether it is new.

        Raises UnreadableDocument, UnknownSubject, TooLarge, Forbidden, and errors of the store.
        """
        policy, warnings = tag_bodies.read_policy(raw, name=self.policy)
        known_subjects.check(store, policy)
        return self._put(store, policy, warnings)

    def remove(self, store: LineageStore) -> None:
        """Remove the policy. Raises NotFound, AmbiguousName, Forbidden, and errors of the store."""
        store.policies.remove(self.policy, self.namespace)

    @staticmethod
    def _put(
        store: LineageStore, policy: AgePolicy | FlowPolicy, warnings: Iterable[FieldError]
    ) -> tuple[Policy, bool]:
        """Put a policy; return it as stored, with warnings, and whether it is new."""
        stored, is_new = store.policies.put(policy)
        return policy_body(stored, warnings), is_new


class UncheckedPolicy(PolicyByName):
    """A policy that is put even if no field has its tag or its field was never recorded."""

    def put(self, store: LineageStore, raw: bytes) -> tuple[Policy, bool]:
        """Put the policy that the body describes; return it, and whether it is new.

        Raises UnreadableDocument, TooLarge, Forbidden, and errors of the store.
        """
        return self._put(store, *tag_bodies.read_policy(raw, name=self.policy))

    def params(self) -> dict[str, str]:
        """Return the parameters of the URL, with `allowUnknown`."""
        return super().params() | {"allowUnknown": "true"}


@dataclass(frozen=True, kw_only=True)
class Policies(Paged, Query[PoliciesAnswer]):
    """List all policies.

    A policy on the age of data has a greatest age (`maxAge`), and either a tag or one field as its subject. A
    flow policy has a tag, and patterns of datasets that the data must not reach (`into`), or that alone it
    may reach (`onlyInto`). A policy on a tag applies to all fields with the tag.

    >>> client.put_policy("uid", "90d", field=("bank", "DailyTransactions", "UID")).body.name
    'uid'
    >>> [row["appliesTo"] for row in client.policies() if row["name"] == "uid"]
    ['bank/DailyTransactions.UID']
    """

    path: ClassVar[str] = "/v3/policies"
    result: ClassVar[str] = "By name and namespace"
    statuses: ClassVar[tuple[int, ...]] = (400, 503)
    items: ClassVar[str] = "policies"
    table: ClassVar[TableShape] = TableShape(
        (
            *("name", "maxAge", "appliesTo", "at", "description"),
            *("into", "onlyInto", "influence", "unlessMasked"),
        ),
        _rows,
        times=("at",),
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[PoliciesAnswer]:
        """Return a page of policies."""
        name, namespace = self.start_after(2)
        stored = store.policies.policies(start_after=(name, namespace))
        page, cursor = first_page(stored, self.page_limit(store), lambda entry: (entry.name, entry.namespace))
        return Answer(PoliciesAnswer(policies=tuple(map(policy_body, page))), cursor=cursor)
