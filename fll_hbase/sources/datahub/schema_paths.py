"""From DataHub field paths to field names, without types and with nested names joined by `/`.

Version 2 contains the type of each step, as in `[version=2.0].[type=struct].[type=array].a.[type=string].b`,
so a name may contain dots. In version 1, as in `a.b`, a dot always separates names. Both paths become `a/b`.
A field of a message's key becomes `[key]/a`, because the message's value may have a field `a`, too.
"""

from __future__ import annotations

import re

VERSION = "[version=2.0]"
KEY = "[key=True]"
KEY_FIELDS = "[key]"
_TYPE = "[type=unknown]"
# Brackets are excluded inside a step, so that a missing end does not cause a search of the whole path.
_TOKEN = re.compile(r"(?:^|\.)\[(?:version|key|type)=[^\[\]]*\](?=\.|$)")


def field_name(path: str) -> str:
    """Return the field name; a path without names, such as the path of a bare string, is unchanged."""
    if not path.startswith("[version="):
        return path.replace(".", "/")
    # Splitting at types instead of dots keeps the dots inside names.
    names = [chunk[1:] for chunk in _TOKEN.split(path) if chunk]
    # The whole message is one value, so its path is its only name.
    if not names:
        return path
    return "/".join([KEY_FIELDS, *names] if path.startswith(f"{VERSION}.{KEY}") else names)


def field_path(name: str) -> str:
    """Return a path that `field_name` maps back: version 1 if possible, else version 2 without types."""
    if name.startswith(VERSION) and field_name(name) == name:
        return name
    names = name.split("/")
    in_key = names[0] == KEY_FIELDS and len(names) > 1
    # Version 1 can write neither a dot inside a name nor a key.
    if not in_key and "." not in name and not name.startswith("[version="):
        return ".".join(names)
    steps = [f"{_TYPE}.{part}" for part in (names[1:] if in_key else names)]
    return ".".join([VERSION, KEY, *steps] if in_key else [VERSION, *steps])


def ends_in_a_name(path: str) -> bool:
    """Return whether a path ends with a field name, as all paths of version 1 do, and not with a type."""
    return not path.endswith("]") or not path.startswith("[version=")
