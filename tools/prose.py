"""Prose: sentences of documents and code, and the five habits that a native editor would rewrite.

    python tools/prose.py                    print sentences, hits and per cent of each group
    python tools/prose.py --list             also print each hit as file:line: [habit] sentence
    python tools/prose.py --list PATH ...    only those below paths such as fll_hbase/client

`make house` fails where a group has more hits than FLOORS allows.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import syntax  # type: ignore[import-not-found]  # beside this file, which is run as a script

PACKAGES = ("fll_hbase", "api")
PAGES = ("README.md", "CHANGELOG.md", "docs")
FLOORS = {"docs": 2.0, "docstrings": 1.0, "comments": 1.0, "texts": 1.5}
"""Per cent of the sentences of each group that may have a habit; at most 3 is the goal of each."""

WORDS_MAX = 35
TEXT_WORDS_MIN = 4
"""A string literal or a cell of a table with fewer words is a name, not a sentence."""

_PARTICIPLES = "been|yet|become|begun|come|gone|got|held|kept|left|made|put|read|run|seen|sent|set|taken"
_DEPENDENT = (
    "it|they|them|its|their|he|she|this|that|these|those|which|whose|whom|what|who|one|ones|both|each|such|"
    "and|or|but|so|then|else|thus|if|unless|where|when|while|until|as|of|by|with|without|in|on|at|to|for|"
    "from|after|before|none|no more|also|not|never|always|only|maybe|perhaps|empty|default|otherwise|"
    "`code` if"
)
"""Words that begin a statement which needs the one before it."""
_HABITS = (
    ("subject", r"^(?:of|what|whose|which|whether|who) (?!.*\?$)"),
    ("subject", r"^where and when\b|\bonly (?:who|what)\b|\b(?:is|are|was|were) what\b"),
    ("subject", r"\ban? [a-z]+(?<!\bnew)(?<!\blast)(?<!\bfirst) one\b|\bbefore (?:is|are|was|were)\b"),
    ("subject", r"\b(?:at|of|with|from|for)[.]?$"),
    ("of", r"\b(?:that|those) of\b|\bof (?:which|whom|what|those|these)\b(?! [a-z]+s? and\b)"),
    ("negation", rf"\b(?:has|have|had) not\b(?! (?:(?:{_PARTICIPLES})\b|[a-z]+(?:ed|en)\b))"),
    ("negation", r"(?<!there )\b(?:is|are|was|were) no (?!longer\b)[a-z`]+"),
    ("negation", r"\bnone of\b|\bno more\b(?! than\b)|\bnot [a-z ]*any more\b|\bno such token|\bwhich no\b"),
    ("figure", r"\bcosts? (?:its|their|nothing|no|only|what|that)\b|\bgo(?:es)? first\b|\bask an?\b"),
    (
        "figure",
        r"\bg[ia]ves? way\b|\b(?:stands?|stood) for\b|\b(?:tells?|told) of\b|\btells? (?:what|which)\b",
    ),
    ("joined", rf";(?: (?:{_DEPENDENT})\b|.*;)|: (?:it|they|that|those|he|she|so)\b"),
)
HABITS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _HABITS)
_OPENING = re.compile(r"(?:it|they|them)\b", re.IGNORECASE)
_PRAGMA = re.compile(r"#\s*(?:!|noqa|type:|pragma|-\*-)")
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?][)\"'`*]*\s+(?=[A-Z`\"'(*\[]|\d)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a group; `opens` is whether nothing precedes it that a pronoun could stand for."""

    group: str
    path: str
    line: int
    text: str
    opens: bool = False

    @property
    def habits(self) -> list[str]:
        """Return the habits of this sentence, each once, in the order of HABITS."""
        names = [name for name, pattern in HABITS if pattern.search(self.text)]
        if self.opens and _OPENING.match(self.text):
            names.insert(0, "subject")
        if len(_WORD.findall(self.text)) > WORDS_MAX:
            names.append("long")
        return list(dict.fromkeys(names))


def split(text: str) -> list[str]:
    """Split a paragraph into sentences; what is quoted as code becomes one word."""
    text = re.sub(r"(`+).+?\1", "`code`", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"https?://\S+|&\w+;|<[^<>]*>", "", text)
    text = " ".join(text.split())
    starts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    parts = (text[start:stop].strip(" *_") for start, stop in pairwise(starts))
    return [part for part in parts if _WORD.search(part)]


