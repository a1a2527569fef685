"""Flow policies: datasets that data of fields with a tag must not reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fll_hbase.model.access import pattern_expression
from fll_hbase.model.datasets import Dataset

VALUE, ANY = "value", "any"
INFLUENCES = (VALUE, ANY)
"""What must not flow: values alone, or also filters, join keys and the like."""

PATTERN_FAULT = "must be a pattern NAMESPACE/DATASET, in which `*` is any text"


@dataclass(frozen=True)
class FlowPolicy:
    """Where data of the fields with `tag` must not go.

    A dataset is forbidden if `into` matches `namespace/name` and `only_into` does not. An empty `into`
    matches every dataset, an empty `only_into` none. With `influence` ANY, indirect dependencies count, too.
    With `unless_masked`, ways through a masking operation do not count. `at_ms` is when the policy was put,
    in milliseconds since 1970.
    """

    name: str
    tag: str
    into: str
    only_into: str
    influence: str
    unless_masked: bool
    description: str
    at_ms: int

    @property
    def namespace(self) -> str:
        """Return "", the namespace of policies on tags."""
        return ""

    @property
    def field(self) -> None:
        """Return None: a flow policy is on a tag."""
        return

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Return the expressions for the datasets of `into` and of `only_into`."""
        allowed = [self.only_into] if self.only_into else []
        return pattern_expression([self.into or "*"]), pattern_expression(allowed)

    def forbids(self, names: Iterable[Dataset]) -> bool:
        """Return whether a dataset is forbidden, given all of its names: any of them may match a pattern."""
        into, allowed = self._expressions
        texts = [f"{name.namespace}/{name.name}" for name in names]
        return any(map(into.fullmatch, texts)) and not any(map(allowed.fullmatch, texts))

    def may_forbid(self, namespace: str) -> bool:
        """Return whether `into` can match a dataset of a namespace, by its text up to the first `*`."""
        begin, names = self.into.partition("*")[0], f"{namespace}/"
        return names.startswith(begin) or begin.startswith(names)

    def namespace_texts(self) -> Iterator[tuple[str, ...]]:
        """Yield for each of the two patterns that is not empty the texts that may be its namespace.

        These are the texts before each single `/`, as a namespace may contain `/`, or else the whole pattern.
        """
        for pattern in filter(None, (self.into, self.only_into)):
            ends = [match.start() for match in re.finditer("(?<![:/])/(?!/)", pattern)]
            yield tuple(pattern[:end] for end in ends) or (pattern,)


def pattern_fault(pattern: str) -> str:
    """Return what is wrong with a pattern, or "" for a valid one: without `/` or `*` none can match."""
    return "" if "/" in pattern or "*" in pattern else PATTERN_FAULT
