"""A shell command, taken apart into what each rule must speak of.

A command is decided part by part: denied when any part is, allowed only when
every part is. `policy.shell.plain` reads commands of plain words, `policy.shell.bash` what a
host looks into beyond them, `policy.shell.scanner` the rest: far enough to deny what is
inside, never to vouch for it. No rule grants a part whose ``grantable`` is False.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import attrs

from policy import limits
from policy.dialect import Shell
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import Gap, OneOf, Token
from policy.shell import bash, doubts, tracing
from policy.shell.parts import Command, Part, Redirection
from policy.shell.plain import read_plain
from policy.shell.programs import Examined, examine, is_indirect
from policy.shell.readings import (
    KEYWORDS,
    as_granted,
    as_written,
    behind_all,
    is_assignment,
    is_expanded,
    may_vanish,
    readings,
    without_vanishing,
)
from policy.shell.scanner import Scanner
from policy.shell.words import Script, Word

__all__ = ["Command", "Part", "Redirection", "compound", "read_command"]


_ACTED_ON = OneOf(frozenset(";&|<>()`$\\{}\"'#\t\n\r\v\f\0"))


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
        *(((Gap.ANY, " =", Gap.ANY), ("-", Gap.ANY)) if shell.control else ()),
        (" ", Gap.ANY),
        (Gap.ANY, " "),
        (Gap.ANY, "  ", Gap.ANY),
        *(((Gap.ANY, OneOf(doubts.ODD_BLANKS), Gap.ANY),) if shell.control else ()),
        (Gap.PART, OneOf(frozenset("/=!~*?[")), Gap.ANY),  # in the first word
        *((program,) for program in programs),
        *((program + " ", Gap.ANY) for program in programs),
        *(_traced(shell) if shell.traced else ()),
    )


def _traced(shell: Shell) -> Iterator[tuple[Token, ...]]:
    """Yield patterns of plain commands that are read all the same, for the files they may name."""
    yield (Gap.ANY, OneOf(frozenset("/~")), Gap.ANY)
    yield (Gap.ANY, "..", Gap.ANY)
    for program in sorted(shell.interpreters | shell.movers):
        yield (program,)
        yield (program + " ", Gap.ANY)


@cache
def _compound(shell: Shell) -> Automaton:
    return Automaton(compound(shell), " ")


def read_command(text: str, shell: Shell) -> Command:
    """Return the parts and redirections of *text*. Never fails; never vouches for a guess."""
    if not 0 < shell.longest < len(text) and _compound(shell).first(text) == NO_MATCH:
        return Command((Part(text),))
    short = len(text) <= limits.COMMAND_PIECES
    script = (read_plain(text) if short else None) or _read_at_length(text, shell)
    if shell.control:
        script.unread |= doubts.has_control(text)
        if "#" in text and doubts.is_doubtful(text):
            # What looks like a comment may be none to whoever cannot read the rest.
            script.commands += Scanner(text.replace("#", " ")).run().commands
        script.opaque |= script.unread or 0 < shell.longest < len(text) or doubts.is_doubtful(text)
        script.opaque |= script.swallowed or (
            "\n" in text and any(map(doubts.hides, script.commands))
        )
    read = _Reading(text, script, shell)
    read.run()
    return Command(
        tuple(read.parts),
        tuple(read.files),
        _whole(text, script) if shell.control and not read.astray else (),
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


def _whole(text: str, script: Script) -> tuple[str, ...]:
    """Return the command as a whole, as rules that spell it out know it."""
    whole = text.strip(" \t\n")
    if whole.startswith("$"):
        return ()  # no rule spells out a program that nobody knows
    if len(script.commands) > 1 and "|" in whole and not re.search(r"&&|\|\||[;&\n]", whole):
        return (whole, re.sub(r"\s*\|\s*", " | ", whole))
    return (whole,)


# A file of which nothing is known, and that no rule allows.
_GUARDED = Redirection(None, writes=False, guarded=True)

# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())


# Folders below which a name is looked for behind changes of folder.
_FOLDERS = 6

# Commands of a script that are looked for in its text; of more none is taken to be as written.
_LOOKED_UP = 1000


class _Reading:
    """What one script comes to: parts, and the files they open."""

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self.text = text
        self.script = script
        self.shell = shell
        self.parts: list[Part] = []
        self.files = [Redirection(target.name, target.writes) for target in script.targets]
        if shell.control:
            self.files += [
                Redirection(None, target.writes)
                for target in script.targets
                if target.name is not None and is_indirect(target.name)
            ]
        self.astray = False  # whether one command is told to go to several folders
        self._moves = self._stays = 0
        self._folders: list[str] = []  # that what follows may run in
        self._relative = self._shadowed = self._unchecked = self._untraced = False
        self._harmless: list[bool] = []  # of every command, by its number
        self._quiet = True  # whether all would be, if nothing of the script were opaque
        # Looked for once: a long command has as many parts as would look for them.
        self._fed = "<<<" in text
        self._spaced = "  " in text
        self._equals = " =" in text
        self._many = len(script.commands) > _LOOKED_UP

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
            self.files += self._below_folders(self.files[:redirected])
            self.files += [_somewhere(file) for file in self.files[:redirected]]
            self.files += [_somewhere(file) for file in self.files[redirected:] if file.writes]
        if self._unchecked or self._moves > 1 or (self._moves and self._stays):
            self.parts = [
                attrs.evolve(part, grantable=False, harmless=False) for part in self.parts
            ]
        if self._shadowed or (self._moves and self._relative):
            self.files.append(Redirection(None, writes=False, tool=self.shell.reads, shadowed=True))
        if self.shell.control and "&" in self.text and _BACKGROUND.search(self.text):
            if self._quiet:
                self.parts = [attrs.evolve(part, deferred=True) for part in self.parts]
            if self._moves:
                # Nobody waits for it, so nobody knows where what follows runs.
                self.files.append(_GUARDED)
        if self.shell.traced and self._is_untraced():
            self.files.append(_GUARDED)
        if self.shell.control and "((" in self.text and _NESTED_OR_COUNTED.search(self.text):
            self.files.append(_GUARDED)
        elif self.shell.control and self.script.broken and _is_unclosed(self.text):
            self.files.append(_GUARDED)  # who knows where it ends, and what is removed in it
        if self.shell.control and not self.parts and not self.files and not self.script.opaque:
            self.parts.append(Part("", harmless=True))  # nothing runs

    def _is_untraced(self) -> bool:
        script = self.script
        vouched = all(part.grantable for part in self.parts)
        return self._untraced or self._unchecked or script.opaque or not vouched

    def _part(self, number: int, words: list[Word]) -> Part:
        shell = self.shell
        program = behind_all(words, shell)
        granted = words if program is words else as_granted(words, shell)
        doubtful: tuple[str, ...] = ()
        harmless = False
        if shell.programs:
            harmless, doubtful = self._effects(words, program)
        else:
            self._moves += bool(self.files) and program[0].plain in _MOVERS
        around = len(words) - len(program)
        grantable = (
            not self.script.opaque
            and all(word.literal or word.vetted for word in words)
            and around < limits.NESTING
            and not doubts.is_evaluated(program)
            and not any(is_expanded(word) for word in words[: around + 1])
            and (len(words) == 1 or not all(map(is_assignment, words)))
        )  # nobody vouches for what is not known, the name of the program least of all
        text, known, written = self._texts(words, program, granted)
        if shell.control:
            name = granted[0]
            grantable &= number not in self.script.led and not name.plain.startswith("-")
            grantable &= name.literal and "$" not in name.raw and bool(name.plain)
            if (
                program is not words
                or program[0].plain in shell.odd
                or name.plain[:1] == "-"
                or is_assignment(name)
            ):
                self._unchecked |= doubts.is_unchecked(words, shell)
            if self._equals:
                self._unchecked |= doubts.has_half_assignment(words)
        elif granted[0].raw in KEYWORDS or is_assignment(granted[0]) or _is_quoted(granted[0]):
            grantable = False  # no program, or a quoted or escaped one
        inexact = shell.control and self._is_inexact(words, granted)
        return Part(text, known, grantable, harmless, doubtful, written, inexact)

    def _texts(
        self, words: Sequence[Word], program: Sequence[Word], granted: Sequence[Word]
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return the text for rules that allow, those for rules that deny, others that allow."""
        shell, text, name = self.shell, as_written(words), granted[0]
        if (
            program is words
            and name.plain not in shell.wrappers
            and "/" not in name.plain
            and not _is_quoted(name)
            and not is_assignment(name)
        ):
            plain = " ".join([word.plain for word in words])
            vanishing = without_vanishing(words) if shell.control and may_vanish(text) else ()
            return text, (() if plain == text and not vanishing else (plain, *vanishing)), ()
        if shell.control and all(map(is_assignment, words)):
            return "", (), (text,)  # no command
        written: dict[str, None] = {}
        if shell.control:
            written = dict.fromkeys((text, as_written(granted)))
            if _is_quoted(name) and _NAME.fullmatch(name.plain):
                granted = [attrs.evolve(name, raw=name.plain), *granted[1:]]
        granted_text = as_written(granted)
        named = dict.fromkeys((*readings(words, shell), text))
        named.pop(granted_text, None)
        written.pop(granted_text, None)
        return granted_text, tuple(named), tuple(written)

    def _effects(
        self, words: Sequence[Word], program: Sequence[Word]
    ) -> tuple[bool, tuple[str, ...]]:
        """Return whether a command is harmless, and what is doubtful; note the files it opens."""
        shell, script = self.shell, _script(program)
        doubtful: tuple[str, ...] = ()
        if script is not None:
            inside = read_command(script, shell)
            doubtful = tuple(
                reading
                for each in inside.parts
                for reading in (each.text, *each.readings, *each.doubtful)
                if reading.split(" ", 1)[0].rsplit("/", 1)[-1] in shell.scripted
            )
            self.files += (file for file in inside.redirections if file.tool == shell.removes)
        if program is not words:
            outer = shell.programs.known.get(words[0].plain)
            if outer is not None and outer.runs:
                program = words
        known = examine(program, shell)
        if shell.traced:
            self._untraced |= tracing.is_untraced(words, program, known, shell)
            self.files += (
                Redirection(name, writes=False, tool=shell.reads)
                for name in tracing.named(words, program, shell)
            )
        if known is None:
            harmless = len(words) == 1 and self._is_set(words[0])
            self._quiet &= harmless
            return harmless, doubtful
        behind = self._moves > 0
        self._moves += known.moves
        self.astray |= known.moves > 1
        self._stays += known.stays
        self._relative |= known.relative
        self._shadowed |= known.shadowed
        for file in known.opened:
            writes = file.tool == shell.writes
            self.files.append(Redirection(file.name, writes, file.tool, file.guarded))
            if behind:
                self.files += self._below_folders(self.files[-1:])
        if folder := known.folder:
            self._folders += [folder, *(f"{each}/{folder}" for each in self._folders[:2])]
        harmless = self._is_harmless(known, words, program)
        self._quiet &= harmless
        return harmless and not self.script.opaque, doubtful

    def _below_folders(self, files: Sequence[Redirection]) -> list[Redirection]:
        """Return files as what denies them knows them behind a change of folder."""
        return [
            attrs.evolve(file, target=f"{folder}/{file.target}")
            for file in files
            if file.target and file.target[:1] not in "/~"
            for folder in self._folders[:_FOLDERS]
        ]

    def _is_set(self, word: Word) -> bool:
        """Whether a variable is set, and to what the host can tell, that changes nothing."""
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self.script.opaque
            and is_assignment(word)
            and name in self.shell.variables
            and name not in self.shell.locales  # by which what follows is found
            and (word.literal or (word.vetted and all(self._harmless[slice(*word.inner)])))
        )

    def _is_inexact(self, words: Sequence[Word], granted: Sequence[Word]) -> bool:
        """Whether blanks were folded, or a wrapper will add arguments."""
        if self._spaced and (self._many or as_written(words) not in self.text):
            return True
        if self._fed:
            return True  # what is read is no argument, and yet part of the command
        return any(
            wrapper.appends
            for word in words[: len(words) - len(granted)]
            if (wrapper := self.shell.granting.known.get(word.plain))
        )

    def _is_harmless(
        self,
        known: Examined,
        words: Sequence[Word],
        program: Sequence[Word],
    ) -> bool:
        if not known.harmless or doubts.is_evaluated(program):
            return False
        behind = as_granted(words, self.shell, harmless=True) if program is not words else program
        if len(behind) != len(program):
            return False  # behind a wrapper that only rules which deny look through
        around = words[: len(words) - len(program)]
        if known.direct and (around or _is_quoted(words[0])):
            return False
        if around and not self._is_quiet(around):
            return False
        return all(
            word.literal or (word.vetted and all(self._harmless[slice(*word.inner)]))
            for word in words
        )

    def _is_quiet(self, around: Sequence[Word]) -> bool:
        """Whether a harmless program is as harmless behind these words."""
        wrappers = [self.shell.granting.known.get(word.plain) for word in around]
        if any(wrapper and not wrapper.quiet for wrapper in wrappers):
            return False
        bare = any(wrapper and wrapper.bare for wrapper in wrappers)
        return not bare or not any(word.plain.startswith("-") for word in around)


# `((` begins a sum, or two groups: with quotes or a second group, readers differ.
_NESTED_OR_COUNTED = re.compile(
    r"(?:^|[\s;&|(){}])\(\([^()]*(?:['\"]|\([^()]*\)[^()]*['\"]|\)[^)])|\$\(\([^)]*\Z"
)
_COMMENT = re.compile(r"(?:^|(?<=[\s;&|()]))#[^\n]*")
_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")


def _is_unclosed(text: str) -> bool:
    """Whether a substitution or a sum begins in *text* and does not end, but in a comment."""
    text = _COMMENT.sub("", text)
    return text.count("$(") > text.count(")") or ("((" in text and "))" not in text)


def _is_quoted(word: Word) -> bool:
    return word.raw != word.plain


_NAME = re.compile(r"[\w./+-]+")


def _somewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change of folder: nobody knows which.

    One that is written is not believed to be where its name says it is, wherever that is.
    """
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return attrs.evolve(file, target=None) if relative or file.writes else file


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
