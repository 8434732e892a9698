"""One simple command, apart from the script around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import attrs

from policy.commands import ambiguities as doubts
from policy.commands import ambiguities as variables
from policy.commands.ambiguities import GUARDED, is_evaluated
from policy.commands.folders import Examined, examine, looks_for_one, planted
from policy.commands.knowledge import Shell
from policy.commands.match_texts import (
    KEYWORDS,
    as_granted,
    as_written,
    behind_all,
    exposed,
    feared,
    is_assignment,
    is_expanded,
    may_vanish,
    readings,
    reworded,
    shortened,
)
from policy.commands.opened import is_home_of_other
from policy.commands.parts import DIFFER, UNSEEN, Command, Doubt, Redirection
from policy.commands.words import SET_BY_SHELL, Script, Word
from policy.commands.wrappers import basename, carries_files, is_quiet
from policy.core import limits

if TYPE_CHECKING:
    from policy.commands.words import SimpleCommand

__all__ = [
    "BOXES",
    "SHELLS",
    "Alone",
    "Harmless",
    "Inner",
    "Texts",
    "alone",
    "changes_folder",
    "gives_removal",
    "is_harmless",
    "is_idle",
    "is_quoted",
    "is_unjudged",
    "judged",
    "removes",
    "removes_unknown",
    "script_of",
    "seems_to_remove",
    "shell_of",
    "spelled",
    "unread_options",
    "with_text",
]


# Programs that are given a script by an option, and those that are each of them.
SHELLS: Final = frozenset("bash sh zsh dash ksh mksh ash hush rbash".split())
BOXES: Final = frozenset({"busybox", "toybox"})
_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_NAMED: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)

_OWN_LETTERS: Final = re.compile(r"[abcefhiklmnoprstuvxBCDEHIOPT]*")
_SH: Final = frozenset({"sh", "bash", "rbash"})
_GIVES: Final = re.compile(r"-[A-Za-z]*c")
_KNOWN_NAME: Final = re.compile(
    r"--?(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|dump-(?:po-)?strings"
    r"|wordexp|pretty-print|help|version|rcfile|init-file)"
)


def shell_of(name: str) -> str:
    """Return the name of a shell without its folder, its version and capital letters."""
    return _VERSION.sub("", name.rsplit("/", 1)[-1].lower())


def script_of(words: Sequence[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``: behind its options, each with its values."""
    if len(words) > 1 and shell_of(words[0].plain) in BOXES and shell_of(words[1].plain) in SHELLS:
        words = words[1:]
    if len(words) < 3 or shell_of(words[0].plain) not in SHELLS:
        return None
    taken, index = False, 1
    while index < len(words):
        text = words[index].plain
        index += 1
        if text in ("-", "--"):
            break
        if len(text) < 2 or text[0] not in "-+":
            index -= 1
            break
        if _NAMED.fullmatch(text):
            index += text.endswith("file")
        else:
            taken |= text[0] == "-" and "c" in text
            index += text.count("o") + text.count("O")
    return words[index].plain if taken and index < len(words) else None


def unread_options(words: Sequence[Word]) -> str | None:
    """Return all that a shell is given, where hosts do not know an option of it; else None.

    Any of it may be a script then, where an option says that there is one.
    """
    if len(words) > 1 and shell_of(words[0].plain) in BOXES and shell_of(words[1].plain) in SHELLS:
        words = words[1:]
    name = shell_of(words[0].plain)
    if name not in SHELLS:
        return None
    given = [word.plain for word in words[1:]]
    if not any(_GIVES.match(text) for text in given):
        return None
    return " ".join(given) if _has_unknown_option(name, given) else None


def _has_unknown_option(name: str, given: Sequence[str]) -> bool:
    index = 0
    while index < len(given):
        text = given[index]
        index += 1
        if text in ("-", "--") or len(text) < 2 or text[0] not in "-+":
            return False
        if name in _SH and _KNOWN_NAME.fullmatch(text):
            index += text.endswith("file")
            continue
        if text.startswith("--") or (name in _SH and not _OWN_LETTERS.fullmatch(text[1:])):
            return True
        if name.endswith("ksh") and re.search("[oO].", text):
            return True
        index += text.count("o") + text.count("O")
    return False


