"""The decision on a call: its effect, its reason, and its determining rules."""

from __future__ import annotations

import enum

from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import Final, NoReturn, Protocol, field, frozen

# The text that replaces a rule where an agent has all tools, since it lists none.
EVERY_TOOL: Final = "every tool"


class Reason(enum.Enum):
    """Why a decision has its effect. The values are a contract: add, never rename."""

    RULE = "rule"  # a rule decides
    DEFAULT = "default"  # no rule matches the call, so the default of a rule set decides
    UNRESTRICTED = "unrestricted"  # no table restricts the call
    UNAVAILABLE = "unavailable"  # the agent does not have the tool
    MALFORMED = "malformed-call"  # the arguments cannot be read, so no rule is known to match
    TOO_LONG = "too-long"  # an argument exceeds `limits.CALL_CHARACTERS`
    PROTECTED = "protected"  # the host denies or asks, whatever rule allows the call
    CLASSIFIER = "classifier"  # a model of the host decides; its decision is not in a file
    NO_TOOLS = "no-tools"  # the host does not start an agent without tools
    DEPTH = "depth"  # the agent may start no other, since a limit of depth is reached
    NO_ROOT = "no-root"  # the folder of the project is unknown, so a path may be any file
    UNANALYSABLE = "not-analysable"  # the engine cannot tell what the command runs

    __hash__ = object.__hash__


@frozen(cache_hash=True)
class Because:
    """One determining rule.

    Attributes:
        rule: its text.
        effect: its effect.
        link: the agent of the chain that has it.
        place: its file, line and column; None for a rule that is built in.

    """

    rule: str
    effect: Effect
    link: str
    place: Place | None = None

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"{self.effect} {self.rule} ({self.link}{at})"


class Hashed(Protocol):
    """A value with a content hash, ``sha256:…``, computed when it is read: a table."""

    @property
    def hash(self) -> str:
        """The content hash."""


@frozen(cache_hash=True)
class Decision:
    """The effect of a call, and why it has it. `table` does not count for equality.

    Attributes:
        effect: DENY, ASK or ALLOW.
        reason: the kind of reason.
        because: the determining rules: for ASK those of every link that asks, for DENY those of
            the first link that denies.
        links: the links of the chain that decided, from the root; in some hosts each confirms.

    """

    effect: Effect
    reason: Reason
    because: tuple[Because, ...] = ()
    links: tuple[str, ...] = ()
    _asked: str | Hashed = field(default="", alias="table", eq=False, repr=False)

    @property
    def table(self) -> str:
        """The content hash of the table that decided, ``sha256:…``."""
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
    HIDES = "hides"  # runs or opens what is unknown before it runs, or is ambiguous

    __hash__ = object.__hash__


# In the text of a clause, this replaces the output of a substitution.
HIDDEN_TEXT: Final = "…"


@frozen
class Clause:
    """One simple command, or one file that a command opens, and its own decision.

    Attributes:
        does: what the clause does.
        text: the simple command as rules that allow match it, or the name of the file; or "".
        decision: the decision on this clause alone, by the link that decides the command.
        why: why the clause is ambiguous: a sentence whose subject is *text*; or "".
    """

    does: Does
    text: str
    decision: Decision
    why: str = ""
