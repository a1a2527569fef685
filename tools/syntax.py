"""Syntax of a Python file, read once for all checks that need it."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import cache
from typing import cast


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, the module itself first. Raises SyntaxError."""
    return tuple(ast.walk(ast.parse(text)))


def module(text: str) -> ast.Module:
    """Return the tree of a module. Raises SyntaxError."""
    return cast(ast.Module, nodes(text)[0])


@cache
def tokens(text: str) -> tuple[tokenize.TokenInfo, ...]:
    """Return the tokens of a module, comments and line ends included."""
    return tuple(tokenize.generate_tokens(io.StringIO(text).readline))