# Scripts that stand in an argument and remove files, as Claude Code 2.1.329 looks for them.
#
# It looks at the text alone: for a word that is `rm` or `rmdir` where a program may stand, or
# beside what runs others. Only such a script is judged as the command that it is.


_RUNNERS: Final = frozenset(
    "sudo doas exec command env nice nohup busybox time timeout stdbuf setsid ionice pkexec"
    " runuser eval xargs do then else elif if while until ! { coproc builtin noglob toybox trap"
    " watch flock chroot script".split()
)
_QUOTED: Final = re.compile(r"""\\[\s\S]|'[^']*'|"(?:[^"\\]|\\.)*\"""")
_PARTING: Final = re.compile(r"[\s;&|()`{}!]")
_DUPLICATED: Final = re.compile(r"(?<!\d)\d*[<>]&(?:\d+-?|-)(?![^\s;&|()])")
_OUTPUTS: Final = re.compile(r"(?<!\d)\d*[<>]&|&>>?|>\|")
_QUOTES: Final = re.compile(r"""\$(?=['"])|['"\\]""")
_STATEMENTS: Final = re.compile(r"[;&|()`{}\n!]|\$\(")
_REDIRECTS: Final = re.compile(r"\d*[<>]")
_REDIRECTS_NEXT: Final = re.compile(r"\d*[<>]+")
_ASSIGNS: Final = re.compile(r"\w+\+?=")
_REMOVAL: Final = re.compile(r"(?:\w*=)?rm(?:dir)?", re.IGNORECASE)
_SET_TO_REMOVAL: Final = re.compile(r"\w+=(?:\S*/)?rm(?:dir)?", re.IGNORECASE)
_OPTION: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*|-(?:exec|ok)(?:dir)?")
_GIVES_SCRIPT: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_LISTED: Final = re.compile(r"(?:^|,)rm(?:dir)?(?:,|\$)", re.IGNORECASE)
# A longer script is not judged.
_LONGEST: Final = 2000
# What only zsh puts something else for.
_OF_ZSH: Final = re.compile(
    r"(?:^|[\s;&|(){}])=(?!=)\S|\$\{?\w+\}?(?::[htrelquQxsaAcP&]|\[)|\bargv\b"
    r"|\$(?:[=~^]|\{[=~^(])|\(:"
)
_ALIAS: Final = re.compile(r"\balias\b")
_READ_BY: Final = re.compile(
    r"(?:^|[;&|\n({]\s*)(?:(?:do|then|else|elif|if|while|until)\s+)?"
    r"""IFS=(?:'[^']*'|"[^"]*"|[^\s;&|'"\\])*[ \t]+read\b"""
)
_PIECE: Final = re.compile(r"""(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\.)*")+""")
_BRACED: Final = re.compile(r"([^{]*)\{([^{}]*)\}(.*)", re.DOTALL)
_ITEMS: Final = re.compile(r",|\.\.")
_ENDS_IN_REMOVAL: Final = re.compile(r"(?:^|/)rm(?:dir)?\Z", re.IGNORECASE)
_LEADS: Final = re.compile(r"""\A["']?[/~$]|[{},\\'"]|\.\.""")
_FOLLOWS: Final = re.compile(r"""[~{},\\'"]""")
_ROOTED: Final = re.compile(r"""[$]|\A["']?/""")
_PATHS: Final = re.compile(r"[/~$*?\[]|\A\.\.?\Z|\brm")
_ASIDE: Final = re.compile(r"[\s\\]+")
_BLANK: Final = re.compile(r"\\[ntr]")
_CODED: Final = re.compile(r"\$'(?:\\'|[^'])*?\\[xuUc0-7]")
_EXPANSION: Final = re.compile(r"\$\{(\w+)[^{}]*\}")
# An argument of the script, which stands beside it.
_GIVEN: Final = re.compile(r"\$\{?[1-9@*]")


