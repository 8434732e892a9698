"""The texts by which rules know a command: of each simple command, and of all of it.

A rule that denies or asks knows it behind every assignment and wrapper (`command_prefix`), without
quotes, and by the bare name of its program. One that allows knows it as written, behind assignments
that change nothing of note and wrappers whose options it knows: `timeout 5 make`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from policy.commands.reader import KEYWORDS, SOME_VALUE, Command, Redirection
from policy.commands.words import (
    ASSIGNMENT,
    VANISHING,
    VANISHING_FIRST,
    CommandPrefix,
    Word,
    as_written,
    basename,
    command_prefix,
    expression,
    without_vanishing,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve, frozen

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell, Wrapper


@frozen
class ClaudeRedirection(Redirection):
    """A file that a command reads from or writes to."""

    guarded: bool = False  # no rule may allow it
    deep: bool = False  # it stands for the host's own files that are below it

    @classmethod
    def of(cls, file: Redirection) -> ClaudeRedirection:
        """Return *file* as this host has it."""
        if isinstance(file, cls):
            return file
        return cls(file.target, file.writes, file.tool, file.shadowed, file.adrift)


@frozen
class ClaudeCommand(Command):
    """A command, read."""

    whole: WholeCommand | None = None  # all of it, as rules that spell it out know it
    background: bool = False  # it has a background command


def _behind_options(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool
) -> int | None:
    """Return the number of the word behind a wrapper and its options; None where it is unknown."""
    index = start + 1
    texts = [word.plain if quoted else word.raw for word in words]
    while index < len(words) and texts[index].startswith("-"):
        option, behind = texts[index], texts[index + 1 : index + 2]
        if option == "--" and wrapper.ends:
            break
        if wrapper.single and index > start + 1:
            return None
        if matches(wrapper.flags, option):
            index += 1
        elif behind and matches(wrapper.values, option) and matches(wrapper.value, behind[0]):
            index += 2
        else:
            return None
    if wrapper.needs and index == start + 1:
        return None
    index += wrapper.ends and texts[index : index + 1] == ["--"]
    for operand in wrapper.operands:
        if index == len(words) or not matches(operand, texts[index]):
            return None
        index += 1
    return index


def matches(wanted: str, text: str) -> bool:
    """Return whether a text is what an expression describes; one that is empty describes none."""
    return bool(wanted) and expression(wanted).fullmatch(text) is not None


def is_quiet(around: Sequence[Word], shell: Shell, *, moves: bool) -> bool:
    """Whether a harmless program, perhaps one that *moves*, is as harmless behind these words."""
    found = (shell.wrapping.granting.known.get(word.plain) for word in around)
    wrappers = [wrapper for wrapper in found if wrapper is not None]
    if not wrappers:
        return True
    has_options = any(word.plain.startswith("-") for word in around)
    return len(wrappers) == 1 and wrappers[0].quiet and not (moves or has_options)


_REQUOTED: Final = re.compile(r"\n|\$[A-Za-z_]")
_QUOTED: Final = re.compile(r"""\A\Z|["'\\ \t\n$`;|&<>(){}#]""")
_EXPANDED: Final = re.compile(r"[*?]|\[.*\]")


def is_requoted(text: str) -> bool:
    """Return whether a simple command that is written so is put together anew."""
    return _REQUOTED.search(text) is not None


def requoted(words: Sequence[Word], name: int) -> list[Word]:
    """Return the words of such a command; what is quoted or put in behind its *name* is unknown."""
    said = [*words[: name + 1]]
    for word in words[name + 1 :]:
        is_plain = word.literal and not _QUOTED.search(word.plain)
        raw = word.plain if is_plain else SOME_VALUE
        said.append(evolve(word, raw=raw) if word.literal or word.vetted else word)
    return said


