"""Members that several document formats share: datasets, fields and influences."""

from __future__ import annotations

from typing import Any

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import KINDS, Influence
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path

_INFLUENCES = [influence.value for influence in Influence]


def read_dataset(
    validator: Validator,
    holder: dict[str, Any],
    name: str,
    path: str,
    namespace: str,
    *,
    also: tuple[str, ...] = (),
) -> tuple[Dataset, str]:
    """Read a dataset and its description; its namespace defaults to the program's.

    `also` lists further members that are allowed. An invalid dataset adds an error and returns a
    placeholder.
    """
    if name not in holder:
        validator.error(child_path(path, name), "missing")
        return Dataset("?", "?"), ""
    item_path = child_path(path, name)
    data = validator.members(holder[name], item_path, ("namespace", "name", "description", *also))
    if not isinstance(holder[name], dict):
        return Dataset("?", "?"), ""
    dataset_namespace = validator.name(
        data.get("namespace", namespace), child_path(item_path, "namespace"), bytes_max=ID_BYTES_MAX
    )
    end_point = Dataset(
        dataset_namespace, validator.required(data, "name", item_path, bytes_max=NAME_BYTES_MAX)
    )
    return end_point, validator.optional(data, "description", item_path)


def read_field(validator: Validator, item: object, path: str) -> Field:
    """Read an output field: a name, or an object with name and type."""
    if isinstance(item, dict):
        data = validator.members(item, path, ("name", "type"))
        name = validator.required(data, "name", path, bytes_max=NAME_BYTES_MAX)
        return Field(name, validator.optional(data, "type", path))
    return Field(validator.name(item, path, bytes_max=NAME_BYTES_MAX))


def read_influence(validator: Validator, data: dict[str, Any], path: str) -> tuple[Influence, str]:
    """Return an input's influence and its kind, "" unless indirect; add an error for a direct one's kind."""
    influence = Influence(validator.choice(data, "influence", path, _INFLUENCES, Influence.DIRECT.value))
    if "kind" not in data:
        return influence, ""
    kind = validator.choice(data, "kind", path, KINDS, "")
    # A kind states what an indirect input decides (filter, join); a direct one contributes its value.
    if influence is Influence.DIRECT:
        validator.error(child_path(path, "kind"), 'goes with `"influence": "indirect"` alone')
    return influence, kind
