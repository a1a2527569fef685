"""Shows the examples of docstrings (`>>>`) as code on the site: an extension of griffe for mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe  # type: ignore[import-not-found]  # of the environment that builds the site

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class DoctestBlocks(griffe.Extension):  # type: ignore[misc]
    """Fences the examples in each docstring that is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of an object. Docstrings are dedented here."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(r"```python\n\g<0>\n```", obj.docstring.value)
