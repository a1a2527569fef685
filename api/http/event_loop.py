"""Event loop over the connections of waitress: epoll, at a cost that does not grow with idle connections."""

from __future__ import annotations

import select
from collections import deque

from waitress import wasyncore

# Without EPOLLPRI: nothing reads urgent data, so it would be reported for ever.
_READ = select.EPOLLIN

EVENTS_MAX = 128
"""Events that are handled in one turn, before deadlines and new connections are looked at again."""


class EventLoop(dict[int, wasyncore.dispatcher]):
    """The sockets of a server by descriptor, and what each waits for.

    waitress adds and removes sockets as in a dictionary. Its own loop asks every socket before every wait
    what it waits for; this one asks only those that had an event or that `refresh` names. Only the thread of
    the loop may change it, except for `refresh`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._epoll = select.epoll()
        self._events: dict[int, int] = {}
        self._changed: deque[wasyncore.dispatcher] = deque()

    def __setitem__(self, descriptor: int, socket: wasyncore.dispatcher) -> None:
        """Add a socket; what it waits for is asked by the next `poll`."""
        super().__setitem__(descriptor, socket)
        # What it waits for is known once its constructor has ended.
        self._epoll.register(descriptor, 0)
        self._events[descriptor] = 0
        self._changed.append(socket)

    def __delitem__(self, descriptor: int) -> None:
        """Remove a socket by its descriptor. Raises KeyError without one."""
        super().__delitem__(descriptor)
        self._epoll.unregister(descriptor)
        del self._events[descriptor]

    def refresh(self, socket: wasyncore.dispatcher) -> None:
        """Note that a socket may wait for something else; other threads have to wake the loop afterwards."""
        self._changed.append(socket)

    def poll(self, seconds: float) -> bool:
        """Wait for events, at most `seconds`, and handle up to EVENTS_MAX; return whether so many came."""
        self._update()
        all_events = self._epoll.poll(seconds, EVENTS_MAX)
        # The numbers of epoll's events are those of poll(2), which waitress handles.
        for descriptor, events in all_events:
            # Handling an earlier event of this round may have closed it.
            socket = self.get(descriptor)
            if socket is not None:
                wasyncore.readwrite(socket, events)
                self._changed.append(socket)
        self._update()
        return len(all_events) == EVENTS_MAX

    def close(self) -> None:
        """Close all sockets, whatever errors they raise, and the loop itself."""
        wasyncore.close_all(self, ignore_all=True)
        self._epoll.close()

    def _update(self) -> None:
        """Register with epoll what the changed sockets wait for now."""
        while self._changed:
            socket = self._changed.popleft()
            descriptor = socket._fileno
            # Closed ones have no descriptor; it may belong to another connection already.
            if descriptor not in self._events or self[descriptor] is not socket:
                continue
            # In this order: a connection is readable if there was nothing to write (see Connection.writable).
            events = select.EPOLLOUT if socket.writable() else 0
            events |= _READ if socket.readable() else 0
            if events != self._events[descriptor]:
                self._epoll.modify(descriptor, events)
                self._events[descriptor] = events
