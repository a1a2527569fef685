"""Random documents and histories: seeded, small, and full of corner cases."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

Json = dict[str, Any]

NAMESPACES = ["ns1", "n/2", "*"]
END_POINTS = ["people", "a|b", "a/b", "a%2Fb", "a b", "nul\x00", "😀", "*", ".", "..", "é", "long" * 75]
FIELDS = ["id", "employees/name", "a.b", "x%y", "*", "😀", "body", "a%2Eb", "."]
READS = ["read", "read 2", "parse"]
TRANSFORMS = ["parse", "join", "a.b", "drop", "read", "t@1", "x, y"]
WRITES = ["store", "write", "join"]
TYPES = [None, None, "int", "string"]
KINDS = ["filter", "join", "group_by", "sort", "window", "conditional"]
DESCRIPTIONS = ["", "", "one", "two"]
STATES = [None, None, None, None, "COMPLETE", "RUNNING", "FAIL", "ABORT"]
DAY_MS = 86_400_000
STARTS_MS = [0, 1, 999, 1000, DAY_MS - 1, DAY_MS, DAY_MS + 1, 7 * DAY_MS - 1, 7 * DAY_MS, 1442863938123]


class Documents:
    """Random documents over one small world of end points and fields."""

    def __init__(self, random: Random, end_points: int = 4, fields: int = 4) -> None:
        self.random = random
        pool = [(namespace, name) for namespace in NAMESPACES for name in END_POINTS]
        self.datasets = random.sample(pool, end_points)
        self.fields = random.sample(FIELDS, fields)
        self.parts: dict[tuple[str, str], Json] = {}
        self.number = 0

    def history(self, length: int) -> list[tuple[str, Json]]:
        """(namespace, document) one after the other: new runs, resends, replacements, refused ones."""
        history_documents: list[tuple[str, Json]] = []
        while len(history_documents) < length:
            history_documents.append(self._next(history_documents))
        return history_documents

    def _next(self, history_documents: list[tuple[str, Json]]) -> tuple[str, Json]:
        dice = self.random.random()
        if history_documents and dice < 0.25:
            return self.again(*self.random.choice(history_documents))
        if dice < 0.31:
            return self.namespace(), self.invalid()
        if dice < 0.40:
            return self.namespace(), self.first_design()
        return self.namespace(), self.document()

    def namespace(self) -> str:
        return self.random.choice(NAMESPACES)

    def again(self, namespace: str, document: Json) -> tuple[str, Json]:
        """The same run as it was, or with other content, start or state."""
        document, dice = copy.deepcopy(document), self.random.random()
        if dice < 0.3:
            self.random.shuffle(document["operations"]) if "destination" not in document else None
        elif dice < 0.5:
            document = {**self.document(), "run": document["run"]}
        elif dice < 0.65:
            document["run"]["startTime"] = self.random.choice(STARTS_MS)
        elif dice < 0.8:
            document["run"]["state"] = self.random.choice(["RUNNING", "COMPLETE", "FAIL"])
        elif dice < 0.95:
            document["run"] |= {"run": self._run_name(), "startTime": self.random.choice(STARTS_MS)}
            self._tweak(document)
        else:
            namespace = self.namespace()
        return namespace, document

    def _tweak(self, document: Json) -> None:
        """Half of the time, one operation of another description, end point, input or output."""
        operation = self.random.choice(document["operations"] or [{}])
        dice = self.random.random()
        if dice < 0.2:
            operation["description"] = self.random.choice(["one", "two", "three"])
        elif dice < 0.3:
            self.random.shuffle(operation.get("outputs", []))
        elif dice < 0.4 and operation.get("inputs"):
            operation["inputs"].pop()
        elif dice < 0.5 and "source" in operation:
            operation["source"] = self.random_dataset()

    def run(self) -> Json:
        """A new run, many of them in one millisecond."""
        names = {name: self.random.choice([name, "other"]) for name in ("application", "type", "program")}
        run = {**names, "run": self._run_name(), "startTime": self.random.choice(STARTS_MS)}
        state = self.random.choice(STATES)
        run |= {"state": state} if state else {}
        return run | ({"version": "1.4"} if self.random.random() < 0.3 else {})

    def _run_name(self) -> str:
        self.number += 1
        return f"{self.random.choice(['run', 'r/', 'é|', '😀'])}{self.number}"

    def random_dataset(self, *, described: bool = True) -> Json:
        """An end point, the namespace sometimes left to the default."""
        namespace, name = self.random.choice(self.datasets)
        random_dataset = (
            {"namespace": namespace, "name": name} if self.random.random() < 0.9 else {"name": name}
        )
        if described and self.random.random() < 0.2:
            random_dataset["description"] = self.random.choice(DESCRIPTIONS)
        return random_dataset

    def document(self) -> Json:
        """A run in the operations form: 1–3 reads, 0–6 transforms, 1–3 writes, no cycle."""
        built: list[Json] = []
        names = set()
        for kind, pool, least, most in (
            ("READ", READS, 1, 3),
            ("TRANSFORM", TRANSFORMS, 0, 6),
            ("WRITE", WRITES, 1, 3),
        ):
            for name in self.random.sample(pool, min(self.random.randint(least, most), len(pool))):
                if name not in names:
                    names.add(name)
                    built.append(self._operation(kind, name, built))
        if not any(item["type"] == "WRITE" for item in built):
            built.append(self._operation("WRITE", "last", built))
        self.random.shuffle(built)
        return self._odd({"run": self.run(), "operations": built})

    def _odd(self, document: Json) -> Json:
        """Now and then a member that nobody knows, or the one that repeats the path's namespace."""
        dice, operation = self.random.random(), self.random.choice(document["operations"])
        if dice < 0.03:
            return {**document, "colour": 1}
        if dice < 0.06:
            operation["colour"] = "red"
        if 0.06 < dice < 0.09:
            document["run"]["colour"] = None
        for item in operation.get("inputs", [])[: 0.09 < dice < 0.12]:
            item["colour"] = {}
        return document

    def _operation(self, kind: str, name: str, earlier: list[Json]) -> Json:
        """A new operation, or the one of that name as an earlier document had it, where it fits."""
        previous = self.parts.get((kind, name))
        origins = {item["name"] for item in earlier if item["type"] != "WRITE"}
        if previous and self.random.random() < 0.6 and _origins(previous) <= origins:
            return copy.deepcopy(previous)
        built = getattr(self, f"_{kind.lower()}")(name, earlier)
        self.parts[kind, name] = copy.deepcopy(built)
        return built

    def _described(self, kind: str, name: str) -> Json:
        head = {"type": kind, "name": name}
        described = self.random.choice([*DESCRIPTIONS, None])
        return head if described is None else {**head, "description": described}

    def _read(self, name: str, _earlier: list[Json]) -> Json:
        outputs = self._outputs(least=0 if self.random.random() < 0.15 else 1)
        return {**self._described("READ", name), "source": self.random_dataset(), "outputs": outputs}

    def _transform(self, name: str, earlier: list[Json]) -> Json:
        outputs = self._outputs(least=0) if self.random.random() < 0.85 else []
        inputs = self._inputs(earlier) if self.random.random() < 0.85 else []
        return {**self._described("TRANSFORM", name), "inputs": inputs, "outputs": outputs}

    def _write(self, name: str, earlier: list[Json]) -> Json:
        inputs = self._inputs(earlier) if self.random.random() < 0.88 else []
        return {**self._described("WRITE", name), "destination": self.random_dataset(), "inputs": inputs}

    def _outputs(self, least: int) -> list[str | Json]:
        count = self.random.randint(least, min(3, len(self.fields)))
        return [self._output(name) for name in self.random.sample(self.fields, count)]

    def _output(self, name: str) -> str | Json:
        kind = self.random.choice(TYPES)
        plain = name if self.random.random() < 0.7 else {"name": name}
        return {"name": name, "type": kind} if kind else plain

    def _inputs(self, earlier: list[Json]) -> list[Json]:
        """Some fields of earlier operations, now and then unlisted, indirect, or both ways."""
        nodes = [(item["name"], _name(o)) for item in earlier for o in item.get("outputs", ())]
        origins = [item["name"] for item in earlier if item["type"] != "WRITE"]
        chosen = self.random.sample(nodes, self.random.randint(0, min(4, len(nodes))))
        if self.random.random() < 0.12:
            chosen.append((self.random.choice(origins), self.random.choice(self.fields)))
        names_found = []
        for origin, name in dict.fromkeys(chosen):
            names_found += self._influences({"origin": origin, "name": name})
        return names_found

    def _influences(self, plain: Json) -> list[Json]:
        dice = self.random.random()
        indirect = {**plain, "influence": "indirect", "kind": self.random.choice(KINDS)}
        if dice < 0.7:
            return [plain]
        if dice < 0.78:
            return [{**plain, "influence": "direct"}]
        return [indirect] if dice < 0.93 else [plain, indirect]

    def first_design(self) -> Json:
        """A run in the first design's form."""
        alive: list[str] = []
        operations = []
        for number in range(self.random.randint(1, 6)):
            operation = self._first_operation(alive, first=number == 0)
            alive += [_name(output) for output in operation["outputs"]]
            operations.append(operation)
        destination = self.random_dataset()
        if self.random.random() < 0.3 and alive:
            destination["fields"] = sorted(set(self.random.choices(alive, k=2)))
        return {"run": self.run(), "destination": destination, "operations": operations}

    def _first_operation(self, built: list[str], *, first: bool) -> Json:
        fields = self.random.sample(sorted(set(built)), self.random.randint(0, min(2, len(set(built)))))
        inputs: list[Json] = [{"field": {"name": name}} for name in fields]
        if first or self.random.random() < 0.2:
            inputs += [{"source": self.random_dataset()} for _ in range(self.random.choice([1, 1, 1, 2]))]
        self.random.shuffle(inputs)
        name = self.random.choice(["read", "parse", "write", "drop", "create"])
        outputs = self._outputs(least=1) if first or self.random.random() < 0.75 else []
        head = {"name": name, "description": self.random.choice(DESCRIPTIONS)}
        return {**head, "inputs": inputs, "outputs": outputs}

    def invalid(self) -> Json:
        """A run with at least one fault of those that are answered with 422."""
        faults = [_no_read, _no_write, _twice, _unknown_origin, _write_origin, _itself, _round]
        if self.random.random() < 0.15:
            return self.random.choice([_unknown_field, _unknown_listed])(self.first_design())
        document = self.document()
        for fault in self.random.sample(faults, self.random.choice([1, 1, 1, 2])):
            document = fault(document)
        return document


