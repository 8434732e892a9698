"""What the values of settings must be in Claude Code 2.1.329, or their file is rejected.

Observed key by key. A key that is not here takes any value: the host skips a
wrong one (``effortLevel``, ``forceLoginMethod``), or nobody tried it. Of ``hooks`` see
`policy.hosts.claude.data.hooks`.
"""

from __future__ import annotations

import enum
import re
from typing import Final

from policy.documents.node import Mapping, Node, Scalar, Sequence

__all__ = [
    "ASKING_TOOLS",
    "EDITS_INSIDE",
    "FENCES",
    "FILE_READS_INSIDE",
    "READS_INSIDE",
    "SILENT",
    "SILENT_SCOPES",
    "VALUES",
    "Kind",
]

# What settings call it that reads and edits are kept in working folders: by whatever reads, by
# what edits, and by the tools for files alone, which only whoever starts the host can say.
READS_INSIDE: Final = "blockReadsOutsideWorkingDirectories"
EDITS_INSIDE: Final = "blockWritesOutsideWorkingDirectories"
FILE_READS_INSIDE: Final = "blockFileToolReadsOutsideWorkingDirectories"
# Each with the scopes of settings whose additional folders count as inside: what comes with the
# files of a project opens nothing, and what whoever starts the host says nobody else does.
FENCES: Final = {
    READS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    EDITS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    FILE_READS_INSIDE: frozenset({"flag"}),
}


# What settings call it that nobody is asked: what would be asked for is denied. It counts where a
# project does not say it.
SILENT: Final = "denyInsteadOfPrompting"
SILENT_SCOPES: Final = frozenset({"managed", "flag", "user"})
# Tools that are not there then.
ASKING_TOOLS: Final = ("AskUserQuestion",)


class Kind(enum.Enum):
    """A type of value, as people call it."""

    TEXT = "a string"
    TRUTH = "true or false"
    OBJECT = "an object"
    TEXTS = "a list of strings"
    DAYS = "a number of days above 0"
    SECONDS = "a number of seconds above 0"
    SHELL = "`bash` or `powershell`"
    ADDRESS = "an address such as https://example.com/"

    __hash__ = object.__hash__

    def holds(self, node: Node) -> bool:
        """Return whether the value is of this type."""
        value = node.value if isinstance(node, Scalar) else None
        match self:
            case Kind.TEXT:
                return isinstance(value, str)
            case Kind.TRUTH:
                return isinstance(value, bool)
            case Kind.OBJECT:
                return isinstance(node, Mapping)
            case Kind.TEXTS:
                return isinstance(node, Sequence) and all(map(Kind.TEXT.holds, node.items))
            case Kind.SECONDS:
                numbers = int | float
                return isinstance(value, numbers) and not isinstance(value, bool) and value > 0
            case Kind.SHELL:
                return value in ("bash", "powershell")
            case Kind.ADDRESS:
                return isinstance(value, str) and bool(re.match(r"[A-Za-z][\w+.-]*://.", value))
            case Kind.DAYS:
                return isinstance(value, int) and not isinstance(value, bool) and value > 0


_TEXTS: Final = "$schema agent apiKeyHelper language model outputStyle plansDirectory"
_TRUTHS: Final = (
    "allowManagedPermissionRulesOnly alwaysThinkingEnabled disableAllHooks"
    " enableAllProjectMcpServers includeCoAuthoredBy respectGitignore"
    " skipDangerousModePermissionPrompt spinnerTipsEnabled"
)
_OBJECTS: Final = "attribution autoMode enabledPlugins env sandbox statusLine"

VALUES: Final[dict[str, Kind]] = {
    **dict.fromkeys(_TEXTS.split(), Kind.TEXT),
    **dict.fromkeys(_TRUTHS.split(), Kind.TRUTH),
    **dict.fromkeys(_OBJECTS.split(), Kind.OBJECT),
    "companyAnnouncements": Kind.TEXTS,
    "cleanupPeriodDays": Kind.DAYS,
}
