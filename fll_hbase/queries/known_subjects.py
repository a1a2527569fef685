"""Checks that the tag or field of a policy is known: a policy about a misspelt name is never violated."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.tags import AgePolicy
from fll_hbase.runtime.errors import FieldError, UnknownSubject

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

NAMES_MAX = 1_000
"""Maximum number of names to compare a misspelt name with: the first ones in order."""

CHARACTERS_MAX = 100
"""The longest name that is compared: the time of a comparison grows with the square of the length."""


def check(store: LineageStore, policy: AgePolicy | FlowPolicy) -> None:
    """Raise UnknownSubject, with similar names, if no field has the tag or the field was never recorded.

    Errors of the store pass, too.
    """
    error = _unknown_field(store, policy.field) if policy.field else _unknown_tag(store, policy.tag)
    if error is not None:
        raise UnknownSubject([error])


def _unknown_tag(store: LineageStore, tag: str) -> FieldError | None:
    """Return the error of a tag that no field has, or None."""
    page = store.tags.tagged(tag, limit=1)
    if page.tags or page.next_after is not None:
        return None
    return FieldError("tag", f"no field has the tag {tag!r}{_near(tag, store.tags.tags())}{_ADVICE}")


def _unknown_field(store: LineageStore, field: DatasetField) -> FieldError | None:
    """Return the error of a field or dataset that was never recorded, or None."""
    namespace, name = field.dataset
    if not store.catalogue.has_dataset(field.dataset):
        datasets = (item.dataset.name for item in store.catalogue.datasets(namespace))
        near = _near(name, datasets)
        return FieldError("field.name", f"dataset {field.dataset} was never recorded{near}{_ADVICE}")
    names = store.catalogue.field_names(field.dataset) or ()
    if field.name in names:
        return None
    detail = f"{field.dataset} has no field {field.name!r}{_near(field.name, names)}{_ADVICE}"
    return FieldError("field.field", detail)


_ADVICE = "; --allow-unknown of `fll policy set`, or allowUnknown=true, sets the policy all the same"


def _near(name: str, names: Iterable[str]) -> str:
    """Return a text with up to three names similar to `name`, or "" if there are none."""
    folded = {item.casefold(): item for item in islice(names, NAMES_MAX) if len(item) <= CHARACTERS_MAX}
    near = get_close_matches(name[:CHARACTERS_MAX].casefold(), folded, 3)
    return f"; near: {', '.join(repr(folded[item]) for item in near)}" if near else ""
