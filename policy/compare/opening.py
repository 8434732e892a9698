"""Commands that open files which two sides decide differently, in scripts too.

A command gets the strictest effect of its parts and of the files it opens. Where two sides differ
in a file, a command shows it just when a command that opens this file is granted more than the
stricter side grants the file. For a redirection any command will do, so one of the most granted
commands is tried. A file that is an operand needs a program that opens such files: alone, as lines
spell it out, or behind words that lines name before it.

A host may look into scripts: a file that one opens makes it doubtful where a rule denies the file.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, product
from typing import Final

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.reader import SHELLS, Redirection
from policy.commands.words import basename
from policy.compare.auto_allowed import FILE, WORD, opening_none, read_alike, sample_of
from policy.compare.commands import CommandPair
from policy.compare.lists import start_of
from policy.compare.pair import OVERLAPS
from policy.compare.prefixes import granted_shells, has_other_texts
from policy.compare.witness import CHANGES, Difference, Effects, weakened
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern, freeze
from policy.tables.command_outcome import evaluator_of

# How many lines have commands tried with each file, and how many files of one outcome are tried.
_LINES: Final = 200
_ALIKE: Final = 3

_DENIED_BY_RULE: Final = (Effect.DENY, Reason.RULE)

# Forms of a command in which it is unknown which file the command opens.
_UNKNOWN: Final = ("{}", f"cd {WORD} && {{}}", "(({}", f"cd {WORD} & {{}}")


def opening_differences(
    pair: CommandPair, opened: Mapping[str, Sequence[Difference]], known: Iterable[Effects]
) -> Iterator[Difference]:
    """Yield a difference of commands that open files for each change that has one.

    A redirection shows each change of a file, even if other commands have shown that change: no
    other command names the rules about files that decide it.

    *opened* has the differences of files, by the tool whose calls they are; *known* changes need
    no further difference.
    """
    shown = weakened({*known})
    for shell in (pair.shells or (pair.shell,)) if opened else ():
        openings = _Openings(pair, evolve(shell, cwd=""))
        for tool, files in opened.items():
            alike: dict[object, list[Difference]] = {}  # files, by the effects and their reasons
            for each in files:
                key = tuple((one.effect, one.reason) for one in (each.before, each.after))
                alike.setdefault(key, []).append(each)
            for file in chain(*(some[:_ALIKE] for some in alike.values())):
                yield from openings.of(tool, file, shown)
        yield from openings.of_unknown(opened, shown)


class _Openings:
    """Commands that open files, made from the lines of both sides and from a shell's programs."""

    def __init__(self, pair: CommandPair, shell: Shell) -> None:
        self._pair = pair
        self._shell = shell
        granting = dict.fromkeys(
            pattern
            for effect in (Effect.ALLOW, Effect.ASK)
            for view in pair.views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if entry.effect is effect
        )
        self._granting = list(islice(granting, _LINES))
        self._exhausted = len(granting) > _LINES
        scripted = shell.kinds.scripted
        self._runners = [*_runners(pair, self._granting, shell)] if scripted else []
        granted = (freeze(pattern, WORD) for pattern in self._granting)
        self._untried = chain([WORD], opening_none(shell), granted)
        # one command for each way in which both sides grant those tried so far
        self._granted: dict[object, str] = {}

    def of(self, tool: str, file: Difference, shown: set[Effects]) -> Iterator[Difference]:
        """Yield differences of commands that open *file* as *tool* does; add them to *shown*.

        With a file a command shows the change of the file, a weaker change, or its own change.
        """
        path = str(next(iter(file.call.values()), WORD))
        below = self._pair.shape.dialect.cwd.rstrip("/") + "/"
        names = [shlex.quote(path.removeprefix(below))] * path.startswith(below)
        names.append(shlex.quote(path or "/"))
        redirected = [
            text
            for name in names
            for command in self._most_granted()
            for text in _redirected(command, tool, name, self._shell)
        ]
        if not self._shell.whole:  # else a file alone shows nothing
            asked = map(self._pair.asked, redirected)
            found = next((each for each in asked if each.effects == file.effects), None)
            if found is not None:
                shown |= weakened([found.effects])
                yield found
        effects = {file.effects}
        if self._runners:  # a script that opens a file is denied by a rule alone
            before, after = (
                Effect.DENY if (each.effect, each.reason) == _DENIED_BY_RULE else Effect.ALLOW
                for each in (file.before, file.after)
            )
            effects.add((before, after))
        wanted = set[Effects]().union(*map(self._beside, effects))
        operands = (text for name in names for text in self._with(tool, name))
        scripts = (text for name in names for text in self._scripted(tool, name))
        yield from self._showing(chain(redirected, operands, scripts), shown, wanted)
        if self._exhausted and not shown >= wanted:
            self._pair.why[OVERLAPS] = None

    def of_unknown(self, tools: Iterable[str], shown: set[Effects]) -> Iterator[Difference]:
        """Yield differences of commands that open unknown files, by one command per program."""
        changes = {tool: self._of_unknown(tool) for tool in tools}
        unlike = {tool: pairs for tool, pairs in changes.items() if not weakened(pairs) <= shown}
        wanted = set[Effects]().union(*map(self._beside, chain(*unlike.values())))
        yield from self._showing(self._opening_unknown(unlike), shown, wanted)

    def _of_unknown(self, tool: str) -> set[Effects]:
        """Return the changes of a file of unknown name from one side to the other."""
        found = set[Effects]()
        for shadowed in (False, True):
            file = Redirection(None, writes=False, tool=tool, shadowed=shadowed)
            before, after = (
                min(
                    (evaluator_of(row).file_outcome(row, file).effect for row, _ in lookup.rows),
                    default=Effect.ALLOW,
                )
                for lookup in self._pair.lookups
            )
            found.add((before, after))
        return found & CHANGES

    def _opening_unknown(self, tools: Iterable[str]) -> Iterator[str]:
        texts: dict[str, str] = {}
        for text in chain.from_iterable(_openers(self._shell).values()):
            texts.setdefault(text.partition(" ")[0], text)
        for form, text in product(_UNKNOWN, texts.values()):
            yield from (form.format(text.replace(FILE, name)) for name in ("$x", WORD))
        for tool in tools:
            for command in self._most_granted():
                yield from _redirected(command, tool, "$x", self._shell)

    def _showing(
        self, texts: Iterable[str], shown: set[Effects], wanted: Collection[Effects]
    ) -> Iterator[Difference]:
        """Yield a difference for each change not *shown* so far, until all *wanted* ones are."""
        for text in texts:
            if shown.issuperset(wanted):
                return
            found = self._pair.asked(text)
            if found.effects in CHANGES and found.effects not in shown:
                shown |= weakened([found.effects])
                yield found

    def _beside(self, file: Effects) -> set[Effects]:
        """Return the changes of commands that open a file with the effects *file*."""
        rest = (self._pair.asked(text).effects for text in self._most_granted())
        return {(file[0] & was, file[1] & now) for was, now in rest} & CHANGES

    def _with(self, tool: str, name: str) -> Iterator[str]:
        """Yield commands that open the file *name* as an operand."""
        known = [text.replace(FILE, name) for text in _openers(self._shell).get(tool, ())]
        yield from known
        for pattern in self._granting:
            yield freeze(pattern, name)
            if has_other_texts(pattern, self._shell):
                yield from filter(pattern.matches, (start_of(pattern) + text for text in known))

    def _scripted(self, tool: str, name: str) -> Iterator[str]:
        """Yield scripts that open a file, by one command of each program."""
        programs: dict[str, str] = {}
        for text in _openers(self._shell).get(tool, ()):
            programs.setdefault(text.partition(" ")[0], text.replace(FILE, name))
        redirected = _redirected(WORD, tool, name, self._shell)
        for command in (*redirected, *programs.values()):
            script = shlex.quote(command)
            for runner in self._runners:
                yield from (freeze(runner, each) for each in (script, f"-c {script}"))

    def _most_granted(self) -> Iterator[str]:
        """Yield one command for each way in which both sides grant commands that open nothing."""
        yield from [*self._granted.values()]
        for text in self._untried:
            decided = self._pair.asked(text)
            way = tuple(
                (each.effect, bool(each.because)) for each in (decided.before, decided.after)
            )
            if way not in self._granted:
                self._granted[way] = text
                yield text


