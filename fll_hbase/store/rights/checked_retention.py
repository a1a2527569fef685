"""Retention by request on behalf of a principal, who needs the role `admin` where runs are to go."""

from __future__ import annotations

from fll_hbase.keys.retention import RetentionRequest
from fll_hbase.model.access import Principal, Role
from fll_hbase.runtime.errors import Forbidden
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.retention_requests import Affected, RetentionRequests


class CheckedRetention(RetentionRequests):
    """Counts and stores requests that the principal may make. `catalogue` is that of its view."""

    def __init__(self, base: LineageStore, catalogue: Catalogue, principal: Principal) -> None:
        self._base = base.retention
        self._names = base.catalogue.names
        self._catalogue = catalogue
        self._principal = principal

    def count(self, request: RetentionRequest) -> Affected:
        """Return how many runs the request is about. Raises Forbidden, and NotFound as RetentionRequests."""
        self._check(request)
        return self._base.count(request)

    def put(self, request: RetentionRequest) -> None:
        """Store a request, durably. Raises Forbidden and NotFound."""
        self._check(request)
        self._base.put(request)

    def _check(self, request: RetentionRequest) -> None:
        """Raise Forbidden without the role `admin` on all names of the dataset, or everywhere without one.

        Raises NotFound for a dataset that the principal may not see.
        """
        dataset = request.dataset
        if dataset is None:
            if not self._principal.may_everywhere(Role.ADMIN):
                raise Forbidden("this needs the role `admin` on all namespaces; nothing was changed")
            return
        # First: who may not see the dataset must not learn of it.
        self._catalogue.require_dataset(dataset)
        if not all(self._principal.may(Role.ADMIN, name.namespace) for name in self._names(dataset)):
            raise Forbidden(
                f"this needs the role `admin` on namespace {dataset.namespace!r} and on those of all names"
                " of the dataset; nothing was changed"
            )
