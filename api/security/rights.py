"""The store as the principal of a request sees it, and the reader of the documents that it sends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from fll_hbase.ingest import DocumentReader
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.runtime.errors import Forbidden
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rights.numbering import begin_answer
from fll_hbase.store.rights.store_view import StoreView

from ..wire.environ import PRINCIPAL

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

VIEWS_MAX = 8
"""Views that a process keeps, one for each distinct set of grants; each has an equal part of the cache."""


def require(environ: WSGIEnvironment, role: Role, namespace: str | None = None) -> None:
    """Raise Forbidden unless the principal of a request has the role in the namespace; with None, in any.

    To be called before the body is read: who has no right must not keep a thread busy with reading.
    """
    principal: Principal | None = environ.get(PRINCIPAL)
    if principal is None:
        return
    if principal.may_anywhere(role) if namespace is None else principal.may(role, namespace):
        return
    # The same for names that exist and that do not: only grants and the path decide.
    where = "any namespace" if namespace is None else repr(namespace)
    raise Forbidden(f"this needs the role `{role.value}` on {where}; nothing was read or stored")


class View(NamedTuple):
    """The store of principals with the same grants, and its reader, which caches operations (decision 5)."""

    store: LineageStore
    reader: DocumentReader


class Views:
    """Views of one store by the grants of principals. Threads may share it."""

    def __init__(self, store: LineageStore, build_reader: Callable[[LineageStore], DocumentReader]) -> None:
        """Build the view of the whole store; `build_reader` makes the reader of each view from its store."""
        self._base = View(store, build_reader(store))
        self._build_reader = build_reader
        self._views: LRUCache[frozenset[Grant], View] = LRUCache(VIEWS_MAX)
        self._lock = threading.Lock()

    def select(self, environ: WSGIEnvironment) -> View:
        """Return the view of a request: the whole store without authentication and for an admin of all.

        Others get a cached view for their set of grants.
        """
        principal: Principal | None = environ.get(PRINCIPAL)
        if principal is None or principal.may_everywhere(Role.ADMIN):
            return self._base
        # Numbers of hidden names are those of one answer.
        begin_answer()
        with self._lock:
            view = self._views.get(principal.grant_set)
        if view is None:
            view = self._build(principal)
            with self._lock:
                self._views[principal.grant_set] = view
        return view

    def _build(self, principal: Principal) -> View:
        """Return a view of what a principal may see, with a share of the cache's memory."""
        base = self._base.store
        settings = replace(base.settings, cache_bytes=base.settings.cache_bytes // VIEWS_MAX)
        store = StoreView(base, principal, settings)
        return View(store, self._build_reader(store))
