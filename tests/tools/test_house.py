"""The house measure: which names, docstrings, sizes and imports it counts, and when it fails."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

CLEAN = '''"""Datasets and their fields."""

# Names are compared by code point, as keys are.
def field_names(fields: list[str]) -> list[str]:
    """Return the names of fields, sorted."""
    return sorted(fields)
'''


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


house = _load()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose packages hold one clean module of the length that modules have."""
    package = tmp_path / "fll_hbase"
    package.mkdir()
    padding = "\n".join(f"NUMBER_{number} = {number}" for number in range(30))
    (package / "fields.py").write_text(CLEAN + padding + "\n" + "\n" * 80)
    return tmp_path


def _run(root: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = house.main(["--root", str(root), *options])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("told_of", "told"),
        ("LineageAsked", "asked"),
        ("_said", "said"),
        ("AT", "at"),
        ("of_runs", "of_"),
        ("events_", "events_"),
        ("test_a_run_is_told", "told"),
    ],
)
def test_private_words_are_recognised(name: str, word: str) -> None:
    assert house.private_word(name) == word


@pytest.mark.parametrize(
    "name",
    [
        "class_",
        "type_",
        "inputs_of",
        "NotFound",
        "start_at",
        "one_of",
        "foretold",
        "test_a_lock_held_twice",
        "_",
    ],
)
def test_standard_names_pass(name: str) -> None:
    assert not house.private_word(name)


@pytest.mark.parametrize(
    ("docstring", "module"),
    [
        ("Which keys are there.", True),
        ("Whether it is open.", True),
        ("Is it open?", False),
        ("What is kept.", False),
    ],
)
def test_questions_are_recognised(docstring: str, module: bool) -> None:
    assert house.is_question(docstring, module=module)


@pytest.mark.parametrize("docstring", ["Whether it is open.", "Record a run (`?dryRun=true` shows it)."])
def test_statements_are_no_questions(docstring: str) -> None:
    assert not house.is_question(docstring, module=False)


def test_complexity_counts_branches() -> None:
    source = """
def f(x):
    for y in x:
        if y:
            continue
        elif x:
            break
    else:
        pass
    match x:
        case 1: pass
        case _: pass
"""
    (function,) = ast.parse(source).body
    assert house.complexity(function) == 6


def test_a_clean_tree_passes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = _run(tree, capsys, "--list")
    assert code == 0, output
    assert "MISSED" not in output
    assert "0 (0.00 %)" in output


@pytest.mark.parametrize(
    ("code", "violation"),
    [
        ("said = 1\n", "fll_hbase/added.py:1: said [private words]"),
        ('"""What is it."""\n', "fll_hbase/added.py:1: What is it. [questions]"),
        ("X = 1\n" * 601, "fll_hbase/added.py:1: 601 lines, at most 600 [file lines]"),
        ("def _f():\n" + "    pass\n" * 45, "fll_hbase/added.py:1: _f has 46 lines [function lines]"),
        ("def _f(x):\n" + "    if x: pass\n" * 9, "fll_hbase/added.py:1: _f: 10 [complexity]"),
        ("def f():\n    pass\n", "fll_hbase/added.py:1: f [docstrings]"),
    ],
)
def test_each_violation_fails_and_is_listed(
    tree: Path, capsys: pytest.CaptureFixture[str], code: str, violation: str
) -> None:
    (tree / "fll_hbase" / "added.py").write_text(code)
    exit_code, output = _run(tree, capsys, "--list")
    assert exit_code == 1
    assert violation in output.splitlines()


