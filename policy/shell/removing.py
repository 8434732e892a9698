"""Scripts that stand in an argument and remove files, as Claude Code 2.1.329 looks for them.

It looks at the text alone: for a word that is `rm` or `rmdir` where a program may stand, or
beside what runs others. Only such a script is judged as the command that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import attrs

from policy.shell.leading import KEYWORDS, is_assignment
from policy.shell.parts import DIFFER, UNSEEN, Command, Doubt, Redirection
from policy.shell.readings import as_written
from policy.shell.shell_scripts import SHELLS, shell_of
from policy.shell.targets import GUARDED
from policy.shell.wrappers import basename

if TYPE_CHECKING:
    from policy.shell.words import Script, Simple, Word
    from policy.shells import Shell

__all__ = [
    "is_unjudged",
    "judged",
    "removes",
    "removes_unknown",
    "seems_to_remove",
]

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


def removes_unknown(text: str, commands: Iterable[Simple]) -> bool:
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
