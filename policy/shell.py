"""A shell command, taken apart into what each rule must speak of.

A command is decided part by part: denied when any part is, allowed only when
every part is. `policy.plain` reads commands of plain words, `policy.bash` what a
host looks into beyond them, `policy.scanner` the rest: far enough to deny what is
inside, never to vouch for it. No rule grants a part whose ``grantable`` is False.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import attrs

from policy import bash, limits
from policy.dialect import Shell
from policy.parts import Command, Part, Redirection
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import Gap, OneOf, Token
from policy.plain import read_plain
from policy.programs import Examined, examine
from policy.readings import (
    KEYWORDS,
    as_granted,
    as_written,
    behind_all,
    is_assignment,
    is_expanded,
    is_safe_assignment,
    readings,
)
from policy.scanner import Scanner
from policy.words import Script, Word

__all__ = ["Command", "Part", "Redirection", "compound", "read_command"]


_ACTED_ON = OneOf(frozenset(";&|<>()`$\\{}\"'#\t\n\r\v\f\0"))


# What looks like a blank and is none to a shell.
_ODD_BLANKS = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)


_SHELLS = frozenset("bash sh zsh dash ksh".split())


def _shells(shell: Shell) -> frozenset[str]:
    return _SHELLS | {"busybox"} if shell.scripted else frozenset()


@cache
def compound(shell: Shell) -> tuple[tuple[Token, ...], ...]:
    """Return patterns of every command that `read_command` does not return as it stands.

    They are for words: PART is text without a blank. Whoever matches none of
    them is one part: a program, and words without anything a shell acts on.
    """
    programs = sorted(shell.wrappers | shell.programs.keys() | KEYWORDS | _shells(shell))
    return (
        (),
        (Gap.ANY, _ACTED_ON, Gap.ANY),
        *(((Gap.ANY, " =", Gap.ANY),) if shell.control else ()),
        (" ", Gap.ANY),
        (Gap.ANY, " "),
        (Gap.ANY, "  ", Gap.ANY),
        *(((Gap.ANY, OneOf(_ODD_BLANKS), Gap.ANY),) if shell.control else ()),
        (Gap.PART, OneOf(frozenset("/=!~*?[")), Gap.ANY),  # in the first word
        *((program,) for program in programs),
        *((program + " ", Gap.ANY) for program in programs),
    )


@cache
def _compound(shell: Shell) -> Automaton:
    return Automaton(compound(shell), " ")


def read_command(text: str, shell: Shell) -> Command:
    """Return the parts and redirections of *text*. Never fails; never vouches for a guess."""
    if _compound(shell).first(text) == NO_MATCH:
        return Command((Part(text),))
    short = len(text) <= limits.COMMAND_PIECES
    script = (read_plain(text) if short else None) or _read_at_length(text, shell)
    if shell.control:
        script.opaque |= _is_doubtful(text, shell)
    read = _Reading(text, script, shell)
    read.run()
    return Command(
        tuple(read.parts),
        tuple(read.files),
        _whole(text, script) if shell.control else (),
        script.unread,
    )


def _read_at_length(text: str, shell: Shell) -> Script:
    if not shell.structures:
        return Scanner(text).run()
    if len(text) <= shell.longest:
        script = bash.read_script(text, shell)
        if script is not None:
            return script
    # Without a grammar nobody looks into it.
    script = Scanner(text).run()
    script.opaque = script.unread = True
    return script


# Text that a host finds by eye, wherever it stands, and does not vouch for.
_DOUBTFUL = re.compile(
    r"\\[ \t]|[^ \t]\\\n|\\\n\s*\||\\\$\$\(|(?:^|[ \t;&|(])=[A-Za-z]|\\\{[^\n]*[,.]"
)


def _is_doubtful(text: str, shell: Shell) -> bool:
    return (
        0 < shell.longest < len(text)
        or bool(_DOUBTFUL.search(text))
        or (not text.isascii() and not _ODD_BLANKS.isdisjoint(text))
    )


def _whole(text: str, script: Script) -> tuple[str, ...]:
    """Return the command as a whole, as rules that spell it out know it."""
    whole = text.strip(" \t\n")
    if whole.startswith("$"):
        return ()  # no rule spells out a program that nobody knows
    if len(script.commands) > 1 and "|" in whole and not re.search(r"&&|\|\||[;&\n]", whole):
        return (whole, re.sub(r"\s*\|\s*", " | ", whole))
    return (whole,)


# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())


class _Reading:
    """What one script comes to: parts, and the files they open."""

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self.text = text
        self.script = script
        self.shell = shell
        self.parts: list[Part] = []
        self.files = [Redirection(target.name, target.writes) for target in script.targets]
        self._moves = self._stays = 0
        self._harmless: list[bool] = []  # of every command, by its number

    def run(self) -> None:
        """Read the whole script."""
        redirected = len(self.files)
        for number, words in enumerate(self.script.commands):
            harmless = False
            if words:
                part = self._part(number, words)
                self.parts.append(part)
                harmless = part.harmless
            self._harmless.append(harmless)
        if self._moves:
            self.files += [_somewhere(file) for file in self.files[:redirected]]
            self.files += [_somewhere(file) for file in self.files[redirected:] if file.writes]
        if self._moves > 1 or (self._moves and self._stays):
            self.parts = [
                attrs.evolve(part, grantable=False, harmless=False) for part in self.parts
            ]
        if self.shell.control and not self.parts and not self.files and not self.script.opaque:
            self.parts.append(Part("", harmless=True))  # nothing runs

    def _part(self, number: int, words: list[Word]) -> Part:
        shell = self.shell
        text = as_written(words)
        granted = as_granted(words, shell)
        program = behind_all(words, shell)
        around = len(words) - len(program)
        grantable = not self.script.opaque and all(word.literal or word.vetted for word in words)
        if around >= limits.NESTING or any(map(is_expanded, words[: around + 1])):
            grantable = False  # nobody knows which program it is
        name = granted[0]
        written: tuple[str, ...] = ()
        if shell.control:
            grantable &= number not in self.script.led and not granted[0].plain.startswith("-")
            grantable &= name.literal and "$" not in name.raw
            written = tuple(dict.fromkeys((text, as_written(granted))))
            if name.raw != name.plain and _NAME.fullmatch(name.plain):
                granted = [attrs.evolve(name, raw=name.plain), *granted[1:]]
        elif name.raw in KEYWORDS or is_assignment(name) or name.raw != name.plain:
            grantable = False  # no program, or a quoted or escaped one
        granted_text = as_written(granted) if granted is not words else text
        is_set = shell.control and len(words) == sum(map(is_assignment, words))
        known = dict.fromkeys(() if is_set else readings(words, shell))
        known.pop(granted_text, None)
        if granted_text != text and not is_set:
            known[text] = None
        part = Part(
            "" if is_set else granted_text,
            tuple(known),
            grantable,
            written=tuple(one for one in written if is_set or one != granted_text),
            inexact=shell.control and self._is_inexact(words, granted),
        )
        if shell.programs:
            return self._examined(part, words, program, granted)
        self._moves += bool(self.files) and program[0].plain in _MOVERS
        return part

    def _examined(
        self,
        part: Part,
        words: Sequence[Word],
        program: Sequence[Word],
        granted: Sequence[Word],
    ) -> Part:
        """Return *part* with what is known of its program; note the files it opens."""
        shell = self.shell
        outer = shell.programs.get(words[0].plain)
        if outer is not None and outer.runs:
            program = words
        known = examine(program, shell)
        self._moves += known.moves
        self._stays += known.stays
        self.files += (
            Redirection(file.name, file.tool == shell.writes, file.tool, file.guarded)
            for file in known.opened
        )
        doubtful: tuple[str, ...] = ()
        script = _script(program)
        if script is not None:
            inside = read_command(script, shell)
            doubtful = tuple(
                reading
                for each in inside.parts
                for reading in (each.text, *each.readings, *each.doubtful)
                if reading.split(" ", 1)[0].rsplit("/", 1)[-1] in shell.scripted
            )
            self.files += (file for file in inside.redirections if file.tool == shell.removes)
        return attrs.evolve(
            part,
            doubtful=doubtful,
            harmless=not self.script.opaque
            and (
                self._is_harmless(known, words, program, granted)
                or (len(words) == 1 and is_safe_assignment(words[0], shell))
            ),
        )

    def _is_inexact(self, words: Sequence[Word], granted: Sequence[Word]) -> bool:
        """Whether blanks were folded, or a wrapper will add arguments."""
        behind = len(words) - len(granted)
        return ("  " in self.text and as_written(words) not in self.text) or any(
            word.plain in self.shell.granting and self.shell.granting[word.plain].appends
            for word in words[:behind]
        )

    def _is_harmless(
        self,
        known: Examined,
        words: Sequence[Word],
        program: Sequence[Word],
        granted: Sequence[Word],
    ) -> bool:
        if not known.harmless or words[0].plain in _TIMED:
            return False
        if program is not words and len(granted) != len(program):
            return False  # behind a wrapper that only rules which deny look through
        if known.direct and len(program) != len(words):
            return False
        return all(
            word.literal or (word.vetted and all(self._harmless[slice(*word.inner)]))
            for word in words
        )


_NAME = re.compile(r"[\w./+-]+")
_TIMED = frozenset({"time"})


def _somewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change of folder: nobody knows which."""
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return attrs.evolve(file, target=None) if relative else file


def _script(words: Sequence[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``."""
    if len(words) > 3 and words[0].plain == "busybox":
        words = words[1:]
    if len(words) > 2 and words[0].plain.rsplit("/", 1)[-1] in _SHELLS:
        taken = False
        for word in words[1:]:
            if re.fullmatch(r"-[a-z]*c[a-z]*", word.plain):
                taken = True
            elif taken and not word.plain.startswith("-"):
                return word.plain
    return None