def removes(script: str) -> bool:
    """Return whether a script names a program that removes files where one may stand."""
    return any(map(_removes, _statements(script))) or any(map(_chooses, _pieces(script)))


def removes_unknown(text: str, commands: Iterable[SimpleCommand]) -> bool:
    """Return whether a statement of *text* seems to remove what a variable holds that may be any.

    Another program may run the removal: `find . -exec rm "$x" +`. *commands* are those of the
    text; one of them sets the variable.
    """
    names = {
        word.raw.partition("=")[0].rstrip("+")
        for command in commands
        for word in command.words
        if is_assignment(word) and not _is_harmless(word)
    }
    if not names:
        return False
    named = re.compile(rf"\$(?:{'|'.join(map(re.escape, names))})(?!\w)")
    statements = _statements(_EXPANSION.sub(r"$\1", text))
    return any(named.search(word) for words in statements for word in _removed(words))


def _is_harmless(assignment: Word) -> bool:
    """Return whether a variable is set to what is known, and is the name of no critical folder."""
    if assignment.guessed or not assignment.known:
        return False
    return assignment.plain.partition("=")[2].rstrip("/") not in ("", ".", "..", "~")


def judged(
    inside: Command, shell: Shell, *, whole: bool
) -> tuple[tuple[str, ...], list[Redirection]]:
    """Return what is doubtful of a script in an argument, and the files that it opens.

    Args:
        inside: the script as it was read.
        shell: what the host knows of commands.
        whole: whether all of it is judged; else nobody looks at more than what it removes.

    """
    readings = tuple(
        reading
        for each in inside.parts
        for reading in (each.text, *each.readings, *each.doubtful, *each.feared)
        if whole or basename(reading.partition(" ")[0]) in shell.kinds.scripted
    )
    # Nobody knows what it removes where no rule may allow it: that is asked for here too.
    kept = (GUARDED,) if whole and not shell.traced else ()
    tool = shell.files.removes
    removed = [f for f in inside.redirections if f.tool == tool or f in kept]
    others = [f for f in inside.redirections if whole and f not in removed]
    return readings, [*removed, *(attrs.evolve(f, scripted=True, part=None) for f in others)]


def seems_to_remove(words: Sequence[Word], script: Script) -> bool:
    """Return whether a command that is not understood seems to run a script that removes files.

    Any of its words may be the shell, and any the option that gives it a script: nobody knows
    which of them are quoted. What escapes stand for may be any program.
    """
    written = as_written(words)
    return any(_gives_removal(text) for text in {*_not_understood(written, script.doubts)})


def _gives_removal(text: str) -> bool:
    """Return whether a text names a shell, an option that gives it a script, and a removal."""
    known = [word for statement in _statements_of(_QUOTED.sub(_joined, text)) for word in statement]
    if not any(shell_of(word) in SHELLS for word in known):
        return False
    if not any(map(_GIVES_SCRIPT.fullmatch, known)):
        return False
    return removes(_BLANK.sub("\n", text)) or _CODED.search(text) is not None


def _not_understood(written: str, doubts: Iterable[Doubt]) -> Iterator[str]:
    """Yield the texts of the statements that doubts are about, of a command as it is *written*."""
    for doubt in doubts:
        if doubt.why == UNSEEN:
            if _ASIDE.sub("", doubt.text).startswith(_ASIDE.sub("", written)):
                yield doubt.text
        elif doubt.text in written and (doubt.why == DIFFER or "$'" in doubt.text):
            yield written


def _statements(script: str) -> Iterator[list[str]]:
    """Yield the words of what seems to be its statements, with what is quoted in one and not."""
    for text in (_QUOTED.sub(_joined, script), script):
        yield from _statements_of(text)


