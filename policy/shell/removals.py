"""What a command removes, as a host that guards critical folders looks at it.

It looks at each name and, where that ends in stars (`src/*`), at the folder which they empty.
A name that holds a variable or a substitution counts as critical, unless its value is known.
"""

from __future__ import annotations

import re
from typing import Final

from policy.shell.words import Word

__all__ = ["GLOB", "emptied", "is_unresolved"]

# Stars that are all that stands in the last segments of a name.
_STARS: Final = re.compile(r"(?:(?:^|/)\*+)+/*\Z")
_SEGMENT: Final = re.compile(r"[^/]+")
GLOB: Final = re.compile(r"[*?\[]")
_UP: Final = re.compile(r"(?:^|/)\.\.(?:/|$)")

# What a shell puts something else for: `$X`, `$(ls)`. `$'x'` is a text, and `${X:?}` is never
# empty, which is what hosts tell their users to write.
_PUT_IN: Final = re.compile(r"\$(?!'|\{(?!HOME:|(?:OLD)?PWD:)\w+:\?[^{}$`]*\})|`")


def emptied(name: str) -> str | None:
    """Return the folder that stars at the end of *name* empty, None where there are none."""
    folder = name
    while (found := _STARS.search(folder)) is not None:
        folder = folder[: found.start()]
    if folder == name:
        return None
    return folder or ("/" if name.startswith("/") else ".")


def is_unresolved(word: Word, *, parents: bool, astray: bool) -> bool:
    """Return whether a host cannot tell which folders a removal empties.

    Args:
        word: what is removed.
        parents: whether folders above it are removed too (`rmdir -p`).
        astray: whether it is removed behind a change of folder.

    """
    if not word.known or word.guessed:
        return _PUT_IN.search(word.raw) is not None
    name = word.plain
    folder = emptied(name)
    if folder is None:
        return False
    inside = name[:1] != "/" and name != "~" and name[:2] != "~/"
    if name[:1] == "~" and inside:
        return True  # the home of somebody else
    if not re.search(r"(?:^|/)\*/*\Z", name):
        return False
    if inside and (astray or _UP.search(name) or re.search(r"\*/+\Z", name)):
        return True
    stars = len(_SEGMENT.findall(name)) - len(_SEGMENT.findall(folder))
    stars += folder == "."
    globs = sum(1 for segment in _SEGMENT.findall(folder) if GLOB.search(segment))
    return parents or stars + globs > 1
