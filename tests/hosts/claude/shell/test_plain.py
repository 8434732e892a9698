"""Commands of plain words and operators, which one expression reads."""

from __future__ import annotations

import random

import pytest

from policy.commands.read import Scanner
from policy.hosts.claude.shell.plain import read_plain

_PLAIN = [
    "git add . && git commit -m 'x' 2>&1 | tail -5", "make; ", "\nls\n\nls a\n", "a || b |& c", "ls >f x", "x=1",
    "ls '*' a*", 'echo "{a}" \'b c\'', "ls <f >>g 2>/dev/null", "cd a\nls 'a'\"b\"", "x='a b'; ls", "a;\nb",
]  # fmt: skip
_SNIPPETS = [
    *"ab=12?*{}~ ;|<>\n\t#", "x=1", "'q r'", '"s"', "'{'", '"{"a', "//", "/", "-c", "||", "&&", ">>", "2>", "&>", ">&1", "2>&1",
    "> /dev/null", "if", "time", "export", "[[", "|&", ">|", "cd", "sudo", "ls ", " ", " ",
]  # fmt: skip


def test_what_one_expression_reads_is_read_as_the_scanner_does() -> None:
    dice = random.Random(5)
    texts = [
        *_PLAIN,
        *("".join(dice.choices(_SNIPPETS, k=dice.randint(1, 9))) for _ in range(4000)),
    ]
    plain = {text: script for text in texts if (script := read_plain(text)) is not None}
    assert [*plain][: len(_PLAIN)] == _PLAIN
    for text, script in plain.items():
        scanned = Scanner(text).run()
        assert not scanned.ambiguities, text
        assert scanned.targets == script.targets, text
        commands = [each.words for each in scanned.commands if each.words]
        assert commands == [each.words for each in script.commands], text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ls", [""]),
        ("ls >f", ["redirected writes_file"]),
        ("ls <f; ls", ["redirected", ""]),
        ("ls 2>&1", ["redirected"]),
        ("ls >f x", ["redirected writes_file has_words_behind"]),
        ("ls <f 'x'", ["redirected has_words_behind"]),
        ("ls a >f; ls a", ["redirected writes_file", ""]),
        ("a | b |& c; d && e", ["piped", "piped", "piped", "", ""]),
    ],
)
def test_a_plain_command_says_how_it_is_redirected_and_joined(text: str, said: list[str]) -> None:
    script = read_plain(text)
    assert script is not None
    flags = ("redirected", "writes_file", "has_words_behind", "piped")
    told = [" ".join(f for f in flags if getattr(each, f)) for each in script.commands]
    assert told == said
    assert script.split is ("piped" in told)
    assert script.plain
