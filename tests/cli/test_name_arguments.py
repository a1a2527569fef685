"""Names as one argument: what is printed can be pasted back, and ambiguous text is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.cli.name_arguments import Reading, dataset_readings, field_readings
from fll_hbase.client.opening import open_client
from tests.support.commands import complaint, fll, printed
from tests.support.small_documents import document

NAMES = st.text("ab./", min_size=1, max_size=6)
SIMPLE = ("--view", "simple", "--start", "0")


@given(namespace=NAMES, name=NAMES, field=NAMES)
def test_what_is_printed_is_among_the_readings(namespace: str, name: str, field: str) -> None:
    assert Reading(namespace, name) in dataset_readings(str(Reading(namespace, name)))
    reading = Reading(namespace, name, field)
    readings = field_readings(str(reading))
    assert reading in readings
    assert len(set(readings)) == len(readings)
    assert {str(item) for item in readings} == {str(reading)}


@pytest.mark.parametrize("text", ["", "/", "a", "/a", "a/", "a.b"])
def test_texts_without_a_reading(text: str) -> None:
    assert dataset_readings(text) == []
    assert field_readings(f"{text}.") == []


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store where `a/b/c.d` is a dataset of two namespaces, and a field of two datasets."""
    url = f"sqlite:///{tmp_path_factory.mktemp('ambiguous')}/store.db"
    lines = []
    for number, (namespace, name, field) in enumerate(
        [
            ("a", "b/c.d", "x"),
            ("a/b", "c.d", "x"),
            ("a", "b/c", "d"),
            ("a", "b/c.x", "d"),
            ("a/b", "y.z", "x"),
        ]
    ):
        payload = document(f"r{number}")
        payload["operations"][2]["destination"] = {"namespace": namespace, "name": name}
        payload["operations"][1]["outputs"] = [field]
        payload["operations"][2]["inputs"][0]["name"] = field
        lines.append(json.dumps(payload))
    result = fll("record", "-", "--store", url, stdin="\n".join(lines).encode())
    assert result.exit_code == 0, result.output
    return url


@pytest.mark.parametrize(
    ("command", "apart"),
    [
        (("runs", "a/b/y.z"), ("a/b", "y.z")),
        (("field", "a/b/y.z.x"), ("a/b", "y.z", "x")),
        (("field", "a/b/c.x.d"), ("a", "b/c.x", "d")),
        (("field", "shop/orders.net"), ("shop", "orders", "net")),
        (("field", "shop/orders", "net"), ("shop", "orders", "net")),
        (("consumers", "shop/orders.net"), ("shop", "orders", "net")),
        (("consumers", "shop/orders"), ("shop", "orders")),
        (("ls", "shop/orders"), ("shop", "orders")),
    ],
)
def test_one_argument_is_as_several(ambiguous: str, command: tuple[str, ...], apart: tuple[str, ...]) -> None:
    window = () if command[0] == "ls" else ("--start", "0", "--end", "now+9d")
    options = (*window, "--store", ambiguous, "--json")
    assert printed(*command, *options) == printed(command[0], *apart, *options)


@pytest.mark.parametrize(
    ("command", "readings"),
    [
        (("runs", "a/b/c.d"), "'a/b/c.d' is 'a' 'b/c.d' and 'a/b' 'c.d': give the names as separate"),
        (("field", "a/b/c.d.x"), "'a' 'b/c.d' 'x' and 'a/b' 'c.d' 'x'"),
        (("consumers", "a/b/c.d"), "'a' 'b/c.d' and 'a/b' 'c.d' and 'a' 'b/c' 'd'"),
    ],
)
def test_names_of_several_are_listed(ambiguous: str, command: tuple[str, ...], readings: str) -> None:
    assert readings in complaint(*command, "--store", ambiguous, code=2)


