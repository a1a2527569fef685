"""Documents in the name-based form, converted to operations."""

from __future__ import annotations

from tests.oracle.content import Json


class Translation:
    """One document being translated: names used, the latest maker of each field, fields alive."""

    def __init__(self) -> None:
        self.operations: list[Json] = []
        self.faults: list[Json] = []
        self.maker: dict[str, str] = {}
        self.alive: list[str] = []
        self.used: set[str] = set()

    def unique(self, name: str) -> str:
        """The name, or with `#2`, `#3`, … when it was used before."""
        number, free_name = 1, name
        while free_name in self.used:
            number += 1
            free_name = f"{name}#{number}"
        self.used.add(free_name)
        return free_name

    def add(self, number: int, raw: Json) -> None:
        """One operation of the first design, as one or more of the second."""
        sources = [item["source"] for item in raw["inputs"] if "source" in item]
        fields = [item["field"]["name"] for item in raw["inputs"] if "field" in item]
        name = self.unique(raw["name"])
        if len(sources) == 1 and not fields:
            self._read(name, raw.get("description", ""), sources[0], raw["outputs"])
        else:
            self._transform(number, name, raw, sources, fields)
        for output in raw["outputs"]:
            field = output if isinstance(output, str) else output["name"]
            self.maker[field] = name
            self.alive += [field] if field not in self.alive else []

    def _read(self, name: str, description: str, source: Json, outputs: list[str | Json]) -> None:
        read = {"type": "READ", "name": name, "description": description, "source": source}
        self.operations.append({**read, "outputs": outputs})

    def _transform(self, number: int, name: str, raw: Json, sources: list[Json], fields: list[str]) -> None:
        inputs = [{"origin": self._generate(field, number), "name": field} for field in fields]
        for source in sources:
            read = self.unique(f"{name}.read")
            self._read(read, raw.get("description", ""), source, raw["outputs"])
            names = [item if isinstance(item, str) else item["name"] for item in raw["outputs"]]
            inputs += [{"origin": read, "name": item} for item in names]
        head = {"type": "TRANSFORM", "name": name, "description": raw.get("description", "")}
        self.operations.append({**head, "inputs": inputs, "outputs": raw["outputs"]})
        if not raw["outputs"]:
            self.alive = [field for field in self.alive if field not in fields]

    def _generate(self, field: str, number: int) -> str:
        if field not in self.maker:
            self.faults.append({"at": f"operations.{number}.inputs", "fault": "unknown field"})
        return self.maker.get(field, "")

    def write(self, destination: Json) -> None:
        """The WRITE of every field alive, or of those that the destination lists."""
        fields = destination.get("fields", self.alive)
        for field in fields:
            if field not in self.maker:
                self.faults.append({"at": "destination.fields", "fault": "unknown field"})
        inputs = [{"origin": self.maker.get(field, ""), "name": field} for field in fields]
        endpoint = {key: value for key, value in destination.items() if key != "fields"}
        head = {"type": "WRITE", "name": self.unique("write"), "description": endpoint.get("description", "")}
        self.operations.append({**head, "destination": endpoint, "inputs": inputs})


def translate(document: Json) -> tuple[Json, list[Json]]:
    """The document in the operations form, and the fields that no earlier operation makes."""
    work = Translation()
    for number, raw in enumerate(document["operations"]):
        work.add(number, raw)
    work.write(document["destination"])
    return {"run": document["run"], "operations": work.operations}, work.faults
