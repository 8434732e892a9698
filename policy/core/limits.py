"""Every bound on what is read, matched and searched: policies under audit are untrusted input.

What exceeds a bound is refused, denied, or answered with ``exact: false``, never cut in silence.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from typing import Final


# A policy file. Larger ones are refused unread.
FILE_BYTES: Final = 16 * 1024 * 1024
# A Markdown file that may define an agent (a definition is a page of text).
AGENT_BYTES: Final = 1024 * 1024
# Rules in one policy file.
RULES: Final = 200_000
# Levels of lists and mappings in YAML and JSON.
NESTING: Final = 64
# Files looked at below one folder.
TREE_FILES: Final = 500_000
# Lines of tables put side by side to tell which rules matter; the rest is undecided.
LINES_COMPARED: Final = 400_000
# Symbolic links that one path leads through, as the kernel counts them.
LINKS: Final = 40
# A compiled policy, which says more of each rule than the file it came from.
COMPILED_BYTES: Final = 16 * FILE_BYTES
# One pattern. The longest seen in public repositories has 2,216 characters.
PATTERN_CHARACTERS: Final = 8 * 1024
# One argument of a call, e.g. a command; the table denies a longer one. It exceeds any few
# patterns together, so that a witness for a claim about patterns is always a possible call.
CALL_CHARACTERS: Final = 16 * 1024 * 1024
# Characters that one ``[a-z]`` of a path pattern may match.
CLASS_CHARACTERS: Final = 256
# Words, quotes and operators of a command; what has more no rule can grant.
COMMAND_PIECES: Final = 100_000
# Choices there are of the alternatives of one pattern in a compiled table.
ALTERNATIVES: Final = 4096
# Transitions and decisions a table remembers before it forgets them all.
CACHE_ENTRIES: Final = 100_000
# Product states one search for a witness may visit before it gives up.
SEARCH_STATES: Final = 20_000
