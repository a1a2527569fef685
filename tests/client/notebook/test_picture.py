"""Pictures are well-formed SVG, the same from a store and its server, and say what they leave out."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fll_hbase import connect
from fll_hbase.client import answers
from fll_hbase.client.connection import Connection
from fll_hbase.client.notebook import picture as picture_module
from fll_hbase.client.notebook.drawn_graph import FIELDS_MAX, LINKS_MAX
from fll_hbase.client.notebook.picture import Picture
from fll_hbase.client.opening import open_client
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import InvalidQuery
from tests.support.commands import END_MS, WINDOW
from tests.support.drawn_answers import HOSTILE_NAMES, reach_answer
from tests.support.small_documents import NAMES

SVG = "{http://www.w3.org/2000/svg}"
WINDOWED: dict[str, Any] = {"start": WINDOW[1], "end": WINDOW[3]}
DAILY = ("bank", "DailyTransactions")
SCORE = ("hospital", "PatientRecords", "patient_medical_score")

GRAPHS: list[Callable[[Connection], Any]] = [
    lambda client: client.lineage(*DAILY, **WINDOWED, level=5),
    lambda client: client.lineage("bank", "sftp://vendor/export", **WINDOWED, failed=True),
    lambda client: client.reach(*DAILY, "UID", **WINDOWED, direction="both", failed=True),
    lambda client: client.reach("myns", "mytableds", "id", **WINDOWED, direction="both"),
    lambda client: client.field_lineage(*SCORE, **WINDOWED),
    lambda client: client.field_lineage(*SCORE, **WINDOWED, view="simple"),
    lambda client: client.field_lineage(*DAILY, "UID", **WINDOWED, direction="forward"),
    lambda client: client.consumption(*DAILY, "UID", **WINDOWED),
    lambda client: client.provenance(*SCORE, **WINDOWED, causal=False),
    *(lambda client, name=name: client.lineage("shop", name, start=0, end=END_MS // 1000) for name in NAMES),
]


@pytest.fixture(scope="module")
def local(sampled: str) -> Iterator[Connection]:
    with open_client(sampled, settings=Settings(store=sampled), clock=lambda: END_MS) as client:
        yield client


def parsed(picture: Picture) -> ElementTree.Element:
    """Return a picture as XML. Raises ParseError if it is not well-formed."""
    return ElementTree.fromstring(picture.svg)


def texts(picture: Picture) -> list[str]:
    """Return the texts that a picture shows, without titles."""
    return [element.text or "" for element in parsed(picture).iter(f"{SVG}text")]


def links(picture: Picture) -> list[str]:
    """Return the titles of the links of a picture."""
    return [title.text or "" for title in parsed(picture).findall(f".//{SVG}path/{SVG}title")]


def rectangles(picture: Picture) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the boxes of a picture."""
    groups = re.findall(
        r'<g transform="translate\(([\d.]+) ([\d.]+)\)">\n.*\n<rect class="fll-frame[^>]*'
        r' width="(\d+)" height="([\d.]+)"',
        picture.svg,
    )
    corners = (tuple(map(float, numbers)) for numbers in groups)
    return [(x, y, x + width, y + height) for x, y, width, height in corners]


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS, ids=map(str, range(len(GRAPHS))))
def test_a_server_and_its_store_draw_the_same_picture(
    local: Connection, server: str, graph: Callable[[Connection], Any]
) -> None:
    with connect(server) as remote:
        ours, theirs = graph(local).plot(), graph(remote).plot()
    assert ours == theirs
    assert parsed(ours).tag == f"{SVG}svg"


def test_solid_links_carry_the_value_and_dashed_ones_shape(local: Connection) -> None:
    picture = local.reach(*DAILY, "UID", **WINDOWED, direction="forward").plot()
    assert "bank/DailyTransactions.UID → bank/Statements.customer_no (value)" in links(picture)
    assert "bank/DailyTransactions.UID → bank/FraudFeatures.eur_per_hour (only shapes)" in links(picture)
    dashed = [
        title.text or ""
        for group in parsed(picture).iter(f"{SVG}g")
        if "stroke-dasharray" in group.attrib
        for title in group.iter(f"{SVG}title")
    ]
    assert dashed
    assert dashed == [text for text in links(picture) if text.endswith("(only shapes)")]
    assert texts(picture)[-2:] == ["value", "only shapes"]


def test_operations_stand_between_the_fields_of_datasets(local: Connection) -> None:
    picture = local.field_lineage(*SCORE, **WINDOWED).plot()
    shown = texts(picture)
    assert {"read_labs", "reads hospital/LabResults", "kidney", "creatinine and HbA1c, scaled"} < {*shown}
    assert any(
        link.startswith("patient_medical_score of score (weighted sum of the indices) → hospital/")
        for link in links(picture)
    )


