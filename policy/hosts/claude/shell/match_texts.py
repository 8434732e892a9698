"""The texts that rules match: those of each simple command, and of the whole command.

Deny and ask rules match a command behind each assignment and wrapper (`command_prefix`), without
quotes, and by the bare name of its program. Allow rules match it as written, and behind harmless
assignments and wrappers with known options: `make` of `timeout 5 make`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
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

    guarded: bool = False  # whether no rule may allow it
    deep: bool = False  # whether it means the host's own files below it


@frozen
class ClaudeCommand(Command):
    """A command, read."""

    redirections: tuple[ClaudeRedirection, ...] = ()
    whole: WholeCommand | None = None  # its whole text, which exact rules match
    background: bool = False  # whether it has a background command


def _behind_options(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool
) -> int | None:
    """Return the index of the word behind a wrapper and its options; None where it is unknown."""
    index = start + 1
    texts = [word.value if quoted else word.raw for word in words]
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
    """Return whether the expression *wanted* matches all of *text*; "" matches nothing."""
    return bool(wanted) and expression(wanted).fullmatch(text) is not None


def keeps_harmless(before: Sequence[Word], shell: Shell, *, moves: bool) -> bool:
    """Whether a harmless program stays so behind *before*; *moves*: it changes the folder."""
    found = (shell.wrapping.granting.known.get(word.value) for word in before)
    wrappers = [wrapper for wrapper in found if wrapper is not None]
    if not wrappers:
        return True
    has_options = any(word.value.startswith("-") for word in before)
    return len(wrappers) == 1 and wrappers[0].quiet and not (moves or has_options)


_REQUOTED: Final = re.compile(r"\n|\$[A-Za-z_]")
_QUOTED: Final = re.compile(r"""\A\Z|["'\\ \t\n$`;|&<>(){}#]""")
_EXPANDED: Final = re.compile(r"[*?]|\[.*\]")


def is_requoted(text: str) -> bool:
    """Return whether the host quotes the words of the simple command *text* anew."""
    return _REQUOTED.search(text) is not None


def requoted(words: Sequence[Word], program: int) -> list[Word]:
    """Return *words* quoted anew; behind the index *program* quoted ones have no known value."""
    quoted = [*words[: program + 1]]
    for word in words[program + 1 :]:
        is_plain = word.literal and not _QUOTED.search(word.value)
        raw = word.value if is_plain else SOME_VALUE
        quoted.append(evolve(word, raw=raw) if word.literal or word.vetted else word)
    return quoted


def with_bare_globs(words: Sequence[Word]) -> list[Word]:
    """Return *words* with the globs that they have once the host drops their quotes."""
    return [
        evolve(word, glob=True)
        if _EXPANDED.search(word.value) and not _QUOTED.search(word.value)
        else word
        for word in words
    ]


_LOCALE: Final = re.compile(r"C|POSIX|UTF-?8|[\w-]+\.UTF-?8(?:@\w+)?", re.IGNORECASE | re.ASCII)
_SIMPLE_VALUE: Final = re.compile(r"[A-Za-z0-9_./:-]+")
# A value that names a file outside of the working folder, or may.
_OUTSIDE: Final = re.compile(r"^[.~]*[/\\]|[/\\][/\\]|:[/\\.]|(?:^|[/\\])\.\.(?:[/\\]|$)")


