"""Recorded runs and catalogue: recording, resending, replacing."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from tests.oracle import readings
from tests.oracle.content import (
    Content,
    EndPoint,
    Json,
    faults,
    operations_of_type,
    outputs_of,
    read_content,
    type_of,
    unknown_members,
    warnings,
)
from tests.oracle.name_based_form import translate

LEFT_OUT = ("FAIL", "ABORT")
MEMBERS = ("application", "version", "type", "program", "run", "startTime", "state")


@dataclass(frozen=True, slots=True)
class Run:
    """The state recorded under one run id."""

    namespace: str
    members: tuple[tuple[str, object], ...]
    checksum: str
    content: Content

    def member(self, name: str) -> object:
        return dict(self.members).get(name)

    @property
    def start_ms(self) -> int:
        return int(str(self.member("startTime")))

    @property
    def age(self) -> tuple[int, str, str]:
        """Sorts oldest first; of one millisecond, by run id and namespace (the contract is silent)."""
        return (-self.start_ms, quote(str(self.member("run")), safe=""), quote(self.namespace, safe=""))

    def failed(self) -> bool:
        return self.member("state") in LEFT_OUT

    def reads(self, end_point: EndPoint) -> bool:
        return any(read.end_point == end_point for read in operations_of_type(self.content, "READ"))

    def writes(self, end_point: EndPoint) -> bool:
        return any(write.end_point == end_point for write in operations_of_type(self.content, "WRITE"))


def read_document(namespace: str, document: Json) -> tuple[Content, list[Json], list[Json]]:
    """The content, the faults of a 422, and the warnings, of either form."""
    early: list[Json] = []
    unknown = list(unknown_members(document))
    if "destination" in document:
        document, early = translate(document)
    content = read_content(document, namespace)
    if early:
        return content, early + [f for f in faults(content) if f["fault"] != "bad origin"], []
    return content, faults(content), unknown + warnings(content)


def members_of(run: Json) -> tuple[tuple[str, object], ...]:
    """The members of `run` that the contract names, the default state filled in."""
    full = {"state": "COMPLETE", **run}
    return tuple((name, full[name]) for name in MEMBERS if name in full)


@dataclass(slots=True)
class History:
    """The runs as they stand, and every run that was ever accepted (for what is known)."""

    runs: dict[tuple[str, str], Run] = field(default_factory=dict)
    ever: list[Run] = field(default_factory=list)

    def record(self, run: Run) -> str:
        """`recorded`, `replaced` or `same`."""
        # None of the ids is a UUID, which would be of all namespaces.
        key = run.namespace, str(run.member("run"))
        previous = self.runs.get(key)
        if previous and _sameness(previous) == _sameness(run):
            return "same"
        self.runs[key] = run
        self.ever.append(run)
        return "replaced" if previous else "recorded"

    def window(self, start_ms: int, end_ms: int, failed: bool) -> list[Run]:
        """The standing runs that started in the window (start in, end out), newest first."""
        inside = [run for run in self.runs.values() if start_ms <= run.start_ms < end_ms]
        chosen = (run for run in inside if failed or not run.failed())
        return sorted(chosen, key=lambda run: run.age)

    def last_writes(self, end_point: EndPoint) -> dict[str, int]:
        """The last start of a run that wrote a field, for those that the newest run did not write."""
        runs = [run for run in self.runs.values() if run.writes(end_point) and not run.failed()]
        newest = max((run.start_ms for run in runs), default=0)
        starts: dict[str, int] = {}
        for run in runs:
            fields: dict[EndPoint, dict[str, Json]] = {}
            _see(fields, run.content)
            for name, seen in fields[end_point].items():
                if seen["written"]:
                    starts[name] = max(run.start_ms, starts.get(name, 0))
        return {name: start for name, start in starts.items() if start != newest}

    def known_endpoints(self) -> dict[EndPoint, dict[str, Json]]:
        """Every end point ever seen, with its fields: whether read, whether written, and `types`.

        The types are all that some run ever said: which one shows when they differ is not fixed.
        """
        endpoints: dict[EndPoint, dict[str, Json]] = {}
        for run in self.ever:
            _see(endpoints, run.content)
        return endpoints


def _sameness(run: Run) -> tuple[object, ...]:
    scope = run.namespace if readings.SAME_NEEDS_NAMESPACE else ""
    return (run.checksum, run.members, scope)


def _see(endpoints: dict[EndPoint, dict[str, Json]], content: Content) -> None:
    for read in operations_of_type(content, "READ"):
        fields = endpoints.setdefault(read.end_point, {})
        for name in outputs_of(content, read):
            _see_field(fields, name, "read", type_of(content, (read.name, name)))
    for write in operations_of_type(content, "WRITE"):
        fields = endpoints.setdefault(write.end_point, {})
        for item in write.inputs:
            if not item.indirect:
                _see_field(fields, item.name, "written", type_of(content, item.node))


def _see_field(fields: dict[str, Json], name: str, role: str, kind: str | None) -> None:
    seen = fields.setdefault(name, {"name": name, "read": False, "written": False, "types": set()})
    seen[role] = True
    if kind is not None:
        seen["types"].add(kind)