@pytest.mark.parametrize(
    "edges",
    [
        [],
        [(("a", "x"), ("a", "x"))],
        [(("a", "x"), ("a", "y")), (("a", "y"), ("a", "x"))],
        [(("a", "x"), ("b", "x")), (("b", "x"), ("c", "x")), (("c", "x"), ("a", "x"))],
        [(("a", "x"), ("b", "x")), (("b", "x"), ("a", "y")), (("a", "y"), ("b", "y"))],
        [((f"d{hop}", "x"), (f"d{hop + 1}", "x")) for hop in range(64)],
        [((f"d{first}", "x"), (f"d{second}", "x")) for second in range(20) for first in range(second)],
        [(("a", "x"), (f"d{number}", "x")) for number in range(200)],
    ],
    ids=["one", "loop", "self", "cycle", "back", "deep", "dense", "star"],
)
def test_boxes_do_not_overlap_and_all_links_are_there(edges: Any) -> None:
    picture = reach_answer(edges).plot()
    assert len(links(picture)) == len(edges)
    boxes = rectangles(picture)
    assert len(boxes) == len({"a", *(dataset for edge in edges for dataset, _ in edge)})
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:number]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
    width, height = (float(parsed(picture).attrib[name]) for name in ("width", "height"))
    assert all(right <= width and bottom <= height for _, _, right, bottom in boxes)


def test_a_picture_counts_the_fields_that_it_leaves_out() -> None:
    picture = reach_answer((("a", f"f{number}"), ("b", f"g{number}")) for number in range(1_000)).plot()
    total = 2_001
    left = total - FIELDS_MAX
    assert f"Not drawn: {left:,} of {total:,} fields; those shown are the nearest." in texts(picture)
    assert len(links(picture)) <= FIELDS_MAX


def test_links_beyond_the_limit_are_counted_and_every_field_keeps_one() -> None:
    fields = [(f"d{number % 9}", f"f{number}") for number in range(200)]
    edges = [(("a", "x"), near) for near in fields] + [(near, far) for near in fields for far in fields]
    picture = reach_answer(edges).plot()
    assert len(links(picture)) == LINKS_MAX
    note = f"Not drawn: {len(edges) - LINKS_MAX:,} of {len(edges):,} links; those shown are the nearest."
    assert note in texts(picture)
    targets = {link.split(" → ")[1] for link in links(picture)}
    assert len(targets) == len(fields)


def test_what_limits_an_answer_is_in_its_picture() -> None:
    answer = reach_answer(
        [(("a", "x"), ("b", "y"))], incomplete="bounded by pairs_max=9", retained_from_ms=1_793_000_000_000
    )
    shown = texts(answer.plot())
    assert "Not complete: bounded by pairs_max=9." in shown
    assert "Runs before 2026-10-26 07:33:20 UTC may have been deleted." in shown


def test_an_empty_window_has_a_picture_that_says_so(local: Connection) -> None:
    for answer in (
        local.lineage(*DAILY, start=5, end=5),
        local.reach(*DAILY, "UID", start=5, end=5),
        local.field_lineage(*DAILY, "UID", start=5, end=5),
    ):
        assert "nothing is linked in this window" in " ".join(texts(answer.plot()))
        assert "DailyTransactions" in texts(answer.plot())


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=map(str, range(len(HOSTILE_NAMES))))
def test_hostile_names_stay_text(name: str) -> None:
    answer = reach_answer([((name, name), ("b", name))], start=(name, name), incomplete=name)
    picture = answer.plot()
    kinds = {element.tag.removeprefix(SVG) for element in parsed(picture).iter()}
    assert kinds == {"svg", "title", "style", "rect", "g", "path", "text"}
    attributes = {key for element in parsed(picture).iter() for key in element.attrib}
    assert not {key for key in attributes if key.startswith("on") or "href" in key}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", picture.svg)
    assert len(picture.svg) < 50_000


def test_answers_without_a_graph_say_which_have_one(local: Connection) -> None:
    for answer in (local.namespaces(), local.dataset(*DAILY), local.history(*SCORE, start=0)):
        with pytest.raises(InvalidQuery, match="has no graph: lineage, field_lineage, reach"):
            answer.plot()


def test_a_picture_is_saved_as_svg_alone(tmp_path: Path) -> None:
    picture = reach_answer([(("a", "漢字"), ("b", "y"))]).plot()
    picture.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    with pytest.raises(InvalidQuery, match=r"graph.png' does not end in \.svg"):
        picture.save(str(tmp_path / "graph.png"))
    assert repr(picture) == "<Picture: Reach of ns/a.x>"


def test_the_examples_of_docstrings(local: Connection) -> None:
    runner = doctest.DocTestRunner()
    finder = doctest.DocTestFinder()
    for owner, module in ((answers.TableAnswer, answers), (Picture, picture_module)):
        for example in finder.find(owner, owner.__name__, module=module, globs={"client": local}):
            runner.run(example)
    assert (runner.failures, runner.tries >= 4) == (0, True)
