"""The comment of an impact fits into a pull request, and names in it are text, whatever they contain."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.queries.impact.change_impact import Change, ComparedProgram, Derivation, ImpactAnswer
from fll_hbase.queries.impact.downstream import Downstream, ImpactedField, ImpactedProgram
from fll_hbase.queries.impact.markdown import MARKER, to_markdown
from fll_hbase.queries.names import FieldName, ProgramName
from fll_hbase.queries.query import Fault

GITHUB_MAX = 65_536
TAGS = ("<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>", MARKER)


def answer(names: list[str], *, changes: int = 1, programs: int = 1) -> ImpactAnswer:
    """Return an answer in which each name is the name of everything."""
    listed = []
    for number in range(changes):
        name = names[number % len(names)]
        program = ProgramName(namespace=name, application=name, program=name, type="t")
        fields = tuple(
            ImpactedField(namespace=name, name=name, field=name, hops=1, influence="direct")
            for _ in range(60)
        )
        readers = tuple(
            ImpactedProgram(namespace=name, application=name, program=name, last_run=name, last_start=0)
            for _ in range(60)
        )
        field = FieldName(namespace=name, name=name, field=name)
        derivation = Derivation(text=name, inputs=(field,))
        downstream = Downstream(fields=fields, field_count=60, datasets=(), programs=readers)
        change = Change(kind="removed", field=field, program=program, old=derivation, downstream=downstream)
        listed.append(change)
    compared = tuple(
        ComparedProgram(namespace=item, application=item, program=item, status="unrecorded", changes=0)
        for item in names * programs
    )
    return ImpactAnswer(
        changes=tuple(listed),
        programs=compared,
        counts={"removed": changes},
        warnings=tuple(Fault(path=name, detail=name) for name in names),
        truncated=False,
    )


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_names_are_text(names: list[str]) -> None:
    text = to_markdown(answer(names))
    assert text.startswith(MARKER)
    rest = text
    for tag in TAGS:
        rest = rest.replace(tag, "")
    # Neither tags, mentions, links, tables nor code of the names are left.
    assert not re.search(r"[<>|]|(?<!\\)[@`]|(?<!\\)\]\(", rest), rest
    assert text.count("<details>") == text.count("</details>")


def test_many_and_long_names_fit_and_are_counted() -> None:
    for changes, length in ((1, 4_000), (50, 300), (5_000, 10), (3, 100_000)):
        text = to_markdown(answer(["&" * length], changes=changes, programs=100))
        assert len(text) < GITHUB_MAX
        assert text.count("<details>") == text.count("</details>")
        assert ("left out" in text) == (changes > 3 or length > 3_000)


def test_an_answer_without_changes_says_so() -> None:
    empty = ImpactAnswer(changes=(), programs=(), counts={}, truncated=True, truncated_by=("runs_max=5",))
    assert "No change of compared programs" in to_markdown(empty)
    assert "**Not complete:** bounded by `runs_max=5`" in to_markdown(empty)


def test_mentions_and_links_are_code() -> None:
    """Sites link them in the rendered text, in which no escape is left, unless it is code."""
    field = FieldName(namespace="n", name="n", field="f")
    types = Derivation(type="@team"), Derivation(type="https://a.example")
    body = ImpactAnswer(
        changes=(Change(kind="retyped", field=field, old=types[0], new=types[1]),),
        programs=(),
        counts={"retyped": 1},
        warnings=(Fault(path="a", detail="see https://b.example, @all"),),
        truncated=False,
    )
    text = to_markdown(body)
    outside = html.unescape(re.sub("<code>.*?</code>", "", text))
    assert "@" not in outside
    assert "example" not in outside
