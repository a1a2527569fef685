"""Measure the code against the house rules: names, docstrings, comments, sizes, complexity, test files.

    python tools/house.py                    print a table; exit 1 where a limit is missed
    python tools/house.py --list             also print each violation as file:line
    python tools/house.py --list PATH ...    only those below paths such as fll_hbase/store

`tools/prose.py` measures the prose, with the same options. `docs/develop/contributing.md` gives the reasons
for the rules.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

import prose  # type: ignore[import-not-found]  # beside this file, which is run as a script
import syntax  # type: ignore[import-not-found]

PACKAGES = ("fll_hbase", "api")
TESTS = ("tests", "bench", "tools")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS = _words(
    """door doors glance mend mended mending mends passage said tell tells told truth truths witness
    witnesses"""
)
"""Private wherever they are a word of a name: `run_told`, `LineageAsked`."""

WORDS_OF_SENTENCES = _words(
    """among asked asking course held kept made nobody somebody spoken taken takes taking together"""
)
"""Private as names, but plain English in a sentence, which the name of a test is."""

NAMES = _words(
    """after anew at before each every few found gone here how known met much named nothing of one own piece
    place places side sides some there thing things what who whole whose"""
)
"""Private as a whole name, underscores around it aside."""

EXTERNAL = _words("after before how nothing side")
"""Allowed as attributes and keyword arguments, since other libraries have them: `Join.side`, `how="left"`."""

ESCAPED = _words("bool hash id list repr_html repr_svg type").union(keyword.kwlist)
"""Names that may have a trailing underscore: names of Python, and methods that notebooks call."""

QUESTIONS = _words("Are Can Do Does Is What Which Who Whose Why")
QUESTIONS_OF_MODULES = QUESTIONS | _words("How When Where Whether")

MIRRORS = {
    "api": "api",
    "bench": "bench",
    "docker": "docker",
    "page": "page/src",
    "support": "tests/support",
    "tools": "tools",
}
"""Folders of tests, and where their subjects are. The subjects of all other folders are in `fll_hbase`."""

ROUTES = ("api", "routes")
"""The folder whose tests may be named after a query, too: its route is made from it."""

WHOLE_SYSTEM = {
    "access": "what a principal must not see, over every route",
    "attacks": "attacks on a server that runs, by their kind",
    "cases": "cases of other systems, through every layer",
    "clients": "events of real clients of OpenLineage",
    "docs": "a file for each page of docs/",
    "engines": "what databases say about queries, and laws that hold for all queries",
    "faults": "processes that are killed and stopped",
    "golden": "recorded answers and readings, whatever the module",
    "openapi_generator": "a client that another program generates",
    "operators": "metrics, logs and traces of a server, and the files that deploy it",
    "oracle": "an independent implementation of all queries",
    "simulation": "the store under a hostile scheduler",
    "spark35": "every job on the oldest Spark, in an environment of its own",
    "spark_agent": "a job with the real OpenLineage agent",
}
"""Folders whose tests have no single subject: a file is named after a behaviour."""

LINES_MAX = 600
SMALL_LINES, SMALL_MODULES_MAX = 40, 20
SHARED_NAMES_MAX = 25
LOOSE_MAX = {"fll_hbase": 2, "api": 5}
"""Files in no folder of a package, its `__init__` among them."""

LINES_MEDIAN = (100, 180)
FUNCTION_LINES_MAX, FUNCTION_LINES_MEDIAN_MAX = 45, 8
COMPLEXITY_MAX = 9
DOCSTRINGS_PERCENT_MIN = 98.0
CODE_LINES_PER_COMMENT_MAX = 40

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PRAGMA = re.compile(r"#\s*(?:!|noqa|type:|pragma|-\*-)")
_QUESTION_MARK = re.compile(r"\?(?:[\s\"')]|$)")
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Measures:
    """Sums over the files of one group; `violations` holds pairs of a rule and "file:line: text"."""

    files: dict[str, int] = field(default_factory=dict)
    functions: list[int] = field(default_factory=list)
    complexities: list[int] = field(default_factory=list)
    names: int = 0
    code_lines: int = 0
    comments: int = 0
    public: int = 0
    private_words: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[str, str]] = field(default_factory=list)

    @property
    def modules(self) -> dict[Path, int]:
        """Return the lines of each file that is not the `__init__` of a package."""
        files = {Path(name): lines for name, lines in self.files.items()}
        return {path: lines for path, lines in files.items() if path.name != "__init__.py"}

    def count(self, rule: str) -> int:
        return sum(1 for broken, _ in self.violations if broken == rule)

    def add(self, rule: str, path: str, line: int, text: str) -> None:
        self.violations.append((rule, f"{path}:{line}: {text}"))


@dataclass(frozen=True)
class Row:
    """One line of the table: a number, the limit it is held against, and whether it keeps it."""

    label: str
    value: str
    limit: str = ""
    passed: bool = True


@cache
def private_word(name: str) -> str:
    """Return the private word in an identifier, or an empty string."""
    stem = name.strip("_").lower()
    words: set[str] = {word.lower() for word in _WORD.findall(name)}
    is_test = name.startswith(("test_", "Test"))
    if bad := words & (WORDS if is_test else WORDS | WORDS_OF_SENTENCES):
        return min(bad)
    if stem in NAMES:
        return stem
    if stem.startswith("of_"):
        return "of_"
    dunder = name.startswith("__") and name.endswith("__")
    if name.endswith("_") and stem and not dunder and name.strip("_") not in ESCAPED:
        return f"{stem}_"
    return ""


def is_question(docstring: str, *, module: bool) -> bool:
    """Return whether a docstring asks: by a question mark, or by its first word."""
    first = docstring.split(maxsplit=1)[:1]
    words = QUESTIONS_OF_MODULES if module else QUESTIONS
    return bool(_QUESTION_MARK.search(docstring)) or bool(first and first[0].rstrip(",:'s") in words)


def complexity(function: Function) -> int:
    """Return the cyclomatic complexity: statements that branch, as ruff's C901 counts them."""
    score = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES) and not _is_default(node):
            score += 1
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.Try) and node.orelse:
            score += 1
        if isinstance(node, DEFINITIONS[:2]) and node is not function:
            score += 1
    return score