def _origins(operation: Json) -> set[str]:
    return {item["origin"] for item in operation.get("inputs", ())}


def _name(output: str | Json) -> str:
    return output if isinstance(output, str) else output["name"]


def _no_read(document: Json) -> Json:
    return {**document, "operations": [o for o in document["operations"] if o["type"] != "READ"]}


def _no_write(document: Json) -> Json:
    return {**document, "operations": [o for o in document["operations"] if o["type"] != "WRITE"]}


def _twice(document: Json) -> Json:
    again = copy.deepcopy(document["operations"][:1])
    return {**document, "operations": document["operations"] + again}


def _added(document: Json, *operations: Json) -> Json:
    return {**document, "operations": [*document["operations"], *operations]}


def _transform_of(name: str, origin: str) -> Json:
    inputs = [{"origin": origin, "name": "id"}]
    return {"type": "TRANSFORM", "name": name, "inputs": inputs, "outputs": ["id"]}


def _unknown_origin(document: Json) -> Json:
    return _added(document, _transform_of("lost", "nowhere"))


def _write_origin(document: Json) -> Json:
    writes = [item["name"] for item in document["operations"] if item["type"] == "WRITE"]
    return _added(document, _transform_of("after", writes[0])) if writes else _unknown_origin(document)


def _itself(document: Json) -> Json:
    return _added(document, _transform_of("self", "self"))


def _round(document: Json) -> Json:
    return _added(document, _transform_of("hen", "egg"), _transform_of("egg", "hen"))


def _unknown_field(document: Json) -> Json:
    late = {
        "name": "late",
        "description": "",
        "inputs": [{"field": {"name": "never made"}}],
        "outputs": ["x"],
    }
    return _added(document, late)


def _unknown_listed(document: Json) -> Json:
    return {**document, "destination": {**document["destination"], "fields": ["never made"]}}
