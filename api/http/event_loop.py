"""Event loop over the connections of waitress, with epoll: idle connections do not slow it down."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterable

from waitress import wasyncore

# Without EPOLLPRI: nothing reads urgent data, so epoll would report it without end.
_READ = select.EPOLLIN

BULK_EVENTS_MAX = 8
"""Events of bulk sockets (much sent, not done) that are handled in one turn, after all other events."""

EVENTS_MAX = 128
"""Events that are handled in one turn, before deadlines and new connections are checked again."""


class EventLoop(dict[int, wasyncore.dispatcher]):
    """The sockets of a server by descriptor, and their events in epoll.

    waitress adds and removes sockets as in a dictionary. Its own loop asks every socket for its events before
    every wait. This loop asks only sockets that had an event or that `refresh` names. Only the thread of the
    loop may change it, except through `refresh`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._epoll, self._bulk = select.epoll(), select.epoll()
        # The bulk epoll is readable while one of its sockets has an event.
        self._epoll.register(self._bulk, _READ)
        # The epoll and the events with which a socket is registered.
        self._events: dict[int, tuple[select.epoll, int]] = {}
        self._changed: deque[wasyncore.dispatcher] = deque()

    def __setitem__(self, descriptor: int, socket: wasyncore.dispatcher) -> None:
        """Add a socket. The next `poll` asks it for its events."""
        super().__setitem__(descriptor, socket)
        # The socket knows its events only once its constructor has ended.
        self._epoll.register(descriptor, 0)
        self._events[descriptor] = self._epoll, 0
        self._changed.append(socket)

    def __delitem__(self, descriptor: int) -> None:
        """Remove a socket by its descriptor. Raises KeyError for an unknown descriptor."""
        super().__delitem__(descriptor)
        self._events.pop(descriptor)[0].unregister(descriptor)

    def refresh(self, socket: wasyncore.dispatcher) -> None:
        """Note that a socket may wait for other events now. Other threads must wake the loop afterwards."""
        self._changed.append(socket)

    def poll(self, seconds: float) -> bool:
        """Wait for events, at most `seconds`, and handle up to EVENTS_MAX; return whether EVENTS_MAX came."""
        self._update()
        all_events = self._epoll.poll(seconds, EVENTS_MAX)
        self._handle(all_events)
        if any(descriptor == self._bulk.fileno() for descriptor, _ in all_events):
            self._handle(self._bulk.poll(0, BULK_EVENTS_MAX))
        self._update()
        return len(all_events) == EVENTS_MAX

    def _handle(self, all_events: Iterable[tuple[int, int]]) -> None:
        """Let the sockets handle their events."""
        # epoll and poll(2), which waitress handles, use the same numbers for events.
        for descriptor, events in all_events:
            # Handling an earlier event of this turn may have closed the socket.
            socket = self.get(descriptor)
            if socket is not None:
                wasyncore.readwrite(socket, events)
                self._changed.append(socket)

    def close(self) -> None:
        """Close all sockets, whatever errors they raise, and the loop itself."""
        wasyncore.close_all(self, ignore_all=True)
        self._epoll.close()
        self._bulk.close()

    def _update(self) -> None:
        """Register with epoll the events that the changed sockets wait for now."""
        while self._changed:
            socket = self._changed.popleft()
            descriptor = socket._fileno
            # A closed socket is gone, and its descriptor may belong to another connection already.
            if descriptor not in self._events or self[descriptor] is not socket:
                continue
            # `writable` before `readable`, which uses the snapshot that it takes (see Connection.writable).
            events = select.EPOLLOUT if socket.writable() else 0
            events |= _READ if socket.readable() else 0
            earlier, earlier_events = self._events[descriptor]
            epoll = self._bulk if getattr(socket, "is_bulk", False) else self._epoll
            if epoll is not earlier:
                earlier.unregister(descriptor)
                epoll.register(descriptor, events)
            elif events != earlier_events:
                epoll.modify(descriptor, events)
            self._events[descriptor] = epoll, events
