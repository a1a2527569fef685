"""DataHub field paths to field names: types are left out, nested names are joined by `/`.

Version 2 contains the type of each step, `[version=2.0].[type=struct].[type=array].a.[type=string].b`, so
a name may contain dots. In version 1, `a.b`, a dot always separates names. Both become `a/b`. A field of a
message's key becomes `[key]/a`, because the value of the message may have a field `a`, too.
"""

from __future__ import annotations

import re

VERSION = "[version=2.0]"
KEY = "[key=True]"
KEY_FIELDS = "[key]"
_TYPE = "[type=unknown]"
# No bracket inside a step: else each of many that do not end would be searched to the end of the path.
_TOKEN = re.compile(r"(?:^|\.)\[(?:version|key|type)=[^\[\]]*\](?=\.|$)")


def field_name(path: str) -> str:
    """Return the field name; a path without names, such as of a bare string, is returned unchanged."""
    if not path.startswith("[version="):
        return path.replace(".", "/")
    # Splitting at types instead of dots leaves the dots inside names alone.
    names = [chunk[1:] for chunk in _TOKEN.split(path) if chunk]
    # The whole message is one value: its path is the only name that it has.
    if not names:
        return path
    return "/".join([KEY_FIELDS, *names] if path.startswith(f"{VERSION}.{KEY}") else names)


def field_path(name: str) -> str:
    """Return a path that `field_name` maps back: version 1 if possible, else version 2 without types."""
    if name.startswith(VERSION) and field_name(name) == name:
        return name
    names = name.split("/")
    in_key = names[0] == KEY_FIELDS and len(names) > 1
    # Version 1 has no way to write a dot inside a name, nor a key.
    if not in_key and "." not in name and not name.startswith("[version="):
        return ".".join(names)
    steps = [f"{_TYPE}.{part}" for part in (names[1:] if in_key else names)]
    return ".".join([VERSION, KEY, *steps] if in_key else [VERSION, *steps])


def ends_in_a_name(path: str) -> bool:
    """Return whether a path ends with a field name, as every path of version 1 does, not with a type."""
    return not path.endswith("]") or not path.startswith("[version=")
