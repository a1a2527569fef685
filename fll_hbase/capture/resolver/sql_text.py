"""SQL text of expressions, as descriptions: without constants, and of bounded length."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.capture.resolver.dump import Expression

CHARACTERS_MAX = 500
_DEPTH_MAX = 40

_Texts = dict[tuple[int, int], str]
"""Texts by row and depth, cut beyond the visible length; a row that many others share has one text."""

_OPERATORS = {
    "Add": "+",
    "And": "AND",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "Divide": "/",
    "EqualNullSafe": "<=>",
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "IntegralDivide": "DIV",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "Multiply": "*",
    "Or": "OR",
    "Remainder": "%",
    "Subtract": "-",
}

_WRAPPERS = frozenset(
    [
        "AggregateExpression",
        "Alias",
        "SortOrder",
        "CheckOverflowInTableInsert",
        "KnownNotNull",
        "KnownNullable",
        "AssertNotNull",
        "OuterReference",
        "PromotePrecision",
        "CheckOverflow",
    ]
)


def sql_text(expressions: Sequence[Expression], row: int) -> str:
    """Return the text of an expression, cut after 500 characters; a constant without a text is `?`."""
    text = _text(expressions, row, _DEPTH_MAX, {})
    return text if len(text) <= CHARACTERS_MAX else text[: CHARACTERS_MAX - 1] + "…"


def _text(expressions: Sequence[Expression], row: int, depth: int, texts: _Texts) -> str:
    """Return the text of an expression, with `…` for parts nested deeper than `depth`."""
    expression = expressions[row]
    if expression.kind in ("AttributeReference", "NamedLambdaVariable"):
        return expression.name or ""
    if expression.kind == "Literal":
        return expression.name or ("NULL" if expression.details.get("null") else "?")
    if depth == 0:
        return "…"
    if "plan" in expression.details:
        return "(subquery)"
    if not expression.operands:
        return f"{_function_name(expression)}()"
    text = texts.get((row, depth))
    if text is None:
        text = _composed(expressions, expression, depth - 1, texts)[: CHARACTERS_MAX + 1]
        texts[row, depth] = text
    return text


def _composed(expressions: Sequence[Expression], expression: Expression, depth: int, texts: _Texts) -> str:
    """Return the text of an expression with its operands, without those beyond CHARACTERS_MAX."""
    # The first operands fill the text; further operands of a long list would be cut off.
    parts = []
    length = 0
    for number in expression.operands:
        if length > CHARACTERS_MAX:
            break
        parts.append(_text(expressions, number, depth, texts))
        length += len(parts[-1])
    kind = expression.kind
    if kind in _WRAPPERS or expression.details.get("same"):
        return parts[0]
    if kind in _OPERATORS and len(parts) == 2:
        return f"({parts[0]} {_OPERATORS[kind]} {parts[1]})"
    if kind == "CaseWhen":
        return _case(parts, len(expression.operands))
    if kind == "WindowExpression":
        return f"{parts[0]} OVER ({', '.join(_window_keys(expressions, expression, depth, texts))})"
    return _call(expression, parts)


def _call(expression: Expression, parts: list[str]) -> str:
    """Return the text of a cast, a field access or any other function with the operands `parts`."""
    if expression.kind == "Cast":
        return f"CAST({parts[0]} AS {(expression.name or '').upper()})"
    if expression.kind in ("GetStructField", "GetArrayStructFields"):
        return f"{parts[0]}.{expression.name}"
    return f"{_function_name(expression)}({', '.join(parts)})"


def _window_keys(
    expressions: Sequence[Expression], expression: Expression, depth: int, texts: _Texts
) -> list[str]:
    """Return the texts of the PARTITION BY and ORDER BY keys of a window function, without its frame."""
    keys = expressions[expression.operands[1]].operands
    shown = (key for key in keys if expressions[key].kind != "SpecifiedWindowFrame")
    return [_text(expressions, key, depth, texts) for key in shown]


def _case(parts: list[str], count: int) -> str:
    """Return the text of CASE from the texts of its first operands; `count` is the number of all operands."""
    pairs = len(parts) // 2 * 2
    branches = [f"WHEN {parts[number]} THEN {parts[number + 1]}" for number in range(0, pairs, 2)]
    otherwise = [f"ELSE {parts[-1]}"] if count % 2 and len(parts) == count else []
    return " ".join(["CASE", *branches, *otherwise, "END"])


def _function_name(expression: Expression) -> str:
    """Return the name of an expression, or its class in lower case if it has none."""
    return expression.name or expression.kind.lower()