def _is_default(node: ast.AST) -> bool:
    """Return whether a node is `case _`, which does not count as a branch."""
    return isinstance(node, ast.match_case) and node.guard is None and ast.unparse(node.pattern) == "_"


def measure_file(path: Path, name: str, measures: Measures) -> str:
    """Add one file to `measures`; `name` names it in violations. Returns its text, for docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    measures.files[name] = lines
    if lines > LINES_MAX:
        measures.add("file lines", name, 1, f"{lines} lines, at most {LINES_MAX}")
    if word := private_word(path.stem):
        _add_name(measures, word, name, 1, f"module {path.stem}")
    _measure_tokens(text, name, measures)
    _measure_questions(text, name, measures)
    for node in syntax.nodes(text):
        if isinstance(node, DEFINITIONS[:2]):
            _measure_function(node, name, measures)
    return text


def _add_name(measures: Measures, word: str, name: str, line: int, text: str) -> None:
    measures.private_words[word] += 1
    measures.add("private words", name, line, text)


def _measure_tokens(text: str, name: str, measures: Measures) -> None:
    code: set[int] = set()
    tokens = syntax.tokens(text)
    for token in tokens:
        if token.type == tokenize.COMMENT:
            measures.comments += not _PRAGMA.match(token.string)
        elif token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    measures.code_lines += len(code - _docstring_lines(text))
    for line, identifier in _own_names(tokens):
        measures.names += 1
        if word := private_word(identifier):
            _add_name(measures, word, name, line, identifier)


def _own_names(tokens: tuple[tokenize.TokenInfo, ...]) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each identifier, without those that other libraries prescribe."""
    for left, token, right in zip(tokens[:1] + tokens, tokens, tokens[1:], strict=False):
        if token.type != tokenize.NAME or keyword.iskeyword(token.string):
            continue
        is_argument = left.string in ("(", ",") and right.string == "="
        if token.string not in EXTERNAL or not (left.string == "." or is_argument):
            yield token.start[0], token.string