def test_violations_are_listed_below_a_path(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("store", "keys"):
        (tree / "fll_hbase" / folder).mkdir()
        (tree / "fll_hbase" / folder / "added.py").write_text("said = 1\n")
    output = _run(tree, capsys, "--list", "fll_hbase/store")[1]
    assert "fll_hbase/store/added.py:1: said" in output
    assert "fll_hbase/keys/added.py:1: said" not in output


def test_small_modules_are_counted_and_listed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(house.SMALL_MODULES_MAX + 1):
        (tree / "fll_hbase" / f"small{number}.py").write_text("X = 1\n")
    exit_code, output = _run(tree, capsys, "--list")
    assert exit_code == 1
    assert "fll_hbase/small0.py:1: 1 lines [small modules]" in output.splitlines()


def test_names_of_several_modules_are_counted_and_listed(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("store", "keys"):
        (tree / "fll_hbase" / folder).mkdir()
        for number in range(house.SHARED_NAMES_MAX + 1):
            (tree / "fll_hbase" / folder / f"shared{number}.py").write_text("X = 1\n" * house.SMALL_LINES)
    exit_code, output = _run(tree, capsys, "--list")
    assert exit_code == 1
    assert (
        "fll_hbase/keys/shared0.py:1: another module has this name [names of modules]" in output.splitlines()
    )


def test_files_in_no_folder_are_counted(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(house.LOOSE_MAX["fll_hbase"] + 1):
        (tree / "fll_hbase" / f"loose{number}.py").write_text("X = 1\n")
    exit_code, output = _run(tree, capsys)
    assert exit_code == 1
    (line,) = (line for line in output.splitlines() if "files in no folder of fll_hbase" in line)
    assert "MISSED" in line


def test_names_of_modules_count(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "tests").mkdir()
    (tree / "tests" / "asking.py").write_text("")
    code, output = _run(tree, capsys, "--list")
    assert code == 1
    assert "tests/asking.py:1: module asking [private words]" in output


@pytest.fixture
def tested(tree: Path) -> Path:
    """The tree, with modules in each place that tests mirror."""
    for name in (
        "fll_hbase/store/__init__.py",
        "fll_hbase/store/read/reach.py",
        "fll_hbase/retry.py",
        "api/routes/tags.py",
        "api/budget.py",
        "page/src/dataset/field-list.tsx",
        "tools/system-packages",
        "setup.cfg",
    ):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    return tree


def _test_violations(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (root / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "tests" / name).write_text(text)
    measures = house.Measures()
    house.measure_test_files(root, measures)
    return [f"{text} [{rule}]" for rule, text in measures.violations]


def test_test_files_are_named_after_modules_packages_and_their_folder(tested: Path) -> None:
    names = (
        "test_retry.py",
        "test_setup.py",
        "store/read/test_reach.py",
        "store/read/test_reach_bounds.py",
        "store/test_read_costs.py",
        "store/test_store_upgrade.py",
        "api/routes/test_tags.py",
        "api/test_budget_gateway.py",
        "page/test_field_list.py",
        "page/test_page_keyboard.py",
        "tools/test_system_packages.py",
        "oracle/test_random_histories.py",
    )
    assert _test_violations(tested, dict.fromkeys(names, "")) == []


def test_each_test_file_without_a_module_is_listed(tested: Path) -> None:
    names = (
        "api/test_tags.py",
        "other/test_other.py",
        "store/read/test_reached.py",
        "store/test_reach.py",
        "test_reach.py",
    )
    assert _test_violations(tested, dict.fromkeys(names, "")) == [
        f"tests/{name}:1: no module {Path(name).stem.removeprefix('test_')} [names of tests]"
        for name in names
    ]


def test_tests_import_what_is_shared(tested: Path) -> None:
    files = dict.fromkeys(("conftest.py", "support/work.py", "oracle/__init__.py", "oracle/world.py"), "")
    test = "from tests.conftest import X\nfrom tests.support import work\nfrom tests.support.work import Y\n"
    oracle = "import tests.oracle.world\nfrom tests.oracle import world, Oracle\nimport api.budget\n"
    assert _test_violations(tested, files | {"test_retry.py": test, "oracle/test_worlds.py": oracle}) == []


@pytest.mark.parametrize(
    ("line", "imported"),
    [
        ("from tests.test_setup import A", "tests/test_setup.py"),
        ("from tests import test_setup", "tests/test_setup.py"),
        ("from tests.oracle.world import A, B", "tests/oracle/world.py"),
        ("import tests.store.rows", "tests/store/rows.py"),
        ("def f():\n    from tests.store.conftest import A", "tests/store/conftest.py"),
    ],
)
def test_each_import_of_anything_else_is_listed(tested: Path, line: str, imported: str) -> None:
    files = {"test_setup.py": "", "oracle/world.py": "", "store/rows.py": "", "store/conftest.py": ""}
    where = f"tests/test_retry.py:{line.count(chr(10)) + 1}"
    assert _test_violations(tested, {**files, "test_retry.py": line}) == [
        f"{where}: imports {imported} [imports of tests]"
    ]


def test_names_of_other_libraries_pass(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "fll_hbase" / "joins.py").write_text("\n" * 120 + 'X = join.side, frame.join(x, how="left")\n')
    assert _run(tree, capsys)[0] == 0


def test_a_method_inherits_the_docstring_of_its_base() -> None:
    source = '''
class Table:
    """A table."""
    def put(self):
        """Write cells."""

class SqliteTable(Table):
    """A table in a file."""
    def put(self): ...
    def vacuum(self): ...
'''
    measures = house.Measures()
    house.measure_docstrings({"tables.py": ast.parse(source)}, measures)
    assert [text for _, text in measures.violations] == ["tables.py:10: vacuum"]
