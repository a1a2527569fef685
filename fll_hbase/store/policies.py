"""Policies on the age and on the flow of data: stored, removed and listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, TypeAlias, TypeVar

import msgspec

from fll_hbase.keys import layout, ranges
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.flow_policy import INFLUENCES, FlowPolicy, pattern_fault
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.runtime import damage, typed_json
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import AmbiguousName, CorruptRow, NotFound, in_row
from fll_hbase.store.rows.run_rows import checked_put
from fll_hbase.store.rows.tag_rows import REMOVED
from fll_hbase.tables import Put, Table

ALL = "*"
"""The namespace by which `get` and `remove` select a policy on a tag, whose own namespace is ""."""


_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]

Policy: TypeAlias = AgePolicy | FlowPolicy

PolicyT = TypeVar("PolicyT", bound=AgePolicy | FlowPolicy)

_NAMES = {"at_ms": "at", "max_age": "maxAge", "only_into": "onlyInto", "unless_masked": "unlessMasked"}


class _Value(msgspec.Struct, frozen=True, omit_defaults=True, rename=_NAMES):
    """The value of a cell: either `tag` or `field`, as namespace, dataset and field.

    A policy on the age has `max_age`, a flow policy has `influence`.
    """

    at_ms: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    max_age: str = ""
    tag: str = ""
    field: tuple[_Name, _Name, _Name] | None = None
    description: str = ""
    influence: str = ""
    into: str = ""
    only_into: str = ""
    unless_masked: bool = False


class PolicyStore:
    """Policies by name and namespace; retention of runs does not use them. Threads may share an instance.

    If two writers put one policy, the later put wins. Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(self, table: Table, *, clock: Callable[[], int] = now_ms) -> None:
        self._table = table
        self._clock = clock

    def put(self, policy: PolicyT) -> tuple[PolicyT, bool]:
        """Put a policy, ignoring its `at_ms`; return it with its time, and whether it is new.

        Putting the same policy again keeps its time. Raises TooLarge.
        """
        rows = self._rows(policy.name)
        stored = _current(rows).get(policy.namespace)
        at_ms = self._clock()
        if stored is not None and replace(policy, at_ms=stored.at_ms) == stored:
            at_ms = stored.at_ms
        current = replace(policy, at_ms=at_ms)
        former = rows.get("")
        batches = [[_put(current)]]
        if former is not None and former.namespace and policy.namespace in ("", former.namespace):
            # An earlier release put policies on fields under the key of a policy on a tag.
            if policy.namespace:
                batches.append([Put(layout.policy_row(policy.name), layout.POLICY, REMOVED)])
            elif former.namespace not in rows:
                batches.insert(0, [_put(former)])
        self._table.write(batches)
        return current, stored is None

    def move_former(self) -> int:
        """Put field policies of an earlier release under their current keys; return how many were moved.

        Safe to repeat. Damaged policies stay.
        """
        moved = 0
        for policy in self.policies():
            with suppress(CorruptRow):
                if policy.namespace and policy.namespace not in self._rows(policy.name):
                    removed = Put(layout.policy_row(policy.name), layout.POLICY, REMOVED)
                    self._table.write([[_put(policy)], [removed]])
                    moved += 1
        return moved

    def remove(self, name: str, namespace: str = "") -> None:
        """Remove, durably, the policy that `get` returns. Raises NotFound and AmbiguousName."""
        policy = self.get(name, namespace)
        rows = [key for key, item in self._rows(name).items() if item.namespace == policy.namespace]
        self._table.write([[Put(layout.policy_row(name, key), layout.POLICY, REMOVED) for key in rows]])

    def get(self, name: str, namespace: str = "") -> Policy:
        """Return a policy by its name: of a field in `namespace`, of a tag with ALL, of either with "".

        Raises NotFound, and AmbiguousName if fields of several namespaces have policies of this name.
        """
        matching = _current(self._rows(name))
        if namespace:
            wanted = "" if namespace == ALL else namespace
            matching = {wanted: matching[wanted]} if wanted in matching else {}
        if not matching:
            raise NotFound(f"policy {name!r} not found; `fll policy list` or GET /v3/policies lists all")
        if len(matching) > 1:
            names = ", ".join(repr(item or ALL) for item in sorted(matching))
            raise AmbiguousName(f"policies {name!r} exist in the namespaces {names}: give the namespace, too")
        return next(iter(matching.values()))

    def policies(self, *, start_after: tuple[str, str] = ("", "")) -> Iterator[Policy]:
        """Yield the policies after `start_after`, sorted by name and namespace, leaving out damaged ones."""
        by_name: dict[str, dict[str, Policy]] = {}
        for key, row in self._table.scan(*ranges.prefix_range(layout.POLICIES), columns=(layout.POLICY,)):
            with damage.leaving_out():
                if (policy := decode_policy(key, row[layout.POLICY].value)) is not None:
                    by_name.setdefault(policy.name, {})[layout.parse_policy(key)[1]] = policy
        for name, rows in sorted(by_name.items()):
            for namespace, policy in sorted(_current(rows).items()):
                if (name, namespace) > start_after:
                    yield policy

    def _rows(self, name: str) -> dict[str, Policy]:
        """Return the policies of a name by the namespace in their keys, leaving out removed ones."""
        bare, prefix = layout.policy_row(name), layout.policies_of_name(name)
        columns = (layout.POLICY,)
        rows = {**self._table.rows([bare], columns=columns)}
        rows.update(self._table.scan(*ranges.prefix_range(prefix), columns=columns))
        policies = {key: decode_policy(key, row[layout.POLICY].value) for key, row in rows.items()}
        return {layout.parse_policy(key)[1]: item for key, item in policies.items() if item is not None}


