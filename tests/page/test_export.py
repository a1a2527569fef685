"""Files of what is shown: SVG that parses, PNG with everything on it, CSV that equals the API's answer."""

from __future__ import annotations

import base64
import csv
import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.page.conftest import MakeSite
from tests.support.page import hostile
from tests.support.page.screens import UID
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit

FORWARD = {"view": "graph", **UID, "direction": "forward", "level": 5}
SVG = "{http://www.w3.org/2000/svg}"


def save(visit: Visit, kind: str) -> Path:
    """Press the button of a kind of file; the file that the browser saved."""
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.value.path())


def test_the_svg_is_the_drawing_with_its_styles_and_window(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    root = ElementTree.fromstring(save(visit, "SVG").read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg"
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    for name in ("DailyTransactions", "customer_key", "RegulatoryReport"):
        assert name in texts
    window = page.get_by_role("group", name="Window").locator(".window-times").text_content() or ""
    assert window[:10] in " ".join(texts)
    assert len(list(root.iter(f"{SVG}path"))) == page.locator("svg.drawing path").count()
    assert all(link.get("stroke") and link.get("fill") for link in root.iter(f"{SVG}path"))
    assert not [element for element in root.iter() if "style" in element.attrib or "class" in element.attrib]


COUNT_COLOURS = """
async url => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const {width, height} = canvas;
    const pixels = context.getImageData(0, 0, width, height).data;
    const at = (x, y) => pixels.slice(4 * (y * width + x), 4 * (y * width + x) + 4).join();
    const ground = at(0, 0), edges = new Set(), all = new Set();
    for (let x = 0; x < width; x += 1) edges.add(at(x, 0)), edges.add(at(x, height - 1));
    for (let y = 0; y < height; y += 1) {
        edges.add(at(0, y)), edges.add(at(width - 1, y));
        for (let x = 0; x < width; x += 1) all.add(at(x, y));
    }
    return {width, height, ground, edges: [...edges], colours: all.size};
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_png_has_the_drawing_within_its_edges(scheme: str, sample: Site, visit: Visit) -> None:
    page = visit.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    visit.open(sample.link(**FORWARD))
    content = save(visit, "PNG").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    picture = page.evaluate(COUNT_COLOURS, url)
    # Nothing touches an edge, nothing is transparent, and more than the ground is drawn.
    assert picture["edges"] == [picture["ground"]]
    assert picture["ground"].endswith(",255")
    assert picture["colours"] > 20
    assert picture["width"] > 1_000


def rows_of(file: Path) -> list[dict[str, str]]:
    """The lines of a CSV file by column."""
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))


def test_the_csv_is_the_answer_of_the_api(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**FORWARD))
    rows = rows_of(save(visit, "CSV"))
    answer = sample.get(f"{path(**UID)}/reach", direction="forward", level=5)
    ends = ("Namespace", "Name", "Field")
    shown = [
        (
            *(row[f"from{end}"] for end in ends),
            *(row[f"to{end}"] for end in ends),
            row["influence"],
            row["runs"],
        )
        for row in rows
        if row["influence"] in ("direct", "indirect")
    ]
    members = ("namespace", "name", "field")
    expected = [
        (*(edge["from"][member] for member in members), *(edge["to"][member] for member in members),
         edge["influence"], str(edge["runs"]))
        for edge in answer["edges"]
    ]  # fmt: skip
    assert sorted(shown) == sorted(expected)
    assert {(row["fromField"], row["influence"]) for row in rows if not row["toName"]} == {("UID", "dropped")}
    assert all(row["windowStart"] and row["windowEnd"] for row in rows)


def test_the_csv_says_what_cut_it(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store, level_max=2)
    visit.open(site.link(**FORWARD))
    assert {row["truncatedBy"] for row in rows_of(save(visit, "CSV"))} == {"level_max=2"}


def test_a_formula_is_defused(evil: Site, visit: Visit) -> None:
    name = hostile.NAMES["formula"]
    visit.open(evil.link(view="graph", ns=hostile.NAMESPACE, name=name, field=name, direction="forward"))
    (row,) = rows_of(save(visit, "CSV"))
    assert row["fromField"] == f"'{name}"


@pytest.mark.parametrize("name", ["script", "image", "emoji", "long"])
def test_hostile_names_are_text_in_the_svg(name: str, evil: Site, visit: Visit) -> None:
    text = hostile.NAMES[name]
    visit.open(evil.link(view="graph", ns=hostile.NAMESPACE, name=text, field=text, direction="forward"))
    root = ElementTree.fromstring(save(visit, "SVG").read_text(encoding="utf-8"))
    assert not [element for element in root.iter() if element.tag.endswith(("script", "img", "image"))]
    assert text in ["".join(title.itertext()) for title in root.iter()] or text in "".join(root.itertext())


def test_the_csv_of_a_report_is_the_one_of_the_api(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="report", **UID, report="consumption"))
    visit.page.get_by_role("button", name="CSV").click()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="derived", exact=True).click()
    rows = rows_of(Path(download.value.path()))
    derived = sample.get(
        "reports/consumption", namespace=UID["ns"], endpoint=UID["name"], field=UID["field"]
    )["derived"]
    assert [row["field"] for row in rows] == [item["field"] for item in derived]
