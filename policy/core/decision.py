"""The answer to one call, with its reasons, and where the rules behind it are written."""

from __future__ import annotations

import enum

from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import Final, NoReturn, Protocol, field, frozen

# The text in place of a rule if an agent has a tool because it lists no tools.
EVERY_TOOL: Final = "every tool"


class Reason(enum.Enum):
    """Why a decision is as it is. The values are a contract: add, never rename."""

    RULE = "rule"  # a rule decides
    DEFAULT = "default"  # no rule matches the call, so the default of a table holds
    UNRESTRICTED = "unrestricted"  # no table restricts the call
    UNAVAILABLE = "unavailable"  # the agent does not have the tool
    MALFORMED = "malformed-call"  # the arguments cannot be read, so no rule can be trusted to match
    TOO_LONG = "too-long"  # an argument exceeds `limits.CALL_CHARACTERS`
    PROTECTED = "protected"  # the host guards this against every rule that allows
    CLASSIFIER = "classifier"  # a model of the host decides, which no file shows
    NO_TOOLS = "no-tools"  # the agent would have no tool, so the host does not start it
    DEPTH = "depth"  # a limit of depth is reached, so the agent may start no other
    NO_ROOT = "no-root"  # a path may lead anywhere, since the folder of the project is not known
    UNANALYSABLE = "not-analysable"  # a command cannot be shown to be one that the rules match

    __hash__ = object.__hash__


@frozen(cache_hash=True)
class Because:
    """One determining rule.

    Attributes:
        rule: its text.
        effect: its effect.
        link: the agent of the chain whose rule it is.
        place: its file, line and column, where it is written in one.

    """

    rule: str
    effect: Effect
    link: str
    place: Place | None = None

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"{self.effect} {self.rule} ({self.link}{at})"


class Hashed(Protocol):
    """What has a content hash, ``sha256:…``, which it takes a while to make: a table."""

    @property
    def hash(self) -> str:
        """The hash."""


@frozen(cache_hash=True)
class Decision:
    """What a call gets, and why. Decisions of two tables that say the same are equal.

    Attributes:
        effect: the answer.
        reason: which kind of reason it has.
        because: the determining rules: of an ASK those of every link that asks, of a DENY those
            of the first link that denies.
        links: the links of the chain that decided, from the root; some hosts need each to confirm.

    """

    effect: Effect
    reason: Reason
    because: tuple[Because, ...] = ()
    links: tuple[str, ...] = ()
    _asked: str | Hashed = field(default="", alias="table", eq=False, repr=False)

    @property
    def table(self) -> str:
        """Content hash of the table that was asked, ``sha256:…``, made when it is read."""
        asked = self._asked
        return asked if isinstance(asked, str) else asked.hash

    def __reduce__(self) -> tuple[object, ...]:
        return Decision, (self.effect, self.reason, self.because, self.links, self.table)

    def __bool__(self) -> NoReturn:
        msg = "a Decision is neither true nor false; compare its effect"
        raise TypeError(msg)

    def __str__(self) -> str:
        reasons = "; ".join(map(str, self.because)) or self.reason.value
        return f"{self.effect}: {reasons}"


class Does(enum.Enum):
    """What a clause of a command does. The values are a contract: add, never rename."""

    RUNS = "runs"  # a simple command
    READS = "reads"  # a file
    WRITES = "writes"  # a file
    REMOVES = "removes"  # a file
    HIDES = "hides"  # what is not known before it runs, or is ambiguous

    __hash__ = object.__hash__


# In the text of a clause, this replaces the output of a substitution.
HIDDEN_TEXT: Final = "…"


@frozen
class Clause:
    """One thing that a command does, and what it would get alone.

    Attributes:
        does: which kind of thing.
        text: the simple command as rules that allow know it, or the name of the file, if known.
        decision: what it gets from the link that decides the command.
        why: why it is ambiguous, if it is: a sentence whose subject is the text.
    """

    does: Does
    text: str
    decision: Decision
    why: str = ""