def _current(rows: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return policies of one name by namespace, including former ones that were not put again."""
    return {policy.namespace: policy for _, policy in sorted(rows.items())}


def decode_policy(key: bytes, value: bytes) -> Policy | None:
    """Return the policy in a row, given its value, or None if it was removed. Raises CorruptRow."""
    with in_row(key):
        name, namespace = layout.parse_policy(key)
        if value == REMOVED:
            return None
        try:
            stored = typed_json.decode(value, _Value)
            if stored.influence and not namespace:
                return _flow_policy(name, stored)
            age = parse_max_age(stored.max_age)
            if bool(stored.tag) == bool(stored.field):
                raise ValueError("expected either a tag or a field")
            if namespace and (stored.field is None or stored.field[0] != namespace):
                raise ValueError("its field is of another namespace than its key")
        except ValueError as error:
            raise CorruptRow(f"{value[:200]!r} is not the value of a policy: {error}") from error
    field = DatasetField(Dataset(*stored.field[:2]), stored.field[2]) if stored.field else None
    return AgePolicy(name, age, stored.tag, field, stored.description, stored.at_ms)


def _flow_policy(name: str, stored: _Value) -> FlowPolicy:
    """Return a stored flow policy. Raises ValueError for the value of anything else."""
    patterns = [pattern for pattern in (stored.into, stored.only_into) if pattern]
    if not stored.tag or stored.field or stored.max_age or not patterns:
        raise ValueError("expected a tag and patterns of datasets")
    if stored.influence not in INFLUENCES or any(map(pattern_fault, patterns)):
        raise ValueError("wrong influence or pattern")
    return FlowPolicy(
        name,
        stored.tag,
        stored.into,
        stored.only_into,
        stored.influence,
        stored.unless_masked,
        stored.description,
        stored.at_ms,
    )


def _put(policy: Policy) -> Put:
    """Return the cell that stores a policy. Raises TooLarge."""
    if isinstance(policy, FlowPolicy):
        value = _Value(
            policy.at_ms,
            tag=policy.tag,
            description=policy.description,
            influence=policy.influence,
            into=policy.into,
            only_into=policy.only_into,
            unless_masked=policy.unless_masked,
        )
    else:
        names = (*policy.field.dataset, policy.field.name) if policy.field else None
        value = _Value(policy.at_ms, policy.max_age.text, policy.tag, names, policy.description)
    key = layout.policy_row(policy.name, policy.namespace)
    return checked_put(key, layout.POLICY, msgspec.json.encode(value), f"policy {policy.name!r}")
