"""The counter of prose: which habits it finds in which sentences of pages and code."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module
    spec.loader.exec_module(module)
    return module


prose = _load()

REWRITES = [
    (
        "Of Host nothing: it is what the proxy passes on, and is checked",
        "Do not trust `X-Forwarded-Host`: `Host` itself is passed through and validated",
    ),
    ("which columns it makes of which is not known", "column lineage of this model is unknown"),
    ("names that the schema has not", "columns missing from the schema"),
    (
        "half of a surrogate pair costs its part",
        "a lone surrogate makes that member unreadable; the rest is recorded",
    ),
    (
        "beyond are repetitions of a few bytes, up to 1,030, which lineage has not",
        "Higher ratios (up to 1,030) come only from runs of a few bytes, which lineage never contains",
    ),
    (
        "this server answers only who is known to it",
        "authentication required: send a bearer token",
    ),
    ("this server takes no such token", "this server does not accept this kind of token"),
    (
        "This job waited 9 s and does not wait any more: runs are dropped, until an attempt succeeds, "
        "of which there is one now and then",
        "Gave up after 9 s. Further runs go to the spool; the server is retried from time to time",
    ),
    (
        "none of run, job and dataset: an event tells of one of them",
        "missing: an event needs `run`, `job` or `dataset`",
    ),
    (
        "what goes into which column of t is not known; give all tables in `schema`",
        "cannot map values to the columns of t: list all tables in `schema`",
    ),
    (
        "no stage before is known to make x; left out",
        "field x comes from no preceding stage; ignored",
    ),
    (
        "holds half of a surrogate pair, which no UTF-8 has",
        "contains a lone surrogate, which UTF-8 cannot encode",
    ),
    (
        "bounded by pairs_max=9; ask a shorter window, or raise that setting",
        "truncated by pairs_max=9: use a shorter window or raise the setting",
    ),
    (
        "it leads to datasets that you may not see; the role reader on their namespaces shows them",
        "parts are hidden: you lack the role `reader` on their namespaces",
    ),
    ("'x' is not possible; it is a, b", "invalid value 'x': expected a or b"),
    (
        "What is allowed: reader asks, recorder records, steward also sets tags, admin all of it",
        "Role: reader (query), recorder (record), steward (also tags), admin (everything)",
    ),
    (
        "Only what a value can have taken, by the starts of the runs",
        "Follow an edge only if the upstream run started first",
    ),
    ("Size that files aim at", "Target file size"),
    (
        "Return whether the combined flags of one text are a finding, a missing cell or an unneeded one",
        "Return whether the flags of one cell disagree: expected but absent, or present but not needed",
    ),
    (
        "Where and when are steps that Back takes back; a selection replaces the address",
        "Changing dataset or window adds a history entry; selecting a field does not",
    ),
]


def _habits(text: str) -> list[str]:
    """Return the habits of every sentence of a text that stands alone."""
    sentences = [
        prose.Sentence("docs", "page.md", 1, part, opens=index == 0)
        for index, part in enumerate(prose.split(text))
    ]
    assert sentences
    return [habit for sentence in sentences for habit in sentence.habits]


@pytest.mark.parametrize(("habitual", "plain"), REWRITES)
def test_a_habit_is_counted_and_its_rewrite_is_not(habitual: str, plain: str) -> None:
    assert _habits(habitual)
    assert _habits(plain) == []


@pytest.mark.parametrize(
    "text",
    [
        "The row has not been written yet.",
        "The run has not started.",
        "There is no such run.",
        "The row is no longer read.",
        "No more than 100 rows are read.",
        "Who may read this?",
        "The write queue is full; try again.",
        "A row is written once. It never changes.",
        "Set `a; it` to run.",
        "A column, for example of a view, e.g. one of Hive, has one type.",
    ],
)
def test_plain_english_is_not_counted(text: str) -> None:
    assert _habits(text) == []


def test_a_sentence_of_more_than_35_words_is_long() -> None:
    assert _habits("Rows " + "and rows " * 16 + "end.") == []
    assert _habits("Rows " + "and rows " * 17 + "end.") == ["long"]


def test_pages_have_sentences_outside_of_code_and_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# What it is\n\nA row of\n[two](x.md) lines. Another; `it` is.\n\n```sh\nfll; it runs of\n```\n\n"
        "- an item that goes\n  on\n- b\n\n    code; it is\n\n| cell | a cell of five words |\n|---|---|\n"
    )
    measured = [(sentence.line, sentence.text) for sentence in prose.page_sentences(page, "page.md")]
    assert measured == [
        (3, "A row of two lines."),
        (3, "Another; `code` is."),
        (10, "an item that goes on"),
        (12, "b"),
        (16, "a cell of five words"),
    ]


def test_code_has_docstrings_comments_and_texts(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""One module."""\n\n# One comment\n# of two lines.\nx = 1  # aside\nx = 2  # noqa: E501\n\n\n'
        'def read(x):\n    """Read x.\n\n    >>> read(1)\n    2\n    """\n'
        '    raise ValueError(f"the {x} of this row is missing")\n'
        '    raise ValueError("short", "SELECT a FROM t where it is so")\n'
    )
    measured = [(item.group, item.line, item.text) for item in prose.code_sentences(module, "module.py")]
    assert measured == [
        ("docstrings", 1, "One module."),
        ("docstrings", 10, "Read x."),
        ("comments", 3, "One comment of two lines."),
        ("comments", 5, "aside"),
        ("texts", 15, "the `code` of this row is missing"),
    ]


def test_a_group_above_its_floor_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("A row has one key.\n\nA key that the row has not.\n")
    monkeypatch.setitem(prose.FLOORS, "docs", 50.0)
    assert prose.main(["--root", str(tmp_path)]) == 0
    monkeypatch.setitem(prose.FLOORS, "docs", 49.5)
    assert prose.main(["--root", str(tmp_path), "--list", "docs"]) == 1
    printed = capsys.readouterr().out
    assert "docs/page.md:3: [negation] A key that the row has not." in printed
    assert "      2 sentences      1 hits  50.00 %" in printed
