"""Dataset names of tables: identifiers as the engine stores them, completed by defaults, in a namespace.

OpenLineage (its naming page) and DataHub (its urns) name a table alike, except for the namespace, the number
of parts and, for Snowflake, the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from fll_hbase.model.dataset_spelling import file_alias
from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.dialect_names import dialect_of, scheme_of
from fll_hbase.sources.sql.dialects import facts_of
from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.validation import ID_BYTES_MAX


@dataclass(frozen=True, slots=True)
class DatasetNaming:
    """Naming of the tables of a script.

    Without a `dialect`, names stay as written. `catalog` and `schema` complete names. With `is_mapped`, they
    are as in OpenLineage or DataHub in `namespace`. A table has an alias in each of `alias_namespaces`.
    """

    namespace: str
    dialect: str = ""
    catalog: str = ""
    schema: str = ""
    is_mapped: bool = False
    alias_namespaces: tuple[str, ...] = ()

    @property
    def facts(self) -> DialectFacts:
        """Return the facts of the dialect. With exact quotes, names that differ only in case are distinct."""
        return facts_of(self.dialect)

    def fold(self, identifier: exp.Identifier) -> str:
        """Return a part of a table name as the engine stores it; a quoted part may be unchanged."""
        is_exact = identifier.quoted and self.facts.has_exact_quotes
        return identifier.name if is_exact else self.facts.fold(identifier.name)

    def complete(self, parts: Sequence[str]) -> list[str]:
        """Return the parts of a name, preceded by any missing default schema and catalog."""
        if len(parts) == 1 and self.schema:
            parts = [self.schema, *parts]
        return [self.catalog, *parts] if len(parts) == 2 and self.catalog else list(parts)

    def is_incomplete(self, parts: Sequence[str]) -> bool:
        """Return whether a name lacks parts in an alias namespace or, if `is_mapped`, in the namespace."""
        namespaces = [self.namespace, *self.alias_namespaces] if self.is_mapped else self.alias_namespaces
        return not all(has_full_name(namespace, parts) for namespace in namespaces)

    def aliases(self, parts: Sequence[str]) -> tuple[Dataset, ...]:
        """Return a table as a dataset of each alias namespace in which its name is complete."""
        return tuple(
            Dataset(namespace, name_in(namespace, parts))
            for namespace in self.alias_namespaces
            if has_full_name(namespace, parts)
        )

    def file_aliases(self, name: str) -> tuple[Dataset, ...]:
        """Return the other dataset, if any, that captured jobs and warehouses have at the URI `name`."""
        alias = file_alias(name)
        if not alias or alias == (self.namespace, name) or len(alias[0].encode()) > ID_BYTES_MAX:
            return ()
        return (Dataset(*alias),)

    def mapped(self, name: str, parts: Sequence[str]) -> str:
        """Return the name of a table with these parts in the namespace if `is_mapped`, else `name`."""
        return name_in(self.namespace, parts) if self.is_mapped else name


def fold_default(dialect: str, name: str) -> str:
    """Return a default catalog or schema as the engine stores it, or without its double quotes."""
    is_quoted = len(name) > 2 and name[0] == name[-1] == '"'
    return name[1:-1] if is_quoted else facts_of(dialect).fold(name)


def has_full_name(namespace: str, parts: Sequence[str]) -> bool:
    """Return whether a name has at least as many parts as full names in a namespace."""
    return len(parts) >= _facts_in(namespace).name_parts


def name_in(namespace: str, parts: Sequence[str]) -> str:
    """Return the name of a table in a namespace of OpenLineage (`hive://host:9083`) or DataHub (`hive`).

    The last parts form the name, as many as the engine's full names have. Some names are in lower case in
    DataHub.
    """
    name = ".".join(parts[-_facts_in(namespace).name_parts :])
    is_platform = "://" not in namespace
    return name.lower() if is_platform and _facts_in(namespace).is_lowercase_platform else name


def _facts_in(namespace: str) -> DialectFacts:
    """Return the facts of a namespace's dialect, or of standard SQL for an unknown engine."""
    return facts_of(dialect_of(scheme_of(namespace)) or "")
