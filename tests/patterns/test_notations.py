"""The ways people write patterns; those for paths against git itself."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from policy.core import limits
from policy.patterns.domains import joined
from policy.patterns.notations import (
    Unusable,
    characters_of,
    commands,
    hosts,
    names,
    paths,
    single,
    slashed,
)
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, folded, in_any_case


def _matches(patterns: tuple[Pattern, ...], text: str) -> bool:
    return any(pattern.matches(text) for pattern in patterns)


@pytest.mark.parametrize(
    ("written", "matching", "others"),
    [
        ("ls", ["ls"], ["ls a", "lsof", ""]),
        ("ls *", ["ls", "ls a", "ls  a"], ["lsof", "l"]),
        ("ls:*", ["ls", "ls a"], ["lsof"]),
        ("ls*", ["ls", "lsof", "ls a"], ["l"]),
        ("git * push *", ["git x push y"], ["git x push", "git push y"]),
        ("*", ["", "a", "a b"], []),
        (" *", [" ", " a"], ["", "a"]),
        ("ls  *", ["ls", "ls a"], ["l"]),
        ("\t *", ["\t ", "\t a"], ["\t"]),
        ("a*b *", ["ab ", "axb c"], ["ab"]),
        ("* --help", ["a --help", " --help"], ["--help"]),
        ("a**b", ["ab", "axb"], ["a"]),
    ],
)
def test_commands(written: str, matching: list[str], others: list[str]) -> None:
    patterns = commands(written)
    assert [text for text in matching if not _matches(patterns, text)] == []
    assert [text for text in others if _matches(patterns, text)] == []


@pytest.mark.parametrize(
    ("written", "matching", "others"),
    [
        ("example.com", ["example.com"], ["a.example.com", "example.com.evil", "xexample.com"]),
        ("Example.COM.", ["example.com"], []),
        ("*.example.com", ["a.example.com", "a.b.example.com"], ["example.com", "aexample.com"]),
        ("example.*", ["example.org"], ["example.evil.com", "example"]),
        ("*", ["a", "a.b"], []),
        ("a*.com", ["a.com", "ab.com"], ["a.b.com"]),
        ("[::1]", ["[::1]"], ["::1"]),
    ],
)
def test_hosts(written: str, matching: list[str], others: list[str]) -> None:
    patterns = hosts(written)
    assert [text for text in matching if not _matches(patterns, text)] == []
    assert [text for text in others if _matches(patterns, text)] == []


@pytest.mark.parametrize(
    "written", ["", ".", "a..b", ".a", "https://a", "a/b", "a:80", "a b", "u@a"]
)
def test_what_is_no_host_name_is_refused(written: str) -> None:
    with pytest.raises(Unusable):
        hosts(written)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("[::0001]", "browsers write that address `[::1]`"),
        ("[x]", "that is no address"),
        ("a:80", "a host name has no `:`"),
        ("[::1", "a host name has no `:`"),
        ("a,b", "a host name has no `,`"),
        (".a", "a host name has no empty label"),
    ],
)
def test_why_a_text_is_no_host_is_told(written: str, why: str) -> None:
    with pytest.raises(Unusable) as refused:
        hosts(written)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("written", "matching", "others"),
    [
        ("ls:*", ["ls", "ls a/b"], ["l"]),
        ("*", ["", "ab"], ["a/b", "a\\b"]),
        ("a?b", ["axb"], ["a/b", "a\\b", "ab"]),
        ("a/b", ["a/b", "a\\b"], ["ab", "axb"]),
        (
            "src/**/*.rs",
            ["src/main.rs", "src/a/b.rs", "src\\a.rs"],
            ["src/a\nb.rs/c", "x/src/a.rs"],
        ),
        ("a**", ["a", "a/b/c"], ["a\n", "b"]),
    ],
)
def test_a_glob_over_plain_text_takes_slashes_of_either_kind(
    written: str, matching: list[str], others: list[str]
) -> None:
    assert [text for text in (*matching, *others) if slashed(written).matches(text)] == matching


def test_a_glob_over_plain_text_has_no_backslash() -> None:
    with pytest.raises(Unusable):
        slashed("a\\b")


def test_a_text_with_stars_is_one_pattern() -> None:
    assert single("a*b").matches("a x b")
    assert not single("a:*").matches("a x")


def test_a_name_of_a_tool_is_a_glob_behind_an_equals_sign() -> None:
    assert names("=a?").matches("ab")
    assert not names("a?").matches("ab")
    assert names("a*").matches("a/b")
    assert not names("=a*").matches("a/b")


def test_a_range_is_so_many_characters_and_no_more() -> None:
    most = limits.CLASS_CHARACTERS
    assert len(characters_of(f"a-{chr(ord('a') + most - 1)}")) == most
    with pytest.raises(Unusable, match="more than"):
        characters_of(f"a-{chr(ord('a') + most)}")
    assert characters_of("a-cx") == {*"abcx"}
    assert characters_of("x-") == {*"x-"}


def test_texts_are_joined_by_so_many_blanks() -> None:
    texts = ["", "a", " ", "a b", "a ", "a b c", "  c", "a b c d"]
    for count, held in ((1, texts), (2, texts[2:]), (3, texts[5:])):
        assert [text for text in texts if joined(count).holds(text)] == held


def test_letters_match_in_any_case_but_for_a_folder_at_the_start() -> None:
    def matches(tokens: list[object], text: str) -> bool:
        return Pattern.of(PatternKind.PATH, in_any_case(tokens, ["/x", "/home"])).matches(text)  # type: ignore[arg-type]

    assert matches(["/home/a"], "/home/A")
    assert not matches(["/home/a"], "/HOME/a")
    assert matches(["/home"], "/home")
    assert not matches(["/home"], "/HOME")
    assert matches(["/homes"], "/HOMES")
    assert matches([Gap.DEEP, "/home"], "/b/HOME")
    either = ["/", Alternatives.of(["a"], ["b", OneOf(frozenset("cD"))])]
    found = [text for text in ("/A", "/BC", "/bd", "/c") if matches(either, text)]
    assert found == ["/A", "/BC", "/bd"]
    others = ["/", OneOf(frozenset("a"), negated=True)]
    assert [text for text in ("/a", "/A", "/b") if matches(others, text)] == ["/b"]
    # A letter beyond ASCII has the cases that ECMAScript knows.
    for letters, stranger in (
        ("éÉ", "e"),
        ("σςΣ", "s"),
        ("ß", "\u1e9e"),
        ("\u017f", "s"),
        ("k", "\u212a"),
    ):
        for one, other in itertools.product(letters, repeat=2):
            assert matches(["/", one], f"/{other}")
        assert not matches(["/", letters[0]], f"/{stranger}")


@pytest.mark.parametrize("written", ["[", "a[b", "[!", "../a", "a/./b", "[z-a]", "[]", "[/]"])
def test_what_no_path_can_match_is_refused(written: str) -> None:
    with pytest.raises(Unusable):
        paths(written)


def test_what_is_too_long_is_refused() -> None:
    most = limits.PATTERN_CHARACTERS
    for read in (single, commands, hosts, paths, slashed):
        assert read("a" * most)
        with pytest.raises(Unusable, match=f"a pattern has at most {most:,} characters"):
            read("a" * (most + 1))


def test_an_anchor_is_taken_literally() -> None:
    (pattern,) = paths("a", "/x*[y]")
    assert pattern.matches("/x*[y]/a")
    assert not pattern.matches("/xz/a")


# --- against git --------------------------------------------------------------------

_NAMES = ["a", "b", "ab", "ba", "a.b"]
_FILES = [
    *_NAMES,
    *(f"{x}/{y}" for x in _NAMES[:3] for y in _NAMES[:3]),
    "a/b/a",
    "a/a/b/b",
    "b/ab/a/a",
]

# What `git check-ignore` says otherwise, on purpose:
#   `!x` negates and `#x` comments in a file; here they are names;
#   blanks at the end of a line are no part of its pattern; here they are;
#   `x/` ignores the folder itself; here it is what lies below, as for `x/**`;
#   an unclosed `[` and a `\` at the end match nothing there; here they are refused, or literal;
#   `[[:alpha:]]` is a class there; here it is the characters written.


def _globs(dice: random.Random) -> str:
    pieces = ["a", "b", "*", "?", "[ab]", "[!a]", "a", "."]
    segments = [
        "**" if dice.random() < 0.25 else "".join(dice.choices(pieces, k=dice.randint(1, 2)))
        for _ in range(dice.randint(1, 3))
    ]
    return dice.choice(["", "", "/"]) + "/".join(segments)


def _usable(glob: str) -> bool:
    segments = glob.split("/")
    return "." not in segments and ".." not in segments


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_paths_are_matched_as_git_does(tmp_path: Path) -> None:
    git = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    dice = random.Random(5)
    for glob in filter(_usable, (_globs(dice) for _ in range(250))):
        (tmp_path / ".gitignore").write_text(glob + "\n")
        asked = "\n".join(_FILES) + "\n"
        run = subprocess.run(
            [*git, "check-ignore", "--no-index", "--stdin"],
            input=asked,
            capture_output=True,
            text=True,
            check=False,
        )
        ignored = set(run.stdout.split())
        patterns = paths(glob)
        assert {file for file in _FILES if _matches(patterns, f"/{file}")} == ignored, glob


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("a*.b", ["/a.b", "/x/axy.b", "/a.b/c"], ["/a/x.b", "/xa.b"]),
        ("a?b", ["/axb", "/x/axb"], ["/ab", "/a/b", "/axyb"]),
        ("/a/*", ["/a/b", "/a/b/c"], ["/a", "/x/a/b"]),
        ("aB", ["/aB"], ["/ab", "/AB"]),
        ("a/", ["/a/b", "/x/a/b"], ["/a"]),
        ("a/**", ["/a/b", "/a/b/c"], ["/a"]),
        ("!a", ["/!a"], ["/a", "/b"]),
        ("#a", ["/#a"], ["/a"]),
        ("a ", ["/a "], ["/a"]),
        ("\\*", ["/*"], ["/a"]),
        ("a\\", ["/a\\"], ["/a"]),
        ("[a-c]x", ["/ax", "/cx"], ["/dx"]),
        ("[]a]x", ["/]x", "/ax"], ["/bx"]),
        ("[!]a]x", ["/bx"], ["/]x", "/ax"]),
        ("[^a]x", ["/bx"], ["/ax"]),
        ("[a-]x", ["/-x", "/ax"], ["/bx"]),
        ("**", ["/a", "/a/b"], [""]),
        ("/", ["/a", "/a/b"], [""]),
        ("**/a/**/b", ["/a/b", "/x/a/y/z/b", "/a/b/c"], ["/a", "/b"]),
    ],
)
def test_globs_with_their_deliberate_differences(
    glob: str, matching: list[str], others: list[str]
) -> None:
    patterns = paths(glob)
    assert [path for path in matching if not _matches(patterns, path)] == []
    assert [path for path in others if _matches(patterns, path)] == []


def test_a_path_of_a_host_that_ignores_case_is_matched_in_one_case() -> None:
    patterns = paths("aB/*.Md", "/X", fold=True)
    assert _matches(patterns, "/x/ab/c.md")
    assert not _matches(patterns, "/X/aB/c.Md")  # the paths of calls are in that case too


def test_letters_are_one_where_ecmascript_ignores_case() -> None:
    def canonical(letter: str) -> str:
        """Return what `Canonicalize` of ECMA-262 does, without the flag `u`."""
        capital = letter.upper()
        is_unit = letter <= "\uffff" and len(capital) == 1
        becomes_ascii = not letter.isascii() and capital.isascii()
        return capital if is_unit and not becomes_ascii else letter

    letters = [*map(chr, range(0x20000))]
    forms = {(folded(letter), canonical(letter)) for letter in letters}
    assert all(len(form) == 1 for form, _ in forms)
    assert len(forms) == len({form for form, _ in forms}) == len({each for _, each in forms})


@pytest.mark.parametrize(
    ("glob", "matched", "others"),
    [
        # A slash at the end means folders, and all in them. `src` is one; the anchor is none.
        ("src/**/", ["/r/src/a", "/r/src/a/b"], ["/r/src", "/r/a/b"]),
        ("**/", ["/r/a/b"], ["/r/a"]),
        ("**", ["/r/a", "/r/a/b"], ["/r"]),
    ],
)
def test_a_double_star_with_a_slash_behind_it_matches_what_is_in_folders(
    glob: str, matched: list[str], others: list[str]
) -> None:
    (pattern,) = paths(glob, "/r")
    assert all(map(pattern.matches, matched))
    assert not any(map(pattern.matches, others))