def test_readings_are_bounded(ambiguous: str) -> None:
    assert "can be read in 99 ways" in complaint("programs", "x/" * 99 + "x", "--store", ambiguous, code=2)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("programs",), "fll programs: Give NS/NAME: `fll ls` lists namespaces, `fll find TEXT` finds"),
        (("programs", "bank"), "Give NS/NAME: 'bank' is not of this form; `fll ls bank` lists the datasets"),
        (("runs", "a", "b", "c"), "not 3 arguments"),
        (("lineage", "a", "b c", "d"), "this is about datasets, `fll reach a 'b c' d` about a field"),
        (("field",), "Give NS/NAME.FIELD: `fll ls` lists namespaces"),
        (("field", "bank"), "Give NS/NAME.FIELD: 'bank' is not of this form; `fll ls bank` lists"),
        (("field", "bank/T"), "Give NS/NAME.FIELD: FIELD is missing, `fll ls bank/T` lists the fields"),
        (("field", "bank", "T"), "FIELD is missing, `fll ls bank T` lists the fields of a dataset"),
        (("tag", "set", "bank/T", "PII"), "fll tag set: Give NS/NAME.FIELD: FIELD is missing"),
        (("field", "a", "b", "c", "d"), "not 4 arguments"),
        (("consumers",), "Give NS/NAME[.FIELD]: `fll ls` lists namespaces"),
        (("ls", "a", "b", "c"), "not 3 arguments"),
        (("runs", "a/b/c", "--store", "x", "--server", "y"), "Give --store or --server, not both."),
    ],
)
def test_arguments_of_another_form(command: tuple[str, ...], message: str) -> None:
    assert message in complaint(*command, code=2)


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (("programs", "bank/dailytransaction"), "bank/DailyTransactions"),
        (("field", "bank/DailyTransactions.uid"), "bank/DailyTransactions.UID"),
        (("lineage", "bnak", "RiskScores"), "bank/RiskScores?"),
        (("lineage", "bnak", "Nothing"), "bank?"),
        (("field", "Bank/DailyTransactions.uid"), "bank/DailyTransactions.UID?"),
        (("reach", "Bank", "dailytransactions", "UDI"), "bank/DailyTransactions.UID?"),
        (("report", "provenance", "bank/riskscores.risk_band"), "bank/RiskScores.risk_band?"),
        (("ls", "Bank"), "bank?"),
        (("ls", "Bank/riskscores"), "bank/RiskScores?"),
        (("ls", "hopsital"), "hospital?"),
        (("ls", "bank/DailyTransaction"), "bank/DailyTransactions"),
        (("programs", "bank", "RiskScore"), "bank/RiskScores"),
    ],
)
def test_near_names_are_suggested(sampled: str, server: str, command: tuple[str, ...], near: str) -> None:
    lines = [complaint(*command, *to, code=1) for to in (("--store", sampled), ("--server", server))]
    assert lines[0] == lines[1]
    assert "; did you mean " in lines[0]
    assert near in lines[0].partition("did you mean")[2]


@pytest.mark.parametrize(
    ("command", "dataset", "about_field"),
    [
        ("lineage", "bank/RiskScores", "fll reach bank/RiskScores.risk_band"),
        ("ls", "bank/RiskScores", "fll reach bank/RiskScores.risk_band"),
        ("runs", "bank/RiskScores", "fll runs bank/RiskScores --field risk_band"),
        ("programs", "bank/RiskScores", "fll programs bank/RiskScores --field risk_band"),
    ],
)
def test_a_field_given_for_a_dataset_is_recognized(
    sampled: str, server: str, command: str, dataset: str, about_field: str
) -> None:
    field = "bank/RiskScores.risk_band"
    for to in (("--store", sampled), ("--server", server)):
        line = complaint(command, field, *to, code=1)
        advice = f"`fll {command} {dataset}` is about its dataset, `{about_field}` about the field"
        assert line.endswith(f"; {field} is a field: {advice}")


def test_a_dataset_given_for_a_field_is_recognized(ambiguous: str) -> None:
    line = complaint("field", "a/b/y.z", "--store", ambiguous, code=1)
    assert line.endswith("; a/b/y.z is a dataset, and FIELD is missing: `fll ls a/b/y.z` lists its fields")


def test_nothing_near_is_suggested(sampled: str) -> None:
    assert "did you mean" not in complaint("runs", "bank", "q" * 4000, "--store", sampled, code=1)
    assert "did you mean" not in complaint("runs", "zzz", "x", "--store", sampled, code=1)


@pytest.mark.slow
def test_every_printed_name_can_be_pasted(sampled: str) -> None:
    with open_client(sampled) as client:
        datasets = [item for ns in client.namespaces() for item in client.datasets(ns["namespace"])]
        names = [
            (item["namespace"], item["name"], field["name"])
            for item in datasets
            for field in client.fields(item["namespace"], item["name"], limit=3)
        ]
    assert len(names) > 40
    for namespace, name, field in names:
        for command, apart in (("consumers", (namespace, name, field)), ("ls", (namespace, name))):
            text = str(Reading(*apart))
            if text.isprintable():
                options = ("--store", sampled, "--json")
                assert printed(command, text, *options) == printed(command, *apart, *options)
