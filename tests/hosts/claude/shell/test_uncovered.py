"""No text of a command vanishes, whatever the grammar has no node for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.front_end import ClaudeOptions
from policy.hosts.claude.session import session
from policy.hosts.claude.shell import bash
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

SHELL = dialect(
    session(ClaudeOptions(cwd="/srv/app", home="/home/alice"), [], {}, {}), "default"
).shell

_WORDS = st.lists(
    st.one_of(
        st.sampled_from(["-", "-", "-", "--", "+", "$", "-$", "A=1", "-3", "3", "'a b'", '"-"']),
        st.text("-+$%:,.=@^~/a1", min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=4,
)
_INPUT = st.sampled_from(["", "", "<<'E'", "<<-'E'", "<<E", "3<<'E'", "< in", "> out", "<<< in"])
_AROUND = st.sampled_from(
    [
        "{}",
        "{}",
        "! {}",
        "({}\n)",
        "{{ {}\n}}",
        "if {}\nthen ls\nfi",
        "ls; {}",
        "ls | {}",
        "ls && {}",
    ]
)


@settings(max_examples=300)
@given(words=_WORDS, given=_INPUT, around=_AROUND)
def test_no_character_of_a_word_is_lost(words: list[str], given: str, around: str) -> None:
    text = " ".join([*words, given]).rstrip()
    text += "\nx\nE" if "E" in given else ""

    script = bash.read_script(around.format(text), SHELL)
    if script is None:
        return  # nothing of it is allowed
    read = "".join(word.raw for command in script.commands for word in command.words)
    assert script.unread or not Counter("".join(words)) - Counter(read)


_DOCUMENT = "<<'E'\nx\nE"


@pytest.mark.parametrize(
    "command",
    [
        *(f"python3 - {_DOCUMENT}", f"python3 -  {_DOCUMENT}", f"python3 -{_DOCUMENT}"),
        *("python3 - <<E\nx\nE", "python3 - <<-'E'\n\tx\n\tE", f"python3 \\\n - {_DOCUMENT}"),
        *(f"A=1 python3 - {_DOCUMENT}", f"timeout 5 python3 - {_DOCUMENT}"),
        *(
            f"! python3 - {_DOCUMENT}",
            f"ls | python3 - {_DOCUMENT}",
            f"ls && python3 - {_DOCUMENT}",
        ),
        *(f"x=$(python3 - {_DOCUMENT}\n)", f"if ls; then python3 - {_DOCUMENT}\nfi"),
        *(f"(python3 - {_DOCUMENT}\n)", "python3 - <<'E' | cat\nx\nE"),
    ],
)
def test_a_rule_that_denies_knows_a_dash_before_a_document(command: str) -> None:
    assert str(decide(command, allow=["Bash"], deny=["Bash(python3 - *)"])) == "deny"
    assert str(decide(command, allow=["Bash"], deny=["Bash(python3 -)"])) == "deny"


@pytest.mark.parametrize("command", ["python3 - $", "python3 - $ x", "python3 - $ && ls"])
def test_a_rule_that_denies_knows_a_dash_before_a_lone_dollar(command: str) -> None:
    assert str(decide(command, allow=["Bash"], deny=["Bash(python3 - *)"])) == "deny"


@pytest.mark.parametrize("command", ["- A=1", "- A=1 ls", "ls; - A=1", "(- A=1)", "! - A=1 ls"])
def test_a_program_that_no_node_covers_is_asked_for_and_denied(command: str) -> None:
    assert str(decide(command, allow=["Bash(ls:*)", "Bash(A=1:*)"])) == "ask"
    assert str(decide(command, allow=["Bash"], deny=["Bash(- *)"])) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *(f"git commit -F - {_DOCUMENT}", f"git log && git commit -F - {_DOCUMENT}"),
        f"timeout 5 git commit -F - {_DOCUMENT}",
    ],
)
def test_a_dash_before_a_document_is_a_word_to_rules_that_allow(command: str) -> None:
    assert str(decide(command, allow=["Bash(git:*)"])) == "allow"
    assert str(decide(command, allow=["Bash(git commit -F)", "Bash(git log)"])) == "ask"