def exposed(words: Sequence[Word]) -> list[Word]:
    """Return the words of such a command, with the stars that are quoted no more."""
    return [
        evolve(word, glob=True)
        if _EXPANDED.search(word.plain) and not _QUOTED.search(word.plain)
        else word
        for word in words
    ]


_LOCALE: Final = re.compile(r"C|POSIX|UTF-?8|[\w-]+\.UTF-?8(?:@\w+)?", re.IGNORECASE | re.ASCII)
_SIMPLE_VALUE: Final = re.compile(r"[A-Za-z0-9_./:-]+")
# A value that names a file outside of the working folder, or may.
_ELSEWHERE: Final = re.compile(r"^[.~]*[/\\]|[/\\][/\\]|:[/\\.]|(?:^|[/\\])\.\.(?:[/\\]|$)")


def as_granted(words: Sequence[Word], shell: Shell) -> Sequence[Word]:
    """Return the command behind what rules that allow unwrap."""
    start = 0
    while start < len(words) - 1 and _is_safe_assignment(words[start], shell):
        start += 1
    while start < limits.NESTING and (
        wrapper := shell.wrapping.granting.known.get(words[start].plain)
    ):
        behind = _behind_options(words, start, wrapper, quoted=False)
        if behind is None or behind == len(words):
            break
        if words[behind].raw in KEYWORDS and words[behind].raw not in shell.wrapping.names:
            break
        start = behind
        if wrapper.appends:
            break
    return words[start:] if start else words


def is_fragment(words: Sequence[Word], shell: Shell) -> bool:
    """Whether it is an option alone, or nothing, or its wrapper has no such option or program."""
    name = words[0]
    if name.plain.startswith(("-", "|", "&")) or not name.plain or not name.literal:
        return True
    wrapper = shell.wrapping.granting.known.get(words[0].plain)
    if wrapper is None or wrapper.appends or len(words) == 1:
        return False
    if matches(wrapper.idle, words[1].plain):
        return False
    behind = _behind_options(words, 0, wrapper, quoted=True)
    started = words[1 if behind is None or behind == len(words) else behind].plain
    if wrapper.runs and not matches(wrapper.runs, started):
        return True
    return behind is None and (words[1].plain.startswith("-") or bool(wrapper.operands))


def _is_safe_assignment(word: Word, shell: Shell) -> bool:
    """Whether *word* sets a variable that the host takes for harmless to a plain value."""
    match = ASSIGNMENT.match(word.raw) if "=" in word.raw else None
    if match is None or match[2] or word.raw[match.end() - 2] == "+":
        return False
    name, value = match[1], word.raw[match.end() :]
    if name not in shell.variables.harmless or not _SIMPLE_VALUE.fullmatch(value):
        return False
    if name in shell.variables.locales:
        return _LOCALE.fullmatch(value) is not None
    return not _ELSEWHERE.search(value)


def match_texts(words: Sequence[Word], prefix: CommandPrefix, shell: Shell) -> tuple[str, ...]:
    """Return every text by which a rule that denies or asks may know the command."""
    found = [text for stage in stages_of(words, prefix) for text in _names(stage)]
    found += _given(words, prefix.program, shell)
    found += [text for each in found for text in _read_again(each, shell)]
    for text in [*found]:
        if _XARGS.match(text):
            run = text.removeprefix("xargs ")
            found += (run, run + MORE)
    return tuple(dict.fromkeys(each for text in found for each in with_single_blanks(text)))


def _given(words: Sequence[Word], program: int, shell: Shell) -> Iterator[str]:
    """Yield commands that wrappers may be given as one word: `env -S 'make x'`, `script -cmake`.

    Of a wrapper behind which no program is found each word may be one.
    """
    is_found = basename(words[program].plain) not in shell.wrapping.names
    for number in range(1, min(program + 1 if is_found else len(words), limits.NESTING)):
        text = words[number].plain
        if not is_found:
            yield from _names(words[number:])
        if " " in text or (text[:1] == "-" and not is_found):
            yield from (text, text.partition("=")[2], text[2:])


