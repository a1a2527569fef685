"""Writers and readers that work during a failure and resend until they get an answer."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from tests.faults.caller import RECORDED, Away, Broken, Caller, Tally
from tests.faults.ledger import Ledger, Version, version
from tests.faults.questions import Question, random_question, wrong
from tests.support.waiting import PATIENCE_SECONDS

RETRY_SECONDS = 0.02
THINK_SECONDS = 0.02
FINISH_SECONDS = 2 * PATIENCE_SECONDS
STARTED: list[Client] = []


class Client(threading.Thread):
    """A loop in a thread, until told to finish or something is wrong."""

    def __init__(self, ports: Sequence[int], ledger: Ledger, *, seed: int, patience_seconds: float) -> None:
        super().__init__(daemon=True)
        self._callers = [Caller(port, patience_seconds=patience_seconds) for port in ports]
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._going = threading.Event()
        self._going.set()
        self._finishing = threading.Event()
        self._abandoned = threading.Event()
        self._failure: BaseException | None = None
        self.done = 0
        """How often it was given what it wanted: all of a batch acknowledged, or a right answer."""

    def run(self) -> None:
        try:
            while not self._finishing.is_set():
                self._going.wait()
                self.turn()
        except BaseException as error:  # noqa: BLE001 (told by `finish`)
            self._failure = error

    def turn(self) -> None:
        """One thing to do."""
        raise NotImplementedError

    def finish(self, seconds: float = FINISH_SECONDS) -> None:
        """Let it come to the end of its turn. Raises what went wrong in it."""
        self._finishing.set()
        self._going.set()
        self.join(seconds)
        assert not self.is_alive(), f"{self.name} did not come to an end within {seconds:g} s"
        # A worker with open connections accepts later than one without: probes would not reach it.
        for caller in self._callers:
            caller.close()
        if self._failure is not None:
            raise self._failure

    def abandon(self) -> None:
        """Let it give up, whatever it waits for."""
        self._abandoned.set()
        self._finishing.set()
        self._going.set()

    def pause(self) -> None:
        """Let it send nothing more, not even again, until it goes on."""
        self._going.clear()

    def go_on(self) -> None:
        self._going.set()

    def check(self) -> None:
        """Raises what went wrong so far."""
        if self._failure is not None:
            raise self._failure

    @property
    def tallies(self) -> list[Tally]:
        return [caller.tally for caller in self._callers]


class Writer(Client):
    """Records runs of its own, `lines` at a time, each until it is acknowledged; some again in other words.

    With several ports, each try goes to the next of them.
    """

    def __init__(
        self,
        ports: Sequence[int],
        ledger: Ledger,
        *,
        seed: int,
        lines: int,
        replaces: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        gives_up_seconds: float = PATIENCE_SECONDS,
        think_seconds: float = THINK_SECONDS,
    ) -> None:
        super().__init__(ports, ledger, seed=seed, patience_seconds=patience_seconds)
        self._names = (f"w{seed}-{number}" for number in count())
        self._lines = lines
        self._replaces = replaces
        self._gives_up_seconds = gives_up_seconds
        self._think_seconds = think_seconds
        self._last: list[str] = []
        self._tries = 0

    def turn(self) -> None:
        time.sleep(self._think_seconds)
        again = self._replaces and self._last and self._chance.random() < 0.5
        names = self._last if again else [next(self._names) for _ in range(self._lines)]
        self._last = names
        self.record([version(name, self._chance) for name in names])

    def record(self, versions: Sequence[Version]) -> None:
        """Send until all are acknowledged."""
        self._ledger.begin(versions)
        began = time.monotonic()
        pending = list(versions)
        tries = 0
        while pending and not self._abandoned.is_set():
            assert time.monotonic() - began < self._gives_up_seconds, (
                f"{len(pending)} runs are not acknowledged"
            )
            tries += 1
            pending = self._pending(pending)
            if pending:
                time.sleep(RETRY_SECONDS)
                self._going.wait()
        if tries > 1:
            tally = self._callers[0].tally
            tally.outage_seconds = max(tally.outage_seconds, time.monotonic() - began)
        self.done += not pending

    def _pending(self, versions: list[Version]) -> list[Version]:
        """Send once; what is still to be sent again."""
        self._tries += 1
        caller = self._callers[self._tries % len(self._callers)]
        try:
            statuses = caller.record(versions)
        except Broken:
            return versions
        pending = []
        for sent, status in zip(versions, statuses, strict=True):
            if status in RECORDED:
                self._ledger.acknowledge(sent)
            else:
                pending.append(sent)
        return pending


class Reader(Client):
    """Asks for windows all the time, and checks every answer against what was known around it.

    What came to nothing is asked again; 503 is an answer only to one that is `forgiving`.
    """

    def __init__(
        self,
        ports: Sequence[int],
        ledger: Ledger,
        *,
        seed: int,
        patience_seconds: float = PATIENCE_SECONDS,
        think_seconds: float = 0.0,
        forgiving: bool = False,
    ) -> None:
        super().__init__(ports, ledger, seed=seed, patience_seconds=patience_seconds)
        self._think_seconds = think_seconds
        self._forgiven = (Broken, Away) if forgiving else (Broken,)
        self._question: Question | None = None
        self._broken_at: float | None = None

    def turn(self) -> None:
        versions = self._ledger.versions()
        if not versions:
            time.sleep(RETRY_SECONDS)  # an end point that nobody named yet is 404
            return
        time.sleep(self._think_seconds)
        question = self._question or random_question(versions, self._chance)
        caller = self._chance.choice(self._callers)
        began = time.monotonic()
        moment = self._ledger.now()
        try:
            results = caller.ask(question)
        except self._forgiven:
            self._question = question
            self._broken_at = self._broken_at or began
            time.sleep(RETRY_SECONDS)
            return
        reason = wrong(question, results, *self._ledger.bounds(moment))
        assert not reason, reason
        self.done += 1
        self._question = None
        if self._broken_at is not None:
            tally = caller.tally
            tally.outage_seconds = max(tally.outage_seconds, time.monotonic() - self._broken_at)
            self._broken_at = None


def start(clients: Iterable[Client]) -> None:
    """Set all to work; whatever becomes of the test, its end is theirs."""
    for client in clients:
        STARTED.append(client)
        client.start()


def abandon_all() -> None:
    """Let all that were started give up: a client left behind would write to the next test's server."""
    while STARTED:
        STARTED.pop().abandon()


@contextmanager
def paused(clients: Iterable[Client]) -> Iterator[None]:
    """None of them sends anything; what is under way may still be answered."""
    for client in clients:
        client.pause()
    yield
    for client in clients:
        client.go_on()


def finish(clients: Iterable[Client]) -> None:
    """Let all come to the end of their turns. Raises what went wrong in any."""
    for client in clients:
        client.finish()
