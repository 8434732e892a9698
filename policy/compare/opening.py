"""Commands that open files of which two sides say different things, in scripts too.

What a command gets is the strictest of what its parts get and the files it opens. Where two sides
differ in a file, some command shows it just when one that opens this file is granted more than the
stricter side grants of the file. For a redirection any command will do, so of all commands one of
those that are granted most; a file that a program opens as an operand needs one of the programs
that open such files, alone, as lines spell it out, or behind what lines name before it.

A host may look into scripts: a file that one opens makes it doubtful where a rule denies the file.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, product
from typing import Final

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.reader import SHELLS
from policy.commands.words import basename
from policy.compare.auto_allowed import opening_none, read_alike, sample_of
from policy.compare.lists import View, start_of
from policy.compare.prefixes import has_other_texts
from policy.compare.witness import CHANGES, Difference, Effects, weaker
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern, freeze
from policy.tables.dialect import Dialect

__all__ = ["Openings", "reading"]


# Lines whose commands are tried with each file.
_LINES: Final = 200


def _runners(views: Sequence[View], granting: Iterable[Pattern]) -> Iterator[Pattern]:
    """Yield what may run a script: a shell that some list allows, and lines that name one."""
    for name in sorted(SHELLS, key=lambda name: (name != "bash", name)):
        text = f"{name} -c 'q7z q7y'"
        if any(view.effect(view.automaton.first(text)) is Effect.ALLOW for view in views):
            yield Pattern.text(f"{name} -c *")
            break
    for pattern in granting:
        words = start_of(pattern).split()
        if not pattern.exact and any(basename(word) in SHELLS for word in words):
            yield pattern


def script_effects(decisions: Iterable[Decision]) -> Effects:
    """Return what both sides say of a script that opens a file which they decide so."""
    before, after = (
        Effect.DENY if each.effect is Effect.DENY and each.reason is Reason.RULE else Effect.ALLOW
        for each in decisions
    )
    return before, after


# Stands for a file in a command that opens it.
_FILE = "q7w"


class Openings:
    """Commands of some lists that open files.

    Args:
        views: the lists.
        dialect: how commands are read, and names of files.
        ask: what a command gets of both sides.

    """

    def __init__(
        self,
        views: Sequence[View],
        dialect: Dialect,
        ask: Callable[[str], Difference],
    ) -> None:
        self._views = views
        self._dialect = dialect
        self._shell = evolve(dialect.shell, cwd="")
        self._ask = ask
        granting = dict.fromkeys(
            pattern
            for effect in (Effect.ALLOW, Effect.ASK)
            for view in views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if entry.effect is effect
        )
        self._granting = list(islice(granting, _LINES))
        self._allowed = {
            start_of(pattern)
            for view in views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if entry.effect is Effect.ALLOW
        }
        if any(view.default is Effect.ALLOW for view in views):
            self._allowed.add("")
        scripted = self._shell.kinds.scripted
        self._runners = [*_runners(views, self._granting)] if scripted else []
        self.exhausted = len(granting) > _LINES
        self._untried = self._commands()
        # one command for each way in which both sides grant those tried so far
        self._granted: dict[object, str] = {}

    def redirected(self, tool: str, file: str) -> Iterator[str]:
        """Yield commands that are redirected to *file*, a canonical name, as a call of *tool*."""
        if tool not in (self._shell.files.output, self._shell.files.input):
            return
        for name in self._spelled(file):
            for command in self._most_granted():
                yield from _redirected(command, tool, name, self._shell)

    def of(self, tool: str, file: str, wanted: Collection[Effects]) -> Iterator[str]:
        """Yield commands that open *file*, a canonical name, as a call of *tool* by an operand.

        Those are left out that are no change *wanted*: where each is of what one side allows,
        a program that runs unasked on neither side, and that no rule allows.
        """
        openers = _openers(self._shell).get(tool, {})
        known = list(openers)
        if all(Effect.ALLOW in each for each in wanted):
            known = [text for text in known if openers[text] or self._allows(text)]
        names = [*self._spelled(file)]
        for name in names:
            yield from self._with(name, known)
        for name in names if self._runners else ():
            yield from self._scripted(tool, name, openers)

    def _scripted(self, tool: str, name: str, openers: Iterable[str]) -> Iterator[str]:
        programs: dict[str, str] = {}
        for text in openers:
            programs.setdefault(text.partition(" ")[0], text.replace(_FILE, name))
        redirected = _redirected("q7z", tool, name, self._shell)
        for command in (*redirected, *programs.values()):
            script = shlex.quote(command)
            for runner in self._runners:
                yield from (freeze(runner, each) for each in (script, f"-c {script}"))

    def _allows(self, text: str) -> bool:
        """Whether a rule may allow a command, by how both start, whichever file it names."""
        text = text.partition(_FILE)[0]
        return any(text.startswith(start) or start.startswith(text) for start in self._allowed)

    def changes(self, file: Difference) -> set[Effects]:
        """Return what commands can show that open a file of which both sides say this."""
        return set[Effects]().union(*map(self.of_effects, self._effects(file)))

    def least(self, file: Difference) -> set[Effects]:
        """Return the same but for what they show without the file."""
        return weaker(self._effects(file))

    def _effects(self, file: Difference) -> Iterator[Effects]:
        """Yield what both sides say of a file, alone and in a script."""
        yield file.effects
        if self._runners:
            yield script_effects((file.before, file.after))

    def of_effects(self, file: Effects) -> set[Effects]:
        """Return the same of a file with these effects that stands in no script."""
        rest = (self._ask(text).effects for text in self._most_granted())
        return {(file[0] & was, file[1] & now) for was, now in rest} & CHANGES

    def unknown(self, tools: Iterable[str]) -> Iterator[str]:
        """Yield commands that open unknown files, each as a call of one of *tools*.

        One of each program.
        """
        texts: dict[str, str] = {}
        for text in chain.from_iterable(_openers(self._shell).values()):
            texts.setdefault(text.partition(" ")[0], text)
        for form, text in product(_FORMS, texts.values()):
            yield from (form.format(text.replace(_FILE, name)) for name in ("$x", "q7z"))
        for tool in tools:
            for command in self._most_granted():
                yield from _redirected(command, tool, "$x", self._shell)

    def _with(self, name: str, openers: Iterable[str]) -> Iterator[str]:
        known = [text.replace(_FILE, name) for text in openers]
        yield from known
        for pattern in self._granting:
            yield freeze(pattern, name)
            start = pattern.tokens[0] if pattern.tokens else ""
            if has_other_texts(pattern, self._shell):
                before = start if isinstance(start, str) else ""
                yield from filter(pattern.matches, (before + text for text in known))

    def _most_granted(self) -> Iterator[str]:
        """Yield one command for each way in which both sides grant commands that open nothing."""
        yield from [*self._granted.values()]
        for text in self._untried:
            decided = self._ask(text)
            way = tuple(
                (each.effect, bool(each.because)) for each in (decided.before, decided.after)
            )
            if way not in self._granted:
                self._granted[way] = text
                yield text

    def _commands(self) -> Iterator[str]:
        yield "q7z"
        yield from opening_none(self._shell)
        yield from (freeze(pattern, "q7z") for pattern in self._granting)

    def _spelled(self, file: str) -> Iterator[str]:
        """Yield how a command may name a file."""
        below = self._dialect.cwd.rstrip("/") + "/"
        if file.startswith(below):
            yield shlex.quote(file.removeprefix(below))
        yield shlex.quote(file or "/")


def _redirected(command: str, tool: str, name: str, shell: Shell) -> Iterator[str]:
    for sign, each in ((">", shell.files.output), ("<", shell.files.input)):
        if each == tool:
            yield f"{command} {sign} {name}"


@lru_cache(maxsize=16)
def reading(shell: Shell) -> str:
    """Return a program that only reads the file that it is given."""
    texts = _openers(shell).get(shell.files.reads, {})
    return next((text.partition(" ")[0] for text in texts if text.count(" ") == 1), "cat")


@lru_cache(maxsize=16)
def _openers(shell: Shell) -> dict[str, dict[str, bool]]:
    """Return commands that open a file, by the tool that this is a call of, the harmless first.

    Each with whether it is harmless.
    """
    found: dict[str, dict[str, bool]] = {}
    for text in _calls("", shell.programs):
        command = read_alike(text, shell)
        for file in command.redirections:
            if file.target == _FILE:
                harmless = all(part.harmless for part in command.parts)
                found.setdefault(file.tool, {})[text] = harmless
    return {
        tool: dict(sorted(texts.items(), key=lambda each: not each[1]))
        for tool, texts in found.items()
    }


# How a command stands where no one knows what it opens.
_FORMS: Final = ("{}", "cd q7y && {}", "(({}", "cd q7y & {}")


def _calls(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    """Yield calls with a file."""
    for name, program in programs.items():
        for form in (program, *program.forms):
            if form.reads is form.writes is Files.NONE and not form.removes:
                continue
            for option in dict.fromkeys(("", sample_of(form.needs))):
                first = dict.fromkeys((sample_of(form.first), "q7z"))
                for operands in (*((one, _FILE) for one in first), (_FILE, "q7z")):
                    rest = " ".join(filter(None, (option, *operands)))
                    yield f"{before}{name} {rest}"
        yield from _calls(f"{before}{name} ", program.subcommands)