def _measure_questions(text: str, name: str, measures: Measures) -> None:
    for node in syntax.nodes(text):
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            docstring = ast.get_docstring(node) or ""
            if is_question(docstring, module=isinstance(node, ast.Module)):
                measures.add("questions", name, getattr(node, "lineno", 1), docstring.splitlines()[0])


def _measure_function(function: Function, name: str, measures: Measures) -> None:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    measures.functions.append(lines)
    measures.complexities.append(complexity(function))
    if lines > FUNCTION_LINES_MAX:
        measures.add("function lines", name, function.lineno, f"{function.name} has {lines} lines")
    if measures.complexities[-1] > COMPLEXITY_MAX:
        measures.add("complexity", name, function.lineno, f"{function.name}: {measures.complexities[-1]}")


def _docstring_lines(text: str) -> set[int]:
    """Return the lines of all strings that stand as a statement: docstrings, and those below a constant."""
    lines: set[int] = set()
    for node in syntax.nodes(text):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def measure_docstrings(texts: dict[str, str], measures: Measures) -> None:
    """Count public definitions and those without a docstring of their own or of a base class, by its name."""
    classes = {
        node.name: node
        for text in texts.values()
        for node in syntax.nodes(text)
        if isinstance(node, ast.ClassDef)
    }
    for name, text in texts.items():
        for owner, definition in _public(syntax.module(text)):
            measures.public += 1
            if ast.get_docstring(definition) is None and not _inherits(owner, definition.name, classes):
                measures.add("docstrings", name, definition.lineno, definition.name)


def _public(body: ast.Module | ast.ClassDef) -> Iterator[tuple[ast.ClassDef | None, Definition]]:
    """Yield public classes, functions and methods with the class around them; nothing inside functions."""
    owner = body if isinstance(body, ast.ClassDef) else None
    for node in body.body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_") and not _is_redefinition(node):
            yield owner, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def _is_redefinition(node: Definition) -> bool:
    """Return whether another definition documents this one: an overload, or the setter of a property."""
    decorators = {ast.unparse(decorator).rsplit(".")[-1] for decorator in node.decorator_list}
    return bool(decorators & {"overload", "setter"})


def _inherits(owner: ast.ClassDef | None, method: str, classes: dict[str, ast.ClassDef]) -> bool:
    """Return whether a base class of `owner` has a docstring for `method`."""
    for base in owner.bases if owner else ():
        name = ast.unparse(base).split("[")[0].rsplit(".")[-1]
        found_class = classes.get(name)
        if found_class is None or found_class is owner:
            continue
        for node in found_class.body:
            if isinstance(node, DEFINITIONS) and node.name == method and ast.get_docstring(node):
                return True
        if _inherits(found_class, method, classes):
            return True
    return False


def measure_test_files(root: Path, measures: Measures) -> None:
    """Report test files without a subject, and imports of modules that tests do not share."""
    for path in sorted((root / "tests").rglob("*.py")):
        name = path.relative_to(root)
        if "target" in name.parts:
            continue
        if path.name.startswith("test_") and not _has_subject(root, name):
            measures.add("names of tests", str(name), 1, f"no module {path.stem.removeprefix('test_')}")
        for line, imported in _test_imports(root, path.read_text(encoding="utf-8")):
            if not _is_shared(imported, name):
                measures.add("imports of tests", str(name), line, f"imports {imported}")


def _has_subject(root: Path, test: Path) -> bool:
    """Return whether a test file is named after a module, a package or its folder, maybe with an aspect."""
    folder = test.parts[1:-1]
    if folder and folder[0] in WHOLE_SYSTEM:
        return True
    stem = test.stem.removeprefix("test_")
    return any(stem == subject or stem.startswith(f"{subject}_") for subject in _subjects(root, folder))