def _runners(pair: CommandPair, granting: Iterable[Pattern], shell: Shell) -> Iterator[Pattern]:
    """Yield patterns that run a script: of a shell that some list allows, and of lines."""
    names = (name for view in pair.views for name in granted_shells([view], shell))
    if name := next(names, ""):
        yield Pattern.text(f"{name} -c *")
    for pattern in granting:
        words = start_of(pattern).split()
        if not pattern.exact and any(basename(word) in SHELLS for word in words):
            yield pattern


def _redirected(command: str, tool: str, name: str, shell: Shell) -> Iterator[str]:
    for sign, each in ((">", shell.files.output), ("<", shell.files.input)):
        if each == tool:
            yield f"{command} {sign} {name}"


@lru_cache(maxsize=16)
def reading(shell: Shell) -> str:
    """Return a program that only reads the file that it is given."""
    texts = _openers(shell).get(shell.files.reads, ())
    return next((text.partition(" ")[0] for text in texts if text.count(" ") == 1), "cat")


@lru_cache(maxsize=16)
def _openers(shell: Shell) -> dict[str, list[str]]:
    """Return commands that open a file, by the tool that this is a call of, the harmless first."""
    found: dict[str, dict[str, bool]] = {}
    for text in _calls("", shell.programs):
        command = read_alike(text, shell)
        for file in command.redirections:
            if file.target == FILE:
                found.setdefault(file.tool, {})[text] = all(part.harmless for part in command.parts)
    return {tool: sorted(texts, key=lambda text: not texts[text]) for tool, texts in found.items()}


def _calls(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    """Yield calls of programs with a file as an operand."""
    for name, program in programs.items():
        for form in (program, *program.forms):
            if form.reads is form.writes is Files.NONE and not form.removes:
                continue
            for option in dict.fromkeys(("", sample_of(form.needs))):
                first = dict.fromkeys((sample_of(form.first), WORD))
                for operands in (*((one, FILE) for one in first), (FILE, WORD)):
                    rest = " ".join(filter(None, (option, *operands)))
                    yield f"{before}{name} {rest}"
        yield from _calls(f"{before}{name} ", program.subcommands)
