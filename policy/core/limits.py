"""The bounds on input and on searches, since the files under audit are untrusted.

An input beyond a bound is refused or denied; a search beyond a bound is not exact (``exact:
false``). Nothing is cut silently.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from typing import Final


# Bytes of a policy file. A larger file is not read.
FILE_BYTES: Final = 16 * 1024 * 1024
# Bytes of a Markdown file that may define an agent.
AGENT_BYTES: Final = 1024 * 1024
# Rules in one policy file.
RULES: Final = 200_000
# Levels of lists and mappings in YAML and JSON.
NESTING: Final = 64
# Files below one folder.
TREE_FILES: Final = 500_000
# Rules compared with one another to find dead rules; other rules stay undecided.
LINES_COMPARED: Final = 400_000
# Symbolic links that the resolution of one path follows, as in the kernel.
LINKS: Final = 40
# Bytes of a compiled policy, which is larger than its files.
COMPILED_BYTES: Final = 16 * FILE_BYTES
# Characters of a pattern. The longest in public repositories has 2,216.
PATTERN_CHARACTERS: Final = 8 * 1024
# Characters of an argument of a call, e.g. a command; a table denies a longer one. A witness is
# made of a few patterns, so it is always shorter.
CALL_CHARACTERS: Final = 16 * 1024 * 1024
# Characters that one ``[a-z]`` of a path pattern may match.
CLASS_CHARACTERS: Final = 256
# Words, quotes and operators of a command. No rule allows a command with more.
COMMAND_PIECES: Final = 100_000
# Combinations of the alternatives of one pattern in a compiled table.
ALTERNATIVES: Final = 4096
# Entries of a cache; a full cache is cleared.
CACHE_ENTRIES: Final = 100_000
# Characters of the longest text that a cache of decisions or of commands holds.
CACHED_CHARACTERS: Final = 1024
# Tools or tables that a cache holds. Names of tools come from calls.
CACHED_NAMES: Final = 1024
# Product states that a search for a witness visits before it gives up.
SEARCH_STATES: Final = 20_000
