"""Settings of Claude Code, edited: what a comparison tells, and every command of a universe.

Which commands run without a rule, which rules look through a wrapper, and which files a
command opens all decide beside the rules about commands. Where a comparison says that it
is exact, no command may come from one effect to another where it does not tell of both.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.compare.commands import CommandPair
from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import Table
from tests.effort import examples
from tests.told import is_told

_PROGRAMS = (
    "a", "rm x", "git push x", "git status", "ls", "ls a", "cat a", "cat .env", "sed -n 1p a",
    "sed -n 1w a", "find . -delete", "tee a", "cp a b", "echo x", "xargs cat",
    "git log", "git log -p a", "git log --output=x", "git diff a", "git -c x=y log", "ls [a]",
    "ls '[a]'", "find . -name a", "find a -name '*.b'", "find -L .", "awk x", "awk x -f y", "awk -f",
    "env", "env a", "env -i x", "env -S x", "env A=1 a", "echo a=b", "for x", "'for' x", "while a",
    "[ a = b ]", "[[ a ]]", "x=1 a", "a=b", "! ls", "coproc ls", "{ ls; }", "'do' x", "if a",
    "npm run x", "python3 -c x", "bash -c 'rm x'", "exec a", "eval a", "source a", "sort -o b a",
    "a[b] c", "./a x", "b/a x", "'*' x", "a=1=2", "-x a", "tail -f a", "nice -n 5 ls", "cd ..",
)  # fmt: skip
_FORMS = (
    "{}",
    "sudo {}",
    "timeout 5 {}",
    "nohup {}",
    "LANG=C {}",
    "{} > .env",
    "{} < a",
    "{} $x",
    "cd src && {}",
    "{} &",
)
COMMANDS = [form.format(program) for program in _PROGRAMS for form in _FORMS] + [
    "", ";", "$x", "cd src", "ls /etc", "cat /etc/x", "x=1", "( ls )", "cat ../b", "cat ~/b",
    "cat *", "for i in a; do ls; done", "echo $(ls)", "ls | cat", "'ls' a", "/bin/ls", "A=1 ls",
    "bash -c 'rm x'", "ls 2>/dev/null", "command ls", "[ -f a ]", "touch a", "touch 'a b'",
    "mkdir src", "nohup mkdir .env", "mv a b", "rm -r src", "sed -E s/a/b/ a", "sed -Ei s/a/b/ a",
    "sed -ni s/a/b/ .env", "sed -f .env b", "sed -n -f a b", "timeout 5 sed -n 1p a", "touch a &",
]  # fmt: skip

_BASH = (
    "a", "a *", "*", "ls", "ls *", "ls:*", "cat *", "cat .env", "sed *", "sed -n *", "git *",
    "git status", "git push *", "rm *", "rm x", "sudo *", "timeout *", "nohup *", "nohup ls",
    "LANG=C *", "A=1 *", "* x", "* a", "* a *", "echo *", "find *", "tee *", "cp *", "cd *",
    "ls && cat *", "xargs *", "cat src/*", "/bin/*", "*status*", "[ *", "for *", "for x*", "while *",
    "[ -f *", "[[ *", "a=* b", "A=* ls", "*=*", "x=1", "env *", "env -*", "env * x", "awk *",
    "awk * -f y", "awk -f *", "git log *", "git log", "git log --output=*", "git -c *", "git diff *",
    "find . *", "find . -name *", "find * -delete", "ls [a]*", "a[b] *", "*[a]*", "! *", "time *",
    "coproc *", "do *", "if *", "./*", "*/a *", "q*", "s*", "c*", "*o *", "nice -n 5 *", "ls -l*",
    "sort -o *", "tail -f *", "npm run *", "python3 -c *", "bash *", "bash -c *", "exec *", "eval *",
    "command *", "source *", "cd ..", "*:*", "* *", "*.js *", "a && *", "timeout 5 a", "timeout 5 rm x",
    "nohup rm *", "timeout 5 npm run x", "npm *", "sudo rm x", "A=1 a", "git push x", "cd src && a",
)  # fmt: skip
_FILES = ("a", ".env", "src/**", "**", "*", "//etc/**", "~/b", "../b", "b", "o", "**/.env")

_commands = st.sampled_from(_BASH).map("Bash({})".format)
_opened = st.tuples(st.sampled_from(("Read", "Edit", "Write")), st.sampled_from(_FILES))
_rules = st.one_of(
    _commands,
    _commands,
    _opened.map(lambda pair: f"{pair[0]}({pair[1]})"),
    st.sampled_from(("Bash", "Read", "Edit")),
)
_Lists = dict[str, list[str]]
_lists = st.fixed_dictionaries(
    {effect: st.lists(_rules, max_size=3) for effect in ("allow", "ask", "deny")}
)
_MODES = ("default", "dontAsk", "acceptEdits", "plan", "bypassPermissions")


@st.composite
def _edited(draw, lists) -> tuple[_Lists, _Lists]:
    before = draw(lists)
    after = {effect: list(rules) for effect, rules in before.items()}
    for _ in range(draw(st.integers(1, 2))):
        rules = after[draw(st.sampled_from(sorted(after)))]
        if rules and draw(st.booleans()):
            rules.pop(draw(st.integers(0, len(rules) - 1)))
        else:
            rules.append(draw(_rules))
    return before, after


_modes = st.one_of(
    st.sampled_from(_MODES).map(lambda mode: (mode, mode)),
    st.sampled_from(
        (("default", "dontAsk"), ("default", "bypassPermissions"), ("plan", "default"))
    ),
)
# Modes of which one edits files without a rule.
_EDITING = (
    ("default", "acceptEdits"), ("acceptEdits", "default"), ("acceptEdits", "dontAsk"),
    ("plan", "acceptEdits"), ("acceptEdits", "bypassPermissions"), ("dontAsk", "acceptEdits"),
)  # fmt: skip


def _table(lists: _Lists, mode: str) -> Table:
    content = json.dumps({"permissions": {**lists, "defaultMode": mode}})
    (project,) = load_tree(Memory({".claude/settings.json": content})).projects
    return Chain.start("main", project.enforced).table


def _check(edited: tuple[_Lists, _Lists], modes: tuple[str, str]) -> bool:
    before, after = (_table(*side) for side in zip(edited, modes, strict=True))
    comparison = differences(before, after)
    told = set()
    for each in comparison.differences:
        effects = [side.decide(each.tool, each.call).effect for side in (before, after)]
        assert effects == [each.before.effect, each.after.effect]
        assert effects[0] is not effects[1]
        told |= {each.effects} if each.tool == "Bash" else set()
    for command in COMMANDS if comparison.exact else ():
        was, now = (side.decide("Bash", {"command": command}).effect for side in (before, after))
        assert is_told(was, now, told, "Bash"), command
    return comparison.exact


def _with(mode: str, **added: list[str]):
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    return (nothing, {**nothing, **added}), (mode, mode)


@example(*_with("dontAsk", allow=["Bash(ls)"]))  # `nohup ls` is not known to do no harm
@example(*_with("default", ask=["Bash(sed *)"]))  # of `sed` only `-n` and a print does none
@example(*_with("dontAsk", deny=["Read(a)"]))
@example(*_with("default", deny=["Edit(.env)"]))
@example(*_with("default", deny=["Read"]))  # behind `cd` a command may read what is denied
@example(*_with("default", ask=["Bash"]))
@examples(10)
@given(_edited(_lists), _modes)
def test_no_command_changes_that_a_comparison_of_settings_does_not_tell_of(edited, modes) -> None:
    _check(edited, modes)


@pytest.mark.slow
@examples(80)
@given(_edited(_lists), _modes)
def test_no_command_of_many_changes_that_a_comparison_does_not_tell_of(edited, modes) -> None:
    _check(edited, modes)


# What rules allow beside the one for every command is asked for in the background.
_open = _edited(_lists.map(lambda lists: {**lists, "allow": ["Bash", *lists["allow"]]}))


@examples(8)
@given(_open, _modes)
def test_no_command_changes_untold_where_every_one_is_allowed(edited, modes) -> None:
    _check(edited, modes)


@pytest.mark.slow
@examples(80)
@given(_open, _modes)
def test_no_command_of_many_changes_untold_where_every_one_is_allowed(edited, modes) -> None:
    _check(edited, modes)


@examples(6)
@given(_edited(_lists), st.sampled_from(_EDITING))
def test_no_command_changes_untold_where_a_mode_begins_to_edit_files(edited, modes) -> None:
    _check(edited, modes)


@pytest.mark.slow
@examples(40)
@given(_edited(_lists), st.sampled_from(_EDITING))
def test_no_command_of_many_changes_untold_where_a_mode_begins_to_edit(edited, modes) -> None:
    _check(edited, modes)


@pytest.mark.parametrize("modes", _EDITING, ids=" to ".join)
def test_a_mode_that_edits_files_is_compared_exactly(modes) -> None:
    rules = {"allow": ["Bash(git *)"], "ask": ["Bash(rm *)"], "deny": ["Read(.env)"]}
    assert _check((rules, rules), modes)


@pytest.mark.parametrize("modes", [("acceptEdits", "dontAsk"), ("dontAsk", "acceptEdits")])
@pytest.mark.parametrize(
    "rules",
    [
        {"allow": ["Edit(**)"], "ask": [], "deny": ["Edit(.env)", "Bash(eval *)"]},
        # What is behind a program that runs others is known by its own text as well.
        {"allow": [], "ask": ["Bash(env * x)"], "deny": []},
        {"allow": ["Bash(find . *)"], "ask": ["Bash(! *)"], "deny": ["Bash(cat .env)"]},
    ],
)
def test_a_mode_that_edits_files_is_compared_exactly_with_one_that_asks_nobody(
    rules, modes
) -> None:
    assert _check((rules, rules), modes)


@pytest.mark.parametrize(
    ("before", "after", "modes"),
    [
        # What a mode asks for that denies it then speaks up for nobody.
        ({"deny": ["Bash(* *)"]}, {"allow": ["Bash(ls -l*)"], "deny": ["Bash(* *)"]}, "default dontAsk"),
        ({"ask": ["Bash(a)"]}, {"ask": ["Bash(a)", "Bash(*=*)"]}, "acceptEdits dontAsk"),
        # What cannot be taken apart could only change in a direction that is told.
        ({"allow": ["Bash(* *)"]}, {"allow": ["Bash(* *)"], "deny": ["Bash(sed *)"]}, "plan acceptEdits"),
    ],
)  # fmt: skip
def test_no_command_changes_untold_where_rules_change_with_their_mode(before, after, modes) -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    one, other = modes.split()
    _check(({**nothing, **before}, {**nothing, **after}), (one, other))


@pytest.mark.parametrize(
    ("before", "after", "mode"),
    [
        # What is asked for alone is denied in a pipe that a rule with a star denies.
        ({"deny": ["Bash(* *)"]}, {"ask": ["Bash(cat *)"], "deny": ["Bash(* *)"]}, "default"),
        ({"allow": ["Bash"], "deny": ["Bash(* *)"]},
         {"allow": ["Bash"], "ask": ["Bash"], "deny": ["Bash(* *)"]}, "default"),
        # So is what writes a file, unless a rule asks for the command.
        ({"ask": ["Bash"], "deny": ["Bash(* a *)"]}, {"deny": ["Bash(* a *)"]}, "default"),
        # Of the programs that may read a file in another folder a rule asks for one alone.
        ({"ask": ["Bash(cat *)"]}, {"ask": ["Bash(cat *)"], "deny": ["Read(~/b)"]}, "default"),
    ],
)  # fmt: skip
def test_what_commands_come_to_together_is_compared(before, after, mode) -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    _check(({**nothing, **before}, {**nothing, **after}), (mode, mode))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A hundred lines of the host deny what they asked for, behind wrappers too.
        ({"allow": ["Bash(xargs *)"], "deny": ["Bash(git *)", "Bash(* x)"]}, {"allow": ["Bash(xargs *)"], "deny": ["Bash(* x)"]}),
        ({"allow": ["Bash", "Bash(* a *)"]}, {"allow": ["Bash", "Bash(* a *)"], "deny": ["Bash(a[b] *)"]}),
        # Behind a wrapper too a word of the shell is a program in quotes.
        ({"allow": ["Bash(for *)"]}, {"allow": ["Bash(for *)"], "ask": ["Bash(nohup *)"]}),
    ],
)  # fmt: skip
def test_no_command_changes_untold_where_nobody_is_asked_any_more(before, after) -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    _check(({**nothing, **before}, {**nothing, **after}), ("default", "dontAsk"))


def test_a_rule_for_what_runs_unasked_is_shown_behind_a_wrapper_behind_which_it_does_not() -> None:
    before: _Lists = {"allow": [], "ask": ["Edit(**)"], "deny": []}
    after = {**before, "allow": ["Bash(find . -name *)"]}
    assert _check((before, after), ("acceptEdits", "acceptEdits"))


def test_modes_know_alike_which_files_a_command_opens() -> None:
    known = [
        {name: program.opening for name, program in programs.items()}
        for programs in (READ_ONLY_PROGRAMS, EDITING_PROGRAMS)
    ]
    assert known[0] == known[1]


@pytest.mark.parametrize(
    ("edited", "modes"),
    [
        _with("dontAsk", allow=["Bash(ls)"]),
        _with("dontAsk", allow=["Bash(ls *)"]),
        _with("default", allow=["Bash(npm run *)"], ask=["Bash(git *)"]),
        _with("default", ask=["Bash(sed * a)"]),
        _with("default", deny=["Bash(* --force)"]),
        _with("dontAsk", deny=["Read(a)", "Edit(**/.env)"]),
        _with("acceptEdits", deny=["Bash(rm *)"], ask=["Read(//etc/**)"]),
        _with("default", allow=["Bash(timeout *)"]),
    ],
)
def test_what_a_host_lets_run_without_a_rule_is_compared_exactly(edited, modes) -> None:
    assert _check(edited, modes)


@pytest.mark.parametrize(
    ("mode", "added", "command"),
    [
        ("default", {"ask": ["Bash(sed *)"]}, "sed -n 1p README.md"),
        ("default", {"ask": ["Bash(git *)"]}, "git status"),
        ("dontAsk", {"deny": ["Read(a)"]}, None),
        # A test ends where it is closed.
        ("dontAsk", {"deny": ["Bash([ -f *)"]}, "[ -f x ]"),
    ],
)
def test_a_command_that_runs_without_a_rule_is_a_witness(mode, added, command) -> None:
    (before, after), _ = _with(mode, **added)
    found = differences(_table(before, mode), _table(after, mode)).differences
    (shown,) = [each for each in found if each.tool == "Bash"]
    assert (shown.before.effect.value, shown.after.effect.value)[0] == "allow"
    assert command is None or shown.call == {"command": command}


@pytest.mark.parametrize(
    ("rule", "commands"),
    [
        # By itself it runs unasked on both sides: what the rule gives is the others.
        ("Bash(git diff:*)", ["time git diff main"]),
        ("Bash(ls:*)", ["time ls src"]),  # with any option it runs unasked
        ("Bash(make*)", ["make"]),  # what a star would only make longer is left out
    ],
)
def test_a_rule_is_shown_by_a_command_of_its_own_words(rule, commands) -> None:
    (before, after), _ = _with("default", allow=[rule])
    found = differences(_table(before, "default"), _table(after, "default")).differences
    assert [each.call["command"] for each in found if each.tool == "Bash"] == commands


def test_a_rule_for_a_command_that_no_star_allows_is_compared_exactly() -> None:
    # It reads a program from a file: only a rule that spells it out allows it.
    (before, after), _ = _with("default", allow=["Bash(awk x -f y)"])
    comparison = differences(_table(before, "default"), _table(after, "default"))
    assert comparison.why == ()
    shown = [each for each in comparison.differences if each.tool == "Bash"]
    assert [each.call["command"] for each in shown] == ["awk x -f y"]


def test_a_command_that_cannot_be_taken_apart_stands_for_no_other_one() -> None:
    before = _table({"allow": ["Bash(env * x)"], "ask": [], "deny": []}, "default")
    after = _table({"allow": ["Bash(env * x)"], "ask": ["Bash(env -*)"], "deny": []}, "default")
    call = {"command": "env -i x"}
    assert [t.decide("Bash", call).effect for t in (before, after)] == [Effect.ALLOW, Effect.ASK]
    found = differences(before, after)
    assert not found.exact or any(each.tool == "Bash" for each in found.differences)


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_a_rule_with_open_ends_is_compared_exactly_beside_hundreds_of_others(effect) -> None:
    others = [f"Bash(p{number} *)" for number in range(300)]
    before: _Lists = {"allow": [], "ask": [], "deny": [], effect: others}
    after: _Lists = {**before, "ask": [*before["ask"], "Bash(*install*)"]}
    assert differences(_table(before, "default"), _table(after, "default")).exact


def test_a_rule_for_what_is_no_program_is_compared_exactly() -> None:
    # What leads other commands is no program, unless its name is in quotes.
    before, after = (
        _table({"allow": [*some], "ask": [], "deny": []}, "default")
        for some in ([], ["Bash(for x*)"])
    )
    comparison = differences(before, after)
    assert comparison.why == ()
    (shown,) = [each.call["command"] for each in comparison.differences if each.tool == "Bash"]
    assert shown == "'for' x"


def test_a_rule_for_what_is_no_program_is_shown_in_quotes_that_no_other_rule_asks_for() -> None:
    rules = {"allow": [], "ask": ["Bash(*'*)"], "deny": []}
    sides = (_table(each, "default") for each in ({**rules, "allow": ["Bash(for x*)"]}, rules))
    before, after = sides
    (shown,) = [each for each in differences(before, after).differences if each.tool == "Bash"]
    assert shown.call == {"command": '"for" x'}


def test_rules_that_spell_out_operators_are_compared_exactly_where_they_change_one_way() -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    assert _check((({**nothing, "deny": ["Bash(echo $*)"]}), nothing), ("acceptEdits",) * 2)


@pytest.mark.parametrize(
    ("effect", "rule", "changes"),
    [
        ("deny", "* | head", {(Effect.ASK, Effect.DENY), (Effect.ALLOW, Effect.DENY)}),
        ("deny", "* && rm *", {(Effect.ASK, Effect.DENY), (Effect.ALLOW, Effect.DENY)}),
        # No command is known by such a text to what allows.
        ("allow", "cd src && npm *", set()),
        ("allow", "a; *", set()),
    ],
)
def test_rules_that_spell_out_several_commands_are_compared_exactly(effect, rule, changes) -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    after = {**nothing, effect: [f"Bash({rule})"]}
    assert _check((nothing, after), ("default", "default"))
    found = differences(_table(nothing, "default"), _table(after, "default")).differences
    assert {each.effects for each in found if each.tool == "Bash"} == changes


@pytest.mark.parametrize(
    "rule", ["* | head", "echo 'a && *", "[[ a && *", "if a; *", "echo $(a; *"]
)
def test_rules_that_allow_what_may_be_one_command_are_not_compared_in_silence(rule) -> None:
    nothing: _Lists = {"allow": [], "ask": [], "deny": []}
    sides = (_table({**nothing, "allow": some}, "default") for some in ([], [f"Bash({rule})"]))
    before, after = sides
    found = differences(before, after)
    assert found.why or any(each.tool == "Bash" for each in found.differences)


def test_a_rule_for_what_is_no_program_is_told_beside_a_mode_that_asks_again() -> None:
    before = _table({"allow": ["Bash(for x*)"], "ask": [], "deny": []}, "dontAsk")
    after = _table({"allow": [], "ask": [], "deny": []}, "default")
    shown = differences(before, after).differences
    assert {each.widened for each in shown if each.tool == "Bash"} == {False, True}


@pytest.mark.parametrize("modes", [("default", "dontAsk"), ("dontAsk", "default")])
def test_a_mode_that_asks_nobody_is_compared_exactly_beside_open_rules(modes) -> None:
    rules = {"allow": ["Edit(o)"], "ask": ["Bash(*=*)", "Bash(echo *)", "Bash(* x)"], "deny": []}
    before, after = (_table(rules, mode) for mode in modes)
    comparison = differences(before, after)
    assert comparison.why == ()
    told = {each.widened for each in comparison.differences if each.tool == "Bash"}
    assert told == {modes[1] == "default"}


def test_a_rule_that_asks_for_every_agent_starts_none_that_is_not_there() -> None:
    content = json.dumps({"permissions": {"ask": ["Agent"]}})
    (project,) = load_tree(Memory({".claude/settings.json": content})).projects
    main = Chain.start("main", project.attenuated)
    assert main.spawn("Explore").links[-1].confirm == ("main",)
    for agent in ("main", "nobody"):
        with pytest.raises(SpawnDenied):
            main.spawn(agent)


def test_commands_are_searched_once_for_both_tools_that_run_them(monkeypatch) -> None:
    searched: list[str] = []
    search = CommandPair.differences

    def counted(pair: CommandPair) -> object:
        searched.append(pair.tool)
        return search(pair)

    monkeypatch.setattr(CommandPair, "differences", counted)
    lists: _Lists = {"allow": ["Bash(npm *)"], "ask": [], "deny": ["Bash(* x)"]}
    edited: _Lists = {"allow": ["Bash(npm *)", "Bash(make *)"], "ask": [], "deny": []}
    comparison = differences(_table(lists, "default"), _table(edited, "default"))
    assert comparison.exact
    assert {*searched} == {"Bash"}
    told = {
        tool: [(each.call, *each.effects) for each in comparison.differences if each.tool == tool]
        for tool in ("Bash", "Monitor")
    }
    assert len(told["Bash"]) > 1
    assert told["Bash"] == told["Monitor"]
    # A rule of one of them alone tells them apart.
    searched.clear()
    edited["deny"] = ["Monitor(persistent:true)"]
    assert differences(_table(lists, "default"), _table(edited, "default")).exact
    assert {*searched} == {"Bash", "Monitor"}
