"""Does a load come to the very rows of the online path, with every line accounted for?"""

from __future__ import annotations
