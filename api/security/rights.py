"""The store as the principal of a request sees it, and the reader of the documents that it sends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from fll_hbase.ingest.registry import DocumentReader
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.runtime.errors import Forbidden
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.native.cached_reader import OperationCache
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rights.numbering import begin_answer
from fll_hbase.store.rights.store_view import StoreView

from ..wire.environ import PRINCIPAL

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

VIEWS_MAX = 8
"""Views that a process keeps, one for each distinct set of grants. All views share the caches' limits."""


def require(environ: WSGIEnvironment, role: Role, namespace: str | None = None) -> None:
    """Raise Forbidden unless the principal of a request has the role in the namespace, or in any for None.

    Call this before the body is read, so that a client without the right cannot keep a thread busy with
    reading.
    """
    principal: Principal | None = environ.get(PRINCIPAL)
    if principal is None:
        return
    if principal.may_anywhere(role) if namespace is None else principal.may(role, namespace):
        return
    # Only grants and the path decide, so the answer does not reveal whether a name exists.
    where = "any namespace" if namespace is None else repr(namespace)
    raise Forbidden(f"this needs the role `{role.value}` on {where}; nothing was read or stored")


class View(NamedTuple):
    """The store of principals with the same grants, and its reader, which caches operations (decision 5)."""

    store: LineageStore
    reader: DocumentReader


class Views:
    """Views of one store by the grants of principals. Threads may share it."""

    def __init__(self, store: LineageStore, name_rules: NameRules | None = None) -> None:
        """Build the view of the whole store; readers of documents rewrite names by `name_rules`."""
        self._name_rules = name_rules
        self._operations = OperationCache()
        self._base = View(store, self._reader(store, None))
        self._views: LRUCache[frozenset[Grant], View] = LRUCache(VIEWS_MAX)
        self._lock = threading.Lock()

    def select(self, environ: WSGIEnvironment) -> View:
        """Return a request's view: the whole store without authentication or for an admin of all namespaces.

        Other principals get a cached view for their set of grants, and hidden names are numbered again.
        """
        principal: Principal | None = environ.get(PRINCIPAL)
        if principal is None or principal.may_everywhere(Role.ADMIN):
            return self._base
        # Hidden names are numbered within one answer.
        begin_answer()
        with self._lock:
            view = self._views.get(principal.grant_set)
        if view is None:
            store = StoreView(self._base.store, principal)
            view = View(store, self._reader(store, principal.grant_set))
            with self._lock:
                self._views[principal.grant_set] = view
        return view

    def _reader(self, store: LineageStore, scope: frozenset[Grant] | None) -> DocumentReader:
        """Return a reader of documents that reuses operations parsed for the same grants."""
        return DocumentReader(
            columns=store.catalogue.field_names,
            name_rules=self._name_rules,
            cache=self._operations,
            scope=scope,
        )