def with_single_blanks(text: str) -> tuple[str, ...]:
    """Return *text* stripped, and with single blanks: so rules that deny or ask read both."""
    text = text.strip()
    return (text, _BLANKS.sub(" ", text)) if _SEVERAL_BLANKS.search(text) else (text,)


_BLANKS: Final = re.compile(r"[ \t]+")
_SEVERAL_BLANKS: Final = re.compile(r"\t|  ")


def stages_of(words: Sequence[Word], prefix: CommandPrefix) -> Iterator[Sequence[Word]]:
    """Yield the command, and what it may be behind each of its assignments and wrappers."""
    return (words[start:] for start in (*prefix.starts, *prefix.possible))


def _names(words: Sequence[Word]) -> Iterator[str]:
    """Yield a command as it is written and without quotes, by the bare name of its program too."""
    for one in (words, _named(words)):
        yield as_written(one)
        yield " ".join([word.plain for word in one])
        yield from shortened(one)


def _read_again(text: str, shell: Shell) -> Iterator[str]:
    """Yield what *text* may be behind assignments and wrappers, cut at its blanks."""
    first = text.split(" ", 1)[0]
    if "=" in first or first in shell.wrapping.names or _QUOTE.search(first):
        pieces = text.split()
        words = [Word(piece, _QUOTE.sub("", piece)) for piece in pieces]
        for stage in stages_of(words, command_prefix(words, shell)):
            yield " ".join([stage[0].plain, *(word.raw for word in stage[1:])])


_QUOTE: Final = re.compile(r"['\"\\]")
_XARGS: Final = re.compile(r"xargs (?!-)")
# Any other argument, or the text that a command is given to read: to rules it is part of it.
MORE: Final = f" {SOME_VALUE}"