@cache
def _subjects(root: Path, folder: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the modules and folders that the tests of a folder are about, and its own."""
    if not folder:
        entries = [*(root / "fll_hbase").glob("*"), *filter(Path.is_file, root.glob("*"))]
    elif folder[0] in MIRRORS:
        product = root.joinpath(MIRRORS[folder[0]], *folder[1:])
        entries = list(product.rglob("*") if folder[0] == "page" else product.glob("*"))
        if folder == ROUTES:
            entries += (root / "fll_hbase" / "queries").glob("*")
    else:
        entries = list(root.joinpath("fll_hbase", *folder).glob("*"))
    names = {re.sub(r"\W", "_", entry.name.partition(".")[0]) for entry in entries}
    return frozenset(names - {"", "__init__", "__pycache__"}) | (set(folder[-1:]) if entries else set())


def _test_imports(root: Path, text: str) -> Iterator[tuple[int, Path]]:
    """Yield the line and file of each module below tests/ that a module imports."""
    for node in syntax.nodes(text):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for imported in dict.fromkeys(filter(None, (_test_module(root, name) for name in names))):
            yield node.lineno, imported


def _test_module(root: Path, name: str) -> Path | None:
    """Return the file of a dotted name below tests/, which may end in a name of the module."""
    parts = name.split(".")
    files = (Path(*parts[:count]).with_suffix(".py") for count in (len(parts), len(parts) - 1) if count)
    return next((file for file in files if parts[0] == "tests" and (root / file).exists()), None)


def _is_shared(imported: Path, importer: Path) -> bool:
    """Return whether a module is of tests/support, a conftest above, or of the same whole-system folder."""
    if imported.name.startswith("test_"):
        return False
    if imported.name == "conftest.py":
        return imported.parent in importer.parents
    folder = imported.parts[1]
    return folder == "support" or (folder in WHOLE_SYSTEM and folder == importer.parts[1])


def measure(root: Path, folders: Iterable[str]) -> Measures:
    """Measure every Python file below `folders` of `root`; folders that are absent count nothing."""
    measures = Measures()
    texts = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            if "target" not in path.parts:
                name = str(path.relative_to(root))
                texts[name] = measure_file(path, name, measures)
    if "tests" in folders:
        measure_test_files(root, measures)
    else:
        measure_docstrings(texts, measures)
        measure_modules(measures)
    return measures


def measure_modules(measures: Measures) -> None:
    """List modules that are small, that have the name of another, or that are in no folder of a package."""
    shared = shared_names(measures)
    for path, lines in measures.modules.items():
        if lines < SMALL_LINES:
            measures.add("small modules", str(path), 1, f"{lines} lines")
        if path.stem in shared:
            measures.add("names of modules", str(path), 1, "another module has this name")


def shared_names(measures: Measures) -> set[str]:
    """Return the names that several modules have, in different folders."""
    counts = Counter(path.stem for path in measures.modules)
    return {name for name, count in counts.items() if count > 1}


def _loose(measures: Measures, package: str) -> int:
    """Count the files in no folder of a package, its `__init__` among them."""
    return sum(1 for name in measures.files if Path(name).parts[:-1] == (package,))


def package_rows(measures: Measures) -> list[Row]:
    """Return the table of the packages, with a limit in most lines."""
    low, high = LINES_MEDIAN
    module_median = median(measures.modules.values() or [low])
    function_median = median(measures.functions or [0])
    per_comment = measures.code_lines / max(measures.comments, 1)
    documented = 100 - 100 * measures.count("docstrings") / max(measures.public, 1)
    return [
        *_common_rows(measures),
        _row("modules below 40 lines", measures.count("small modules"), most=SMALL_MODULES_MAX),
        _row("names of several modules", len(shared_names(measures)), most=SHARED_NAMES_MAX),
        *(
            _row(f"files in no folder of {name}", _loose(measures, name), most=most)
            for name, most in LOOSE_MAX.items()
        ),
        _row("docstrings that are questions", measures.count("questions"), most=0),
        Row(
            "median lines of modules", f"{module_median:g}", f"{low} to {high}", low <= module_median <= high
        ),
        _row("lines of the longest function", max(measures.functions, default=0), most=FUNCTION_LINES_MAX),
        _row("median lines of functions", function_median, most=FUNCTION_LINES_MEDIAN_MAX),
        _row("highest cyclomatic complexity", max(measures.complexities, default=0), most=COMPLEXITY_MAX),
        _row("code lines per comment", round(per_comment, 1), most=CODE_LINES_PER_COMMENT_MAX),
        Row(
            "public definitions with docstring",
            f"{documented:.1f} %",
            f"at least {DOCSTRINGS_PERCENT_MIN:g} %",
            documented >= DOCSTRINGS_PERCENT_MIN,
        ),
    ]


def test_rows(measures: Measures) -> list[Row]:
    """Return the table of tests, benchmarks and tools, with limits for all but functions and comments."""
    return [
        *_common_rows(measures),
        _row("docstrings that are questions", measures.count("questions"), most=0),
        _row("test files without a module", measures.count("names of tests"), most=0),
        _row("imports outside of tests/support", measures.count("imports of tests"), most=0),
        Row("median lines of functions", f"{median(measures.functions or [0]):g}"),
        Row("code lines per comment", f"{measures.code_lines / max(measures.comments, 1):.1f}"),
    ]


def _common_rows(measures: Measures) -> list[Row]:
    private = measures.count("private words")
    share = 100 * private / max(measures.names, 1)
    return [
        Row("files", str(len(measures.files))),
        Row("lines", str(sum(measures.files.values()))),
        Row("private words in names", f"{private} ({share:.2f} %)", "at most 0", not private),
        _row("lines of the longest file", max(measures.files.values(), default=0), most=LINES_MAX),
    ]


def prose_rows(root: Path) -> list[Row]:
    """Return the share of sentences with a habit of each group, with its floor as the limit."""
    rows = []
    for group, (total, hits) in prose.shares(prose.sentences(root)).items():
        share, most = prose.percent(total, hits), prose.FLOORS[group]
        rows.append(
            Row(f"{group} with a habit", f"{hits} ({share:.2f} %)", f"at most {most:g} %", share <= most)
        )
    return rows


def _row(label: str, value: float, *, most: float) -> Row:
    return Row(label, f"{value:g}", f"at most {most:g}", value <= most)


def print_table(title: str, rows: Iterable[Row]) -> bool:
    """Print one table; return whether every limit is kept."""
    print(f"\n{title}")
    passed = True
    for row in rows:
        passed &= row.passed
        print(f"  {row.label:36}{row.value:>18}   {row.limit:16}{'' if row.passed else 'MISSED'}".rstrip())
    return passed


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description="Measure the code against the house rules.")
    parser.add_argument(
        "--list",
        nargs="*",
        metavar="PATH",
        help="Print each violation as file:line, of all files or below PATH.",
    )
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parents[1], help="Measured tree."
    )
    options = parser.parse_args(arguments)
    packages, tests = measure(options.root, PACKAGES), measure(options.root, TESTS)
    passed = print_table("Packages: " + ", ".join(PACKAGES), package_rows(packages))
    passed &= print_table("Tests: " + ", ".join(TESTS), test_rows(tests))
    passed &= print_table("Prose", prose_rows(options.root))
    for measures in (packages, tests):
        if measures.private_words:
            counts = ", ".join(f"{word} {count}" for word, count in measures.private_words.most_common())
            print(f"\nPrivate words: {counts}")
    if options.list is not None:
        for rule, text in packages.violations + tests.violations:
            if not options.list or text.startswith(tuple(options.list)):
                print(f"{text} [{rule}]")
    elif not passed:
        print("\nEach violation: python tools/house.py --list; of prose: python tools/prose.py --list")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