def _statements_of(text: str) -> Iterator[list[str]]:
    bare = _QUOTES.sub("", _OUTPUTS.sub(">", _DUPLICATED.sub(" ", text)))
    for statement in _STATEMENTS.split(bare):
        yield [*_words(re.split("[ \t]+", statement.strip(" \t")))]


def is_unjudged(script: str, words: Sequence[Word]) -> bool:
    """Return whether a host does not judge a script that removes files, whatever it removes.

    Args:
        script: its text.
        words: the command that runs it.

    """
    of_zsh = any(shell_of(word.plain) == "zsh" for word in words)
    return (of_zsh and _OF_ZSH.search(script) is not None) or (
        len(script) > _LONGEST
        or _ALIAS.search(script) is not None
        or _GIVEN.search(script) is not None
        or "IFS" in _READ_BY.sub(" read", script)
        or any(map(_is_odd, _pieces(script)))
    )


def _pieces(script: str) -> list[str]:
    """Return the words of a script, quoted or not; a long one is not looked at."""
    return _PIECE.findall(script) if "{" in script and len(script) <= _LONGEST else []


def _chooses(word: str) -> bool:
    """Return whether braces of a word come to a program that removes files: ``r{m,x}``."""
    found = _BRACED.fullmatch(re.sub(r"[\"'\\]", "", word))
    if found is None:
        return False
    before, inside, behind = found.groups()
    return any(_ENDS_IN_REMOVAL.search(before + each + behind) for each in _ITEMS.split(inside))


def _is_odd(word: str) -> bool:
    """Return whether nobody looks at what the braces of a word come to."""
    text = re.sub(r"\$\{[^{}]*\}", "$X", word)
    if "{" not in text or not _ITEMS.search(text):
        return False
    found = _BRACED.fullmatch(text)
    if text.count("{") > 1 or found is None:
        return True
    before, inside, behind = found.groups()
    if not _ITEMS.search(inside):
        return False
    if _LEADS.search(before) or _FOLLOWS.search(behind):
        return True
    items = [re.sub(r"[\"'\\]", "", each) for each in _ITEMS.split(inside)]
    rooted = _ROOTED.search(before + behind)
    return _chooses(word) or any(_PATHS.search(each) or (not each and rooted) for each in items)


def _joined(quoted: re.Match[str]) -> str:
    return quoted[0] if quoted[0][0] == "\\" else _PARTING.sub("\0", quoted[0])


def _words(words: list[str]) -> Iterator[str]:
    """Yield words but for redirections, and assignments in front of all others."""
    before, leads = "", True
    for word in words:
        leads = leads and _ASSIGNS.match(word) is not None
        aside = _REDIRECTS.match(word) or _REDIRECTS_NEXT.fullmatch(before)
        if word and not leads and not aside:
            yield word
        before = word


def _removes(words: list[str]) -> bool:
    runs = [_name(word).lower() in _RUNNERS for word in words]
    beside = any(runs) or any(map(_OPTION.fullmatch, words))
    for at, word in enumerate(words):
        removal = _REMOVAL.fullmatch(_name(re.sub(r"\d*[<>].*", "", word, flags=re.DOTALL)))
        first = at == 0 or runs[at - 1]
        if (removal and (first or beside)) or (first and word[0] == "$"):
            return True
        if _SET_TO_REMOVAL.fullmatch(word):
            return True
        if beside and _LISTED.search(word):
            return True
    return False


def _removed(words: Sequence[str]) -> Sequence[str]:
    """Return what stands behind a program that removes files: first, or beside what runs it."""
    runs = [
        _name(word).lower() in _RUNNERS or (at, word[0]) == (0, "$")
        for at, word in enumerate(words)
    ]
    beside = any(map(_OPTION.fullmatch, words)) or any(
        runs_other and word not in KEYWORDS for runs_other, word in zip(runs, words, strict=True)
    )
    for at, word in enumerate(words):
        if _REMOVAL.fullmatch(_name(word)) and (beside or at == 0 or runs[at - 1]):
            return words[at + 1 :]
    return ()