def _named(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command with the bare name of its program."""
    name = basename(words[0].plain)
    if name == words[0].raw:
        return words
    return [Word(name, name), *words[1:]] if name or len(words) == 1 else words[1:]


# A variable in front of a text, set to what holds nothing that is put in.
_SET: Final = re.compile(
    r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?="
    r"(?:'[^'\n\r]*'|\"(?:\\.|[^\"$`\\\n\r])*\"|\\.|[^\s$`;|&()<>\\'\"])*[ \t]+"
)


def as_text(bare: str) -> Iterator[str]:
    """Yield how rules that deny or ask know what runs no program: also without what it sets."""
    start = 0
    if not bare:
        return
    while found := _SET.match(bare, start):
        start = found.end()
    yield " ".join(bare.split())
    if start:
        yield " ".join(bare[start:].split())


_MAY_VANISH: Final = re.compile(r"[$`]|''|\"\"|[<>]\(| =(?: |\Z)")


def may_vanish(text: str) -> bool:
    """Whether some word of *text* may be one that a shell leaves out."""
    return _MAY_VANISH.search(text) is not None


def shortened(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the text without those words, and up to the first into which a command is put.

    There, outside of quotes, Claude Code 2.1.329 ends, and where `=` stands alone it sees no word.
    """
    put_into = (
        number
        for number, word in enumerate(words)
        if number and not word.literal and _PUT_IN.search(_SPELLED.sub("", word.raw))
    )
    begun = words[: next(put_into, len(words))]
    left = [
        word.plain
        for word in begun
        if word.raw[:1] not in _LEFT_OUT_FIRST or not _LEFT_OUT.fullmatch(word.raw)
    ]
    cut = (" ".join(left),) if left and len(left) < len(words) else ()
    return tuple(dict.fromkeys((*without_vanishing(words), *cut)))


_LEFT_OUT: Final = re.compile(
    rf"{VANISHING.pattern}|=|\$\[[^\]]*\]|\$'(?:\\.|[^'\\])*'|\$\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}",
    re.DOTALL,
)
_LEFT_OUT_FIRST: Final = VANISHING_FIRST | {"="}
_SPELLED: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PUT_IN: Final = re.compile(r"\$\((?!\()|`|[<>]\(")

_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_STAGE: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\|\||(\|&?)", re.DOTALL)
# What joins commands but a pipe, and where a word begins.
_JOINED: Final = re.compile(r"(?<![<>])&(?!>)|;|\n|\|\|")
_BEGUN: Final = re.compile(r"(?<!\S)\S")
_BESIDES: Final = re.compile(r"[&|;\n#<>(]")
DOCUMENT: Final = re.compile(r"(?<!<)<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.+-]+))")

_TARGET: Final = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&<>'\"\\])+"
_AROUND: Final = re.compile(
    # Most letters begin none of these, which one look shows.
    r"(?=[\\'\"\s0-9&<>|;#])(?:(\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    rf"|(?:(?<!\s)\s+)?(?<!\w)[0-9]*(?:&>>?|>>|>[|&]?|<&?)(?![<(])[ \t]*{_TARGET}"
    r"|(?:(?<!\s)\s+)?(&&?|\|\|?|;|\n)\s*|(?<!\S)#[^\n]*)",
    re.DOTALL,
)


@frozen
class WholeCommand:
    """All of a command, as rules that spell it out know it."""

    text: str
    spelled: bool  # a rule that spells it out allows it

    @property
    def texts(self) -> tuple[str, ...]:
        """Its text, and the same with its pipes as rules have them."""
        whole = self.text.strip(" \t\n")
        if not self.piped:
            return (whole,)
        bare = _without_documents(whole)
        piped = " | ".join(piece.strip(" \t\n") for piece in _PIPE.split(bare))
        return tuple(dict.fromkeys((whole, piped)))

    @property
    def pieces(self) -> Iterator[str]:
        """Texts by which a rule that denies or asks may know several of its commands.

        Those of all of it, and of each stage of a pipe: as they stand, and without what is
        redirected, from every word of the first command on.
        """
        if not spells_several(self.text):
            return
        bare = _without_documents(self.text)
        pipes = [found.span() for found in _STAGE.finditer(bare) if found[1]] if self.piped else []
        edges = pairwise([0, *chain(*pipes), len(bare)])
        stages = (bare[slice(*edge)] for edge in islice(edges, 0, None, 2))
        for stage in dict.fromkeys((self.text, bare, *stages)):
            stripped = stage.strip(" \t\n")
            # What is quoted and what joins as it stands, and nothing of the rest.
            alone = _AROUND.sub(lambda found: found[0] if found[2] else found[1] or "", stripped)
            spaced = _AROUND.sub(_without, stripped)
            for text in dict.fromkeys((stripped, alone.strip(), spaced.strip())):
                joined = _JOINED.search(text)
                starts = _BEGUN.finditer(text, 0, joined.start() if joined else len(text))
                for begun in islice(starts, limits.NESTING):
                    yield from with_single_blanks(text[begun.start() :])

    @property
    def piped(self) -> bool:
        """Whether it may have pipes."""
        return "|" in self.text and _PIPE.search(self.text) is not None


def spells_several(text: str) -> bool:
    """Return whether a text has what joins commands, redirects, or begins a comment."""
    return _BESIDES.search(text) is not None


def _without_documents(text: str) -> str:
    """Return a text without those that it puts on the input of commands: all, or none."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    ends: list[str] = []
    for line in text.split("\n"):
        if ends:
            if line.lstrip("\t") == ends[0]:
                del ends[0]
            continue
        ends = ["".join(names) for names in DOCUMENT.findall(line)]
        kept.append(DOCUMENT.sub("", line))
    return text if ends else "\n".join(kept)


def _without(found: re.Match[str]) -> str:
    """Return what is quoted as it stands, what joins between blanks, and nothing of the rest."""
    return found[1] or (f" {found[2].strip()} ".replace("  ", " ") if found[2] else "")