def granted_words(words: Sequence[Word], shell: Shell) -> Sequence[Word]:
    """Return the words behind the assignments and wrappers that allow rules skip."""
    start = 0
    while start < len(words) - 1 and _is_safe_assignment(words[start], shell):
        start += 1
    while start < limits.NESTING and (
        wrapper := shell.wrapping.granting.known.get(words[start].value)
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
    """Whether *words* are an option, nothing, or a wrapper with a wrong option or program."""
    name = words[0]
    if name.value.startswith(("-", "|", "&")) or not name.value or not name.literal:
        return True
    wrapper = shell.wrapping.granting.known.get(words[0].value)
    if wrapper is None or wrapper.appends or len(words) == 1:
        return False
    if matches(wrapper.idle, words[1].value):
        return False
    behind = _behind_options(words, 0, wrapper, quoted=True)
    started = words[1 if behind is None or behind == len(words) else behind].value
    if wrapper.runs and not matches(wrapper.runs, started):
        return True
    return behind is None and (words[1].value.startswith("-") or bool(wrapper.operands))


def _is_safe_assignment(word: Word, shell: Shell) -> bool:
    """Whether *word* sets a harmless variable to a plain value."""
    match = ASSIGNMENT.match(word.raw) if "=" in word.raw else None
    if match is None or match[2] or word.raw[match.end() - 2] == "+":
        return False
    name, value = match[1], word.raw[match.end() :]
    if name not in shell.variables.harmless or not _SIMPLE_VALUE.fullmatch(value):
        return False
    if name in shell.variables.locales:
        return _LOCALE.fullmatch(value) is not None
    return not _OUTSIDE.search(value)


def match_texts(words: Sequence[Word], prefix: CommandPrefix, shell: Shell) -> tuple[str, ...]:
    """Return every text of the command that deny and ask rules match."""
    found = [text for stage in stages_of(words, prefix) for text in _texts_of(stage)]
    found += _commands_in_words(words, prefix.program, shell)
    text = as_written(words)
    is_read = text.split() == [word.value for word in words]  # read again, its words are these
    others = [each for each in dict.fromkeys(found) if not (is_read and each == text)]
    found += [text for each in others for text in _read_again(each, shell)]
    for text in [*found]:
        if _XARGS.match(text):
            run = text.removeprefix("xargs ")
            found += (run, run + MORE)
    return tuple(dict.fromkeys(each for text in found for each in with_single_blanks(text)))


def _commands_in_words(words: Sequence[Word], program: int, shell: Shell) -> Iterator[str]:
    """Yield commands that wrappers may get as one word: `env -S 'make x'`, `script -cmake`.

    Where no program is found behind a wrapper, a command may begin with each word.
    """
    is_found = basename(words[program].value) not in shell.wrapping.names
    for number in range(1, min(program + 1 if is_found else len(words), limits.NESTING)):
        text = words[number].value
        if not is_found:
            yield from _texts_of(words[number:])
        if " " in text or (text[:1] == "-" and not is_found):
            yield from (text, text.partition("=")[2], text[2:])


def with_single_blanks(text: str) -> tuple[str, ...]:
    """Return *text* stripped, and also with single blanks if it has others."""
    text = text.strip()
    return (text, _BLANKS.sub(" ", text)) if _SEVERAL_BLANKS.search(text) else (text,)


_BLANKS: Final = re.compile(r"[ \t]+")
_SEVERAL_BLANKS: Final = re.compile(r"\t|  ")


def stages_of(words: Sequence[Word], prefix: CommandPrefix) -> Iterator[Sequence[Word]]:
    """Yield the command, and the words behind each of its assignments and wrappers."""
    return (words[start:] for start in (*prefix.starts, *prefix.possible))


def _texts_of(words: Sequence[Word]) -> Iterator[str]:
    """Yield a command as written and without quotes, each also with the bare program name."""
    for one in (words, _with_bare_program(words)):
        text = as_written(one)
        yield text
        yield " ".join([word.value for word in one])
        if may_vanish(f" {text}"):
            yield from shortened(one)


def _read_again(text: str, shell: Shell) -> Iterator[str]:
    """Yield *text*, cut at its blanks, from behind each assignment and wrapper on."""
    first = text.split(" ", 1)[0]
    if "=" in first or first in shell.wrapping.names or _QUOTE.search(first):
        pieces = text.split(None, limits.NESTING)  # no stage begins behind these
        words = [Word(piece, _QUOTE.sub("", piece)) for piece in pieces]
        for stage in stages_of(words, command_prefix(words, shell)):
            yield " ".join([stage[0].value, *(word.raw for word in stage[1:])])


_QUOTE: Final = re.compile(r"['\"\\]")
_XARGS: Final = re.compile(r"xargs (?!-)")
# An unknown rest of a command: arguments that a wrapper appends, or a text on its input.
MORE: Final = f" {SOME_VALUE}"


def _with_bare_program(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command with the bare name of its program."""
    name = basename(words[0].value)
    if name == words[0].raw:
        return words
    return [Word(name, name), *words[1:]] if name or len(words) == 1 else words[1:]


# An assignment at the beginning of a text, to a value without expansions.
_LEADING_ASSIGNMENT: Final = re.compile(
    r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?="
    r"(?:'[^'\n\r]*'|\"(?:\\.|[^\"$`\\\n\r])*\"|\\.|[^\s$`;|&()<>\\'\"])*[ \t]+"
)


def statement_texts(bare: str) -> Iterator[str]:
    """Yield the match texts of a statement without a program, also without its assignments."""
    start = 0
    if not bare:
        return
    while found := _LEADING_ASSIGNMENT.match(bare, start):
        start = found.end()
    yield " ".join(bare.split())
    if start:
        yield " ".join(bare[start:].split())


_MAY_VANISH: Final = re.compile(r"[$`]|''|\"\"|[<>]\(| =(?: |\Z)")


def may_vanish(text: str) -> bool:
    """Whether a shell may drop a word of *text*: an empty one, or an expansion."""
    return _MAY_VANISH.search(text) is not None


def shortened(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the text without droppable words, and up to the first unquoted substitution.

    Claude Code 2.1.329 stops reading there, and sees no word in a lone `=`.
    """
    substituting = (
        number
        for number, word in enumerate(words)
        if number and not word.literal and _SUBSTITUTION.search(_QUOTED_TEXT.sub("", word.raw))
    )
    before = words[: next(substituting, len(words))]
    texts = [
        word.value
        for word in before
        if word.raw[:1] not in _DROPPED_FIRST or not _DROPPED.fullmatch(word.raw)
    ]
    cut = (" ".join(texts),) if texts and len(texts) < len(words) else ()
    return tuple(dict.fromkeys((*without_vanishing(words), *cut)))


_DROPPED: Final = re.compile(
    rf"{VANISHING.pattern}|=|\$\[[^\]]*\]|\$'(?:\\.|[^'\\])*'|\$\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}",
    re.DOTALL,
)
_DROPPED_FIRST: Final = VANISHING_FIRST | {"="}
_QUOTED_TEXT: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_SUBSTITUTION: Final = re.compile(r"\$\((?!\()|`|[<>]\(")

_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_STAGE: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\|\||(\|&?)", re.DOTALL)
# An operator between commands, except a pipe.
_OPERATOR: Final = re.compile(r"(?<![<>])&(?!>)|;|\n|\|\|")
_WORD_START: Final = re.compile(r"(?<!\S)\S")
_SEVERAL: Final = re.compile(r"[&|;\n#<>(]")
HEREDOC: Final = re.compile(r"(?<!<)<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.+-]+))")

_TARGET: Final = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&<>'\"\\])+"
_SYNTAX: Final = re.compile(
    # Few characters begin one of these, which the lookahead finds out fast.
    r"(?=[\\'\"\s0-9&<>|;#])(?:(\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    rf"|(?:(?<!\s)\s+)?(?<!\w)[0-9]*(?:&>>?|>>|>[|&]?|<&?)(?![<(])[ \t]*{_TARGET}"
    r"|(?:(?<!\s)\s+)?(&&?|\|\|?|;|\n)\s*|(?<!\S)#[^\n]*)",
    re.DOTALL,
)


@frozen
class WholeCommand:
    """The whole text of a command, which exact rules match."""

    text: str
    spelled: bool  # whether an exact rule may allow it

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its text, also with one blank around each pipe."""
        whole = self.text.strip(" \t\n")
        if not self.piped:
            return (whole,)
        bare = _without_heredocs(whole)
        piped = " | ".join(piece.strip(" \t\n") for piece in _PIPE.split(bare))
        return tuple(dict.fromkeys((whole, piped)))

    @property
    def pieces(self) -> Iterator[str]:
        """Texts of several of its commands, which deny and ask rules match.

        They are the whole text and each stage of a pipeline, as written and without redirections,
        from each word of the first command on.
        """
        if not spells_several(self.text):
            return
        bare = _without_heredocs(self.text)
        pipes = [found.span() for found in _STAGE.finditer(bare) if found[1]] if self.piped else []
        edges = pairwise([0, *chain(*pipes), len(bare)])
        stages = (bare[slice(*edge)] for edge in islice(edges, 0, None, 2))
        for stage in dict.fromkeys((self.text, bare, *stages)):
            stripped = stage.strip(" \t\n")
            # Quoted text and operators stay, redirections and comments go.
            unspaced = _SYNTAX.sub(lambda found: found[0] if found[2] else found[1] or "", stripped)
            spaced = _SYNTAX.sub(_spaced, stripped)
            for text in dict.fromkeys((stripped, unspaced.strip(), spaced.strip())):
                joined = _OPERATOR.search(text)
                starts = _WORD_START.finditer(text, 0, joined.start() if joined else len(text))
                for start in islice(starts, limits.NESTING):
                    yield from with_single_blanks(text[start.start() :])

    @property
    def piped(self) -> bool:
        """Whether it may have pipes."""
        return "|" in self.text and _PIPE.search(self.text) is not None


def spells_several(text: str) -> bool:
    """Return whether *text* has an operator, a redirection or a comment."""
    return _SEVERAL.search(text) is not None


def _without_heredocs(text: str) -> str:
    """Return *text* without its here-documents; unchanged if one has no end."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    ends: list[str] = []
    for line in text.split("\n"):
        if ends:
            if line.lstrip("\t") == ends[0]:
                del ends[0]
            continue
        ends = ["".join(names) for names in HEREDOC.findall(line)]
        kept.append(HEREDOC.sub("", line))
    return text if ends else "\n".join(kept)


def _spaced(found: re.Match[str]) -> str:
    """Return quoted text as it is, an operator between blanks, and "" for the rest."""
    return found[1] or (f" {found[2].strip()} ".replace("  ", " ") if found[2] else "")