def page_sentences(path: Path, name: str) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown page, without code blocks, headings and short cells of tables."""
    for line, paragraph in _paragraphs(path.read_text(encoding="utf-8")):
        if paragraph.startswith("|"):
            cells = re.split(r"(?<!\\)\|", paragraph)
            units = [cell for cell in cells if len(_WORD.findall(cell)) >= TEXT_WORDS_MIN]
        else:
            units = [paragraph]
        for unit in units:
            yield from _sentences("docs", name, line, unit)


def _sentences(group: str, path: str, line: int, text: str) -> Iterator[Sentence]:
    for index, sentence in enumerate(split(text)):
        yield Sentence(group, path, line, sentence, opens=index == 0)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and text of each paragraph, item of a list and row of a table."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    start, gathered, fence = 1, list[str](), ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        mark = re.match(r"(`{3,}|~{3,})", stripped)
        separate = not stripped or mark or fence or stripped.startswith(("#", "|", ">")) or _ITEM.match(line)
        if separate and gathered:
            yield start, " ".join(gathered)
            gathered = []
        if mark and (not fence or stripped == fence):
            fence = "" if fence else mark[1]
        elif stripped and not fence and not stripped.startswith("#") and not _is_code(line, gathered):
            start = start if gathered else number
            gathered.append(_ITEM.sub("", line, count=1).strip("> ") if not gathered else stripped)


def _is_code(line: str, gathered: list[str]) -> bool:
    """Return whether a line is indented as code, which neither continues a paragraph nor begins an item."""
    return line.startswith("    ") and not gathered and not _ITEM.match(line)


def code_sentences(path: Path, name: str) -> Iterator[Sentence]:
    """Yield the sentences of a Python file: docstrings, comments and literals of several words."""
    text = path.read_text(encoding="utf-8")
    prose = set[ast.AST]()
    for node in syntax.nodes(text):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(node.value)
            if isinstance(node.value.value, str):
                for line, paragraph in _paragraphs(_without_examples(node.value.value)):
                    yield from _sentences("docstrings", name, node.lineno + line - 1, paragraph)
    for line, comment in _comments(text):
        yield from _sentences("comments", name, line, comment)
    for line, literal in _literals(text, prose):
        yield from _sentences("texts", name, line, literal)


def _without_examples(docstring: str) -> str:
    """Return a docstring with its margin removed and the lines of its examples blank."""
    first, *others = docstring.splitlines() or [""]
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    lines, in_example = [first], False
    for line in (line[margin:] for line in others):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        lines.append("" if in_example else line)
    return "\n".join(lines)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and text of each block of comments; one beside code is a block of its own."""
    tokens = [token for token in syntax.tokens(text) if token.type == tokenize.COMMENT]
    start, last, gathered = 0, -1, list[str]()
    for token in tokens:
        alone = not token.line[: token.start[1]].strip()
        if gathered and not (alone and token.start[0] == last + 1):
            yield start, " ".join(gathered)
            gathered = []
        if not _PRAGMA.match(token.string):
            start = start if gathered else token.start[0]
            gathered.append(token.string.lstrip("#: "))
            last = token.start[0] if alone else -1
    if gathered:
        yield start, " ".join(gathered)


def _literals(module: str, prose: set[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and text of literals with several words: help, errors, lines of logs, descriptions."""
    nodes = syntax.nodes(module)
    inner = prose.union(part for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node))
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in node.values)
            text = "".join(str(part) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not (node in inner or node in prose)
        ):
            text = node.value
        else:
            continue
        if _is_sentence(text):
            for line, paragraph in _paragraphs(text.partition("Examples:")[0]):
                yield node.lineno + (line - 1 if "\n" in text else 0), paragraph


def _is_sentence(text: str) -> bool:
    """Return whether a literal is prose: several words in lower case, and no statement, pattern or markup."""
    if len(re.findall(r"(?<![\w-])[a-z]+(?![\w=-])", text)) < TEXT_WORDS_MIN:
        return False
    return not re.search(
        r"\b(?:SELECT|CREATE|INSERT|DELETE|PRAGMA)\b|\(\?|\\[bsdw]|</|[{}]{2}|^\s*[<{]|-src '|; }", text
    )


def sentences(root: Path) -> Iterator[Sentence]:
    """Yield every sentence of the documents and packages below `root`; what is absent has none."""
    for page in PAGES:
        paths = [root / page] if page.endswith(".md") else sorted((root / page).rglob("*.md"))
        for path in paths:
            if path.exists():
                yield from page_sentences(path, str(path.relative_to(root)))
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield from code_sentences(path, str(path.relative_to(root)))


def shares(measured: Iterable[Sentence]) -> dict[str, tuple[int, int]]:
    """Return the sentences and those with a habit of each group."""
    counts = dict.fromkeys(FLOORS, (0, 0))
    for sentence in measured:
        total, hits = counts[sentence.group]
        counts[sentence.group] = total + 1, hits + bool(sentence.habits)
    return counts


def percent(total: int, hits: int) -> float:
    """Return hits per hundred sentences; a group without sentences has 0."""
    return 100 * hits / max(total, 1)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 where a group has more hits than its floor allows."""
    parser = argparse.ArgumentParser(description="Count the five habits of prose.")
    parser.add_argument(
        "--list", nargs="*", metavar="PATH", help="Print each hit, of all files or below PATH."
    )
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parents[1], help="Measured tree."
    )
    options = parser.parse_args(arguments)
    measured = list(sentences(options.root))
    for sentence in measured if options.list is not None else ():
        if sentence.habits and (not options.list or sentence.path.startswith(tuple(options.list))):
            print(f"{sentence.path}:{sentence.line}: [{', '.join(sentence.habits)}] {sentence.text}")
    passed = True
    for group, (total, hits) in shares(measured).items():
        share, most = percent(total, hits), FLOORS[group]
        passed &= share <= most
        print(f"{group:12}{total:8} sentences {hits:6} hits {share:6.2f} %  at most {most:g}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