def _name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1]


# The scripts that stand in the arguments of a script's commands: `bash -c 'rm x'`.


# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())

# Changes of the folder that are followed into a script; behind more nobody knows where it runs.
_FOLLOWED = 8

# Scripts within one another that are judged; what removes files in more is asked for.
_JUDGED = 2


def changes_folder(program: Sequence[Word]) -> bool:
    """Return whether what follows a command may run in another folder."""
    return program[0].plain in _MOVERS


def gives_removal(program: Sequence[Word]) -> bool:
    """Return whether a shell is given what removes files, by options that no host knows."""
    given = unread_options(program)
    return given is not None and removes(given)


class Inner:
    """What the scripts in arguments come to, each where the commands before it lead."""

    def __init__(self, script: Script, shell: Shell, read: Callable[[str, Shell], Command]) -> None:
        self._script = script
        self._shell = shell
        self._read = read
        self._moved: list[str] = []
        self.depth = 0  # of scripts within one another, where the innermost removes files

    def follow(self, program: Sequence[Word]) -> None:
        """Note a command that changes the folder."""
        self._moved.append(as_written(program) + "\n")

    def suspects(self, command: Alone) -> bool:
        """Return whether a command seems to run a script that removes files, and nobody checks it.

        It may be one that is not understood.
        """
        if not self._shell.kinds.scripted:
            return False
        return command.suspect or (
            self._script.opaque and seems_to_remove(command.words, self._script)
        )

    def look(
        self, text: str, words: Sequence[Word], *, aside: bool
    ) -> tuple[tuple[str, ...], list[Redirection]]:
        """Return what is doubtful of a script, and the files that it opens.

        Args:
            text: the script.
            words: the command that runs it.
            aside: whether that stands where no host follows it.

        """
        shell = self._shell
        whole = bool(shell.kinds.scripted) and removes(text)
        # One that removes files is judged where the commands before it lead.
        lost = whole and len(self._moved) > _FOLLOWED
        before = "".join(self._moved) if whole and not lost else ""
        inside = self._read(before + text, shell)
        readings, files = judged(inside, shell, whole=whole)
        depth = inside.removing + 1 if whole or inside.removing else 0
        self.depth = max(self.depth, depth)
        lacks = depth > _JUDGED or (whole and is_unjudged(text, words))
        broken = self._script.broken or aside
        is_aside = broken and any(file.tool == shell.files.removes for file in files)
        return readings, [*files, *[GUARDED] * (is_aside or lacks or lost)]


# Which commands of a script run where no rule speaks of them.


def is_quoted(word: Word) -> bool:
    """Whether a word is not what it is written as."""
    return word.raw != word.plain


class Harmless:
    """Which commands of one script are harmless, told in their order.

    What is put into a word by a command that the script holds is known by the number of that one.
    """

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self._closed = script.closed
        self._opaque = script.opaque
        self._noted: list[bool] = []
        self._reading: list[bool] = []  # and it changes no file either
        # Looked for once: a long command has as many parts as would look for it.
        self._fed = "<<<" in text

    def note(self, *, harmless: bool, edits: bool) -> None:
        """Note of the next command whether it is harmless, and whether it changes files."""
        self._noted.append(harmless)
        self._reading.append(harmless and not edits)

    def is_set(self, word: Word) -> bool:
        """Whether a variable is set, and to what the host can tell, that changes nothing."""
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self._opaque
            and is_assignment(word)
            and variables.may_be_set(name, self._shell)
            and (word.literal or (word.vetted and all(self._noted[slice(*word.inner)])))
        )

    def is_harmless(self, command: Alone, *, led: bool) -> bool:
        """Return whether a command is harmless; *led* if its program stands behind a target."""
        known = command.known
        if not command.harmless or known is None or self._opaque or (led and known.leads):
            return False
        if known.told and (self._closed or (self._fed and "$" in self._text)):
            return False
        if self._fed and (known.spelled or _GIVEN_GLOB.search(self._text)):
            return False
        return all(
            word.literal or (word.vetted and self._may_be_put_in(word)) for word in command.words
        )

    def _may_be_put_in(self, word: Word) -> bool:
        """Whether nothing is put into a word but what a command that only reads comes to.

        What a shell sets by itself (`$?`) is left to rules.
        """
        return all(self._reading[slice(*word.inner)]) and not _SET_BY_SHELL.search(word.raw)


