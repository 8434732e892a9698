"""The ways people write patterns; those for paths against git itself."""

from __future__ import annotations

import random
import shutil
import string
import subprocess
import sys
from pathlib import Path

import pytest

from policy.patterns.notations import Unusable, commands, hosts, paths, single
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import folded, with_others


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


@pytest.mark.parametrize("written", ["[", "a[b", "[!", "../a", "a/./b", "[z-a]", "[]", "[/]"])
def test_what_no_path_can_match_is_refused(written: str) -> None:
    with pytest.raises(Unusable):
        paths(written)


def test_what_is_too_long_is_refused() -> None:
    for read in (single, commands, hosts, paths):
        with pytest.raises(Unusable):
            read("a" * 70_000)


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


def test_letters_taken_for_a_plain_one_are_those_of_which_it_is_the_small_one() -> None:
    names = {each: Pattern.of(PatternKind.PATH, with_others(each)) for each in string.ascii_letters}
    for letter in map(chr, range(sys.maxunicode + 1)):
        smaller = {letter.lower(), letter.upper().lower()}
        for name in smaller.intersection(string.ascii_letters):
            assert names[name].matches(folded(letter)), letter
    for name, pattern in names.items():
        taken = {
            letter for token in pattern.tokens for letter in getattr(token, "characters", token)
        }
        assert {letter.upper().lower() for letter in taken} == {name.lower()}
