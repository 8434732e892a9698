"""What Claude Code 2.1.329 knows of programs that change files, folders or variables."""

from __future__ import annotations

from typing import Final

import attrs

from policy.programs import Files, Program

__all__ = ["CHANGING", "COPY", "MOVE", "REMOVE", "UPROOT"]

REMOVE: Final = Program(harmless=False, writes=Files.ALL, removes=True, anywhere=True)
UPROOT: Final = attrs.evolve(REMOVE, uproots=Files.ALL)
COPY: Final = Program(
    harmless=False, reads=Files.BUT_LAST, writes=Files.LAST, copies=Files.BUT_LAST, into=True,
    anywhere=True,
)  # fmt: skip
MOVE: Final = Program(
    harmless=False, reads=Files.BUT_LAST, writes=Files.ALL, uproots=Files.BUT_LAST, into=True,
    anywhere=True,
)  # fmt: skip

CHANGING: Final = {
    **dict.fromkeys(
        "awk gawk mawk nawk".split(),
        Program(
            harmless=False, reads=Files.REST, files="-[fE]|--(file|exec)",
            values="-[Fve]|--(field-separator|assign|source)",
            given="-[feE]|--(source|file|exec)(=.*)?",
        ),
    ),
    "cd": Program(reads=Files.ALL, moves=True, flags="", most=1, texts=True),
    **dict.fromkeys(("chdir", "pushd", "popd"), Program(harmless=False, moves=True)),
    **dict.fromkeys(("unset", "unsetenv"), Program(harmless=False, spelled=True)),
    "tee": Program(harmless=False, writes=Files.ALL, anywhere=True),
    "touch": Program(harmless=False, writes=Files.ALL),
    "mkdir": Program(harmless=False, writes=Files.ALL),
    "rm": UPROOT,
    "rmdir": REMOVE,
    "mv": MOVE,
    "cp": COPY,
    **dict.fromkeys(("ln", "link"), Program(harmless=False, uproots=Files.ALL, anywhere=True)),
}  # fmt: skip