# A pattern that is put on the input of a command, where a host looks for one in all of its text.
_GIVEN_GLOB = re.compile(r"<<<[ \t]*[^\s'\"]*[*?\[]")
_SET_BY_SHELL = re.compile(rf"\$[{re.escape(''.join(SET_BY_SHELL))}]")


def is_harmless(
    known: Examined, words: Sequence[Word], program: Sequence[Word], shell: Shell
) -> bool:
    """Return whether a command is harmless by its own words.

    Args:
        known: what is known of the program.
        words: the command.
        program: the same behind its wrappers and assignments.
        shell: what the host knows of commands.

    """
    if not known.harmless or is_evaluated(program):
        return False
    behind = words
    if program is not words:
        behind = as_granted(words, shell, harmless=not known.carried)
    if len(behind) != len(program):
        return False  # behind a wrapper that only rules which deny look through
    around = words[: len(words) - len(program)]
    if known.direct and (around or is_quoted(words[0])):
        return False
    if known.spelled and any(map(is_quoted, words)):
        return False
    if known.carried:
        if not carries_files(words, len(around), shell):
            return False
    elif around and not is_quiet(around, shell, moves=known.moves > 0 or known.internal):
        return False
    if known.listed and around and is_assignment(around[0]) and not is_assignment(around[-1]):
        return False  # its options are looked for behind one of both
    if known.listed and any(is_quoted(word) for word in around if not is_assignment(word)):
        return False
    return not any(map(is_home_of_other, words))


