"""Members that several document formats share: datasets, fields and influences."""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import KINDS, Influence
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part

_INFLUENCES = [influence.value for influence in Influence]


def read_dataset(
    holder: Part, name: str, namespace: str, *, also: tuple[str, ...] = ()
) -> tuple[Dataset, str]:
    """Read the dataset in the member `name` and its description; `namespace` is its default namespace.

    `also` lists further members that are allowed. A missing or invalid dataset adds an error and returns a
    placeholder.
    """
    part = holder.member(name)
    if name in holder:
        part.with_members("namespace", "name", "description", *also)
    else:
        part.error("missing")
    if not part.is_object:
        return Dataset("?", "?"), ""
    if "namespace" in part:
        namespace = part.member("namespace").name(bytes_max=ID_BYTES_MAX)
    dataset = Dataset(namespace, part.required("name", bytes_max=NAME_BYTES_MAX))
    return dataset, part.optional("description")


def read_field(part: Part) -> Field:
    """Read a field: its name, or an object with name and type; `?` with an error if it is invalid."""
    if not part.is_object:
        return Field(part.name(bytes_max=NAME_BYTES_MAX))
    part.with_members("name", "type")
    return Field(part.required("name", bytes_max=NAME_BYTES_MAX), part.optional("type"))


def read_influence(part: Part) -> tuple[Influence, str]:
    """Return an input's influence and its kind ("" if none); a direct input with a kind is an error."""
    influence = Influence(part.choice("influence", _INFLUENCES, Influence.DIRECT.value))
    if "kind" not in part:
        return influence, ""
    kind = part.choice("kind", KINDS, "")
    # A kind says what an indirect input decides (filter, join), while a direct input contributes its value.
    if influence is Influence.DIRECT:
        part.error('goes with `"influence": "indirect"` alone', "kind")
    return influence, kind
