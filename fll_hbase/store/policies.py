"""Policies on the age of data: put, removed and listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import msgspec

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.runtime import damage
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import CorruptRow, NotFound, in_row
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.name_listing import LastNames, list_names
from fll_hbase.store.rows.run_rows import checked_put
from fll_hbase.store.rows.tag_rows import REMOVED
from fll_hbase.tables import Put, Table

BATCH_POLICIES = 100
"""Policies that are read in one call."""


class _Value(msgspec.Struct, frozen=True, omit_defaults=True, rename={"at_ms": "at", "max_age": "maxAge"}):
    """The value of a cell: either `tag` or `field`, as namespace, dataset and field."""

    at_ms: int
    max_age: str
    tag: str = ""
    field: tuple[str, str, str] | None = None
    description: str = ""


class PolicyStore:
    """Policies by name; retention of runs leaves them alone. Threads and processes may share the table.

    Of two writers of one policy the later one counts. Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(self, table: Table, catalogue: Catalogue, *, clock: Callable[[], int] = now_ms) -> None:
        self._table = table
        self._catalogue = catalogue
        self._clock = clock

    def put(self, policy: AgePolicy) -> tuple[AgePolicy, bool]:
        """Put a policy, whose `at_ms` has no effect; return it with its time, and whether it is new.

        The same policy again keeps its time. Raises NotFound if it names a field that was never recorded.
        """
        if policy.field is not None:
            self._catalogue.require_field(policy.field)
        stored = self._read(policy.name)
        at_ms = self._clock()
        if stored is not None and replace(policy, at_ms=stored.at_ms) == stored:
            at_ms = stored.at_ms
        current = replace(policy, at_ms=at_ms)
        self._table.write([[_put(current)]])
        return current, stored is None

    def remove(self, name: str) -> None:
        """Remove a policy by its name, durably. Raises NotFound."""
        self.get(name)
        self._table.write([[Put(layout.policy_row(name), layout.POLICY, REMOVED)]])

    def get(self, name: str) -> AgePolicy:
        """Return a policy by its name. Raises NotFound."""
        policy = self._read(name)
        if policy is None:
            raise NotFound(f"policy {name!r} not found; `fll policy list` or GET /v3/policies lists all")
        return policy

    def policies(self, *, start_after: str = "") -> Iterator[AgePolicy]:
        """Yield all policies, sorted by name, whose name is greater than `start_after`; no damaged ones."""
        rows = LastNames(self._table, layout.POLICIES, column=layout.POLICY)
        names = list_names(rows, start_after=start_after.encode())
        while batch := list(islice(names, BATCH_POLICIES)):
            keys = [layout.policy_row(name) for name in batch]
            stored = self._table.rows(keys, columns=(layout.POLICY,))
            for key in (key for key in keys if key in stored):
                policy = None
                with damage.leaving_out():
                    policy = decode_policy(key, stored[key][layout.POLICY].value)
                if policy is not None:
                    yield policy

    def _read(self, name: str) -> AgePolicy | None:
        """Return a policy by name; None if it is missing or removed."""
        key = layout.policy_row(name)
        row = self._table.rows([key], columns=(layout.POLICY,)).get(key)
        return decode_policy(key, row[layout.POLICY].value) if row else None


def decode_policy(key: bytes, value: bytes) -> AgePolicy | None:
    """Return the policy in a row, given its value; None for a removed one. Raises CorruptRow."""
    with in_row(key):
        name = layout.parse_policy(key)
        if value == REMOVED:
            return None
        try:
            stored = msgspec.json.decode(value, type=_Value)
            age = parse_max_age(stored.max_age)
        except (ValueError, UnicodeDecodeError) as error:
            raise CorruptRow(f"{value[:200]!r} is not the value of a policy: {error}") from error
    field = DatasetField(Dataset(*stored.field[:2]), stored.field[2]) if stored.field else None
    return AgePolicy(name, age, stored.tag, field, stored.description, stored.at_ms)


def _put(policy: AgePolicy) -> Put:
    """Return the cell that stores a policy. Raises TooLarge."""
    field = policy.field
    names = (field.dataset.namespace, field.dataset.name, field.name) if field else None
    stored = _Value(policy.at_ms, policy.max_age.text, policy.tag, names, policy.description)
    value = msgspec.json.encode(stored)
    return checked_put(layout.policy_row(policy.name), layout.POLICY, value, f"policy {policy.name!r}")