def is_idle(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a command of one word does nothing beyond the shell that runs it."""
    return len(words) == 1 and (words[0].plain in shell.kinds.idle or is_assignment(words[0]))


# The texts by which rules know a simple command.


# The text for rules that allow, those for rules that deny, and others for rules that allow.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]

_NAME: Final = re.compile(r"[\w./+-]+")
_BLANKS: Final = re.compile(r"[ \t]+")


def with_text(fed: str, written: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the texts by which rules that deny know a command that is given a text to read.

    Args:
        fed: the command with that text.
        written: the command without it.
        known: how they know this.

    """
    yield from dict.fromkeys((fed, *(fed.replace(written, each, 1) for each in known)))


def spelled(
    words: Sequence[Word],
    program: Sequence[Word],
    granted: Sequence[Word],
    shell: Shell,
    *,
    anew: bool,
) -> Texts:
    """Return the texts of a command (see `policy.commands.parts.Part`).

    Args:
        words: all of it.
        program: what is behind its wrappers and assignments.
        granted: what is behind those that rules which allow look through.
        shell: what the host knows of commands.
        anew: whether the host puts it together anew (`policy.commands.match_texts`).

    """
    text, known, written = _spelled(words, program, granted, shell)
    if anew:
        said = reworded(words, len(words) - len(granted))
        behind = said[len(words) - len(program) :], said[len(words) - len(granted) :]
        known = (*known, " ".join([word.plain for word in granted]))
        text, _, written = _spelled(said, *behind, shell)
    return text, known, written


def _spelled(
    words: Sequence[Word], program: Sequence[Word], granted: Sequence[Word], shell: Shell
) -> Texts:
    text, name = as_written(words), granted[0]
    if (
        len(program) == len(words)
        and name.plain not in shell.wrapping.names
        and basename(name.plain) == name.plain
        and not is_quoted(name)
        and not is_assignment(name)
    ):
        plain = " ".join([word.plain for word in words])
        if not shell.control:
            return text, (() if plain == text else (plain,)), ()
        plain = plain.strip()
        vanishing = shortened(words) if may_vanish(text) else ()
        # Several blanks are one to rules with a star, quoted or not.
        known = dict.fromkeys((plain, _BLANKS.sub(" ", plain), *vanishing))
        return text, (() if [*known] == [text] else tuple(known)), ()
    if shell.control and all(map(is_assignment, words)):
        return "", (), ()  # no command: a rule may spell out all of the text alone
    if shell.control and is_quoted(name) and _NAME.fullmatch(name.plain):
        granted = [attrs.evolve(name, raw=name.plain), *granted[1:]]
    granted_text = as_written(granted)
    named = dict.fromkeys((*readings(words, shell), text))
    named.pop(granted_text, None)
    # Quotes around the program count for a rule that allows only where the command begins with it.
    written = (text,) if shell.control and text != granted_text else ()
    return granted_text, tuple(named), written


# What one simple command is by itself, whatever stands around it in a script.


# The longest command that is kept, and how many: a few megabytes for each host that is read.
_LONGEST_ALONE: Final = 256
_MOST: Final = 2048


class Alone:
    """A simple command of a word or more, looked at by itself.

    Attributes:
        words: all of it.
        program: the same behind its wrappers and assignments.
        granted: the same behind those that rules which allow look through.
        examined: what of it is looked at for what its program does.
        known: what is known of that; None where nothing is.
        texts: by which rules know it.
        feared: those of what it may be besides.
        script: the script that it is given to run, if it is.
        sets: whether it sets variables, and does nothing else.
        leaves: whether what follows it may run in another folder.
        versioned: whether it looks for a repository.
        planted: the files that it may write, of one or not.
        exports: whether it changes the environment of what follows it.
        extended: whether a wrapper will add arguments.
        carried: whether files are looked for behind what stands around its program.
        edits: whether its program changes files that it names, or runs a script.
        harmless: whether it runs where no rule speaks of it, as far as its own words tell.
        untold: its first word of which nobody knows what it comes to.
        differs: whether shells differ on what it is.
        nameless: whether its program is no name of one.
        unchecked: whether nobody vouches for what stands beside it either.
        joined: whether some see a word in it that others do not.
        worked_out: whether it sets what a shell works out, or what parts its words.
        suspect: whether it seems to give a shell a script that removes files, and nobody
            checks that.

    """

    __slots__ = (
        "carried",
        "differs",
        "edits",
        "examined",
        "exports",
        "extended",
        "feared",
        "granted",
        "harmless",
        "joined",
        "known",
        "leaves",
        "nameless",
        "planted",
        "program",
        "script",
        "sets",
        "suspect",
        "texts",
        "unchecked",
        "untold",
        "versioned",
        "words",
        "worked_out",
    )

    def __init__(self, words: Sequence[Word], shell: Shell, *, anew: bool) -> None:
        """Look at *words*; *anew* where the host puts them together anew."""
        self.words = words
        self.program = program = behind_all(words, shell)
        self.granted = granted = words if program is words else as_granted(words, shell)
        self.texts: Texts = spelled(words, program, granted, shell, anew=anew)
        self.feared = () if program is words else feared(words, shell)
        self.script = script_of(program)
        self.sets = all(map(is_assignment, words))
        self.suspect = bool(shell.kinds.scripted) and gives_removal(program)
        self.leaves = changes_folder(program)
        self.versioned = looks_for_one(program, shell)
        self.planted = planted(program, shell)
        self.exports = shell.control and variables.exports_inherited(program, shell)
        self.extended = any(
            wrapper.appends
            for word in words[: len(words) - len(granted)]
            if (wrapper := shell.wrapping.granting.known.get(word.plain))
        )
        self._examine(shell, anew=anew)
        self._doubt(shell)

    def _examine(self, shell: Shell, *, anew: bool) -> None:
        words, examined = self.words, self.program
        if examined is not words:
            outer = shell.programs.known.get(words[0].plain)
            if outer is not None and outer.runs:
                examined = words
        self.examined = examined
        self.known: Examined | None = None
        self.carried = carries_files(words, len(words) - len(examined), shell)
        self.edits = examined[0].plain in (shell.kinds.planting | shell.kinds.scripted)
        self.harmless = False
        if shell.programs:
            self.known = examine(exposed(examined) if anew else examined, shell)
            if self.known is not None:
                self.harmless = is_harmless(self.known, words, examined, shell)

    def _doubt(self, shell: Shell) -> None:
        words, program, name = self.words, self.program, self.granted[0]
        around = len(words) - len(program)
        self.untold = next((word for word in words if not (word.literal or word.vetted)), None)
        self.differs = (
            around >= limits.NESTING
            or doubts.is_evaluated(program)
            or any(map(is_expanded, words[: around + 1]))
            or (len(words) > 1 and self.sets)
            or (shell.control and _is_no_program(words, around))
        )
        self.unchecked = self.joined = self.worked_out = False
        if not shell.control:
            self.nameless = name.raw in KEYWORDS or is_assignment(name) or name.raw != name.plain
            return
        odd = ("", "}") if shell.kinds.trusting else ("", "-", "}")
        self.nameless = not name.literal or "$" in name.raw or name.plain[:1] in odd
        self.unchecked = (
            program is not words
            or basename(program[0].plain) in shell.kinds.odd
            or any("/environ" in word.plain for word in words)
            or name.plain[:1] == "-"
            or "=" in name.plain
        ) and doubts.is_unchecked(words, shell)
        self.joined = _is_negated_late(words) or any(map(doubts.is_joined_oddly, words))
        told = [word for word in words if "$" not in word.raw]
        self.worked_out = (
            doubts.has_half_assignment(words)
            or variables.is_worked_out(told, shell)
            or any(_PARTING_ALONE.match(word.raw) for word in takewhile(is_assignment, words))
        )


_PARTING_ALONE: Final = re.compile(r"IFS\+?=")


def _is_negated_late(words: Sequence[Word]) -> bool:
    """Whether a variable is set before what negates a command, or begins a statement."""
    behind = next((word for word in words if not is_assignment(word)), None)
    if behind is None or behind is words[0]:
        return False
    return behind.raw in ("!", "[[", "]]") or behind.raw[:1] in ("{", "}")


def _is_no_program(words: Sequence[Word], around: int) -> bool:
    """Whether what begins a statement stands where a program does: `time for a`, `builtin [[`."""
    if around and words[around].raw == "[[" and words[around - 1].raw not in _BEFORE_ALL:
        return True
    before = words[: around + 1]
    behind = next((word.raw for word in before if word.raw not in _BEFORE_ALL), "")
    return behind in KEYWORDS


# What may stand before every statement.
_BEFORE_ALL: Final = frozenset({"!", "time"})


def alone(command: SimpleCommand, script: Script, shell: Shell) -> Alone:
    """Return what a command of *script*, which has a word, is by itself.

    What a command of plain words is follows from how it is written, and is kept: the same ones
    stand in many scripts (`git status`, `tail -5`).
    """
    if command.own is None:
        command.own = _alone(command, script, shell)
    return command.own


def _alone(command: SimpleCommand, script: Script, shell: Shell) -> Alone:
    words, anew = command.words, shell.control and command.reworded
    if anew or not script.plain:
        return Alone(words, shell, anew=anew)
    kept, text = _kept(shell), as_written(words)
    found = kept.get(text)
    if found is None:
        found = Alone(words, shell, anew=False)
        if len(text) <= _LONGEST_ALONE:
            if len(kept) >= _MOST:
                kept.clear()
            kept[text] = found
    return found


@lru_cache(maxsize=16)
def _kept(shell: Shell) -> dict[str, Alone]:  # noqa: ARG001  # what is kept is of this one
    return {}
