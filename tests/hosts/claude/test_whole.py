"""Commands that a rule spells out as a whole, as Claude Code 2.1.329 was seen to decide them."""

from __future__ import annotations

import json

import pytest

from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.files.opening import Memory
from policy.hosts.claude import load
from tests.claude_session import decide, table

pytest.importorskip("tree_sitter_bash")

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *("foo; bar", "foo && bar", "foo || bar", "cd src; env A=1 foo", "foo\nbar"),
        *(
            "if foo; then bar; fi",
            "while foo; do bar; done",
            "true || sudo foo",
            "time foo; git log",
        ),
        # Not even what it opens is asked for.
        *("foo > out; bar", "bar; foo > /etc/x", "bar; cat /etc/passwd", "cd /etc; foo"),
        # What nobody looks into.
        *("foo {a,b}", "f() { foo; }", "foo; { bar; }", "eval foo", ". ./x"),
        *("for i in 1 2; do foo; done", "foo $((1+1))", "make (x)"),
        # No pipe.
        "foo '|' bar; baz",
    ],
)
def test_a_rule_of_the_same_text_allows_a_command_of_several_parts(command: str) -> None:
    assert decide(command, allow=[f"Bash({command})"]) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        # Each part of a pipe is asked for by itself, and a group between parentheses is.
        *("foo | bar", "foo |& bar", "foo; a | b", "a && b | c", "! foo | bar", "git log | foo"),
        *(
            "if a | b; then c; fi",
            "(foo)",
            "a; (b)",
            "(foo) | bar",
        ),
        *("for i in 1 2; do foo; done | bar", "eval foo | bar"),
        # One part alone is left, and something asks for it.
        *("foo > out", "true; foo > out", "grep x && cp a b", "for i in 1 2; do rm -r x; done"),
        "bar; rm -rf ~",
    ],
)
def test_but_not_what_is_looked_at_part_by_part(command: str) -> None:
    assert decide(command, allow=[f"Bash({command})"]) is ASK


@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        ("foo; bar:*", "foo; bar", ALLOW),
        ("foo && bar:*", "foo && bar", ALLOW),
        ("foo && cat /etc/passwd:*", "foo && cat /etc/passwd", ALLOW),
        ("foo && bar:*", "foo && bar x", ASK),
        ("foo; bar *", "foo; bar", ASK),
        ("foo {a,b}:*", "foo {a,b}", ASK),
        # Before a prefix no line may end.
        ("foo\nbar:*", "foo\nbar", ASK),
    ],
)
def test_a_prefix_spells_out_what_is_looked_into(rule: str, command: str, effect: Effect) -> None:
    assert decide(command, allow=[f"Bash({rule})"]) is effect


def test_of_what_is_not_looked_into_the_first_rule_that_spells_it_out_decides() -> None:
    rules = ["Bash(foo {a,b})", "Bash(foo {a,b}:*)"]
    assert decide("foo {a,b}", allow=rules) is ALLOW
    assert decide("foo {a,b}", allow=rules[::-1]) is ASK


def test_what_asks_for_a_part_counts_where_it_is_the_only_one_left() -> None:
    assert decide("foo; bar", allow=["Bash(foo; bar)"], ask=["Bash(foo)"]) is ALLOW
    assert decide("foo; bar", allow=["Bash(foo; bar)", "Bash(bar)"], ask=["Bash(foo)"]) is ASK
    assert decide("foo; bar", allow=["Bash(foo; bar)"], deny=["Bash(foo)"]) is DENY


@pytest.mark.parametrize(
    ("lists", "command", "effect"),
    [
        # Denied as a whole is what a rule spells out, and where a pipe is not wholly allowed.
        ({"deny": ["Bash(foo; bar)"]}, "foo; bar", DENY),
        ({"deny": ["Bash(foo; bar:*)"]}, "foo; bar", DENY),
        ({"deny": ["Bash(foo; bar *)"]}, "foo; bar", ASK),
        ({"deny": ["Bash(curl * | sh)"]}, "curl x |sh", DENY),
        ({"deny": ["Bash(curl * | sh)"]}, "curl x | bash; curl x | sh", DENY),
        ({"deny": ["Bash(* | sh)"], "allow": ["Bash(curl *)", "Bash(sh)"]}, "curl x | sh", ALLOW),
        ({"deny": ["Bash(* | sh)"], "allow": ["Bash(curl *)"]}, "curl x | sh", DENY),
        ({"deny": ["Bash(curl *|*)"], "allow": ["Bash"]}, "curl x|sh", DENY),
        ({"deny": ["Bash(foo | bar)"], "allow": ["Bash(foo)", "Bash(bar)"]}, "foo|bar", DENY),
        ({"deny": ["Bash(* | cat)"]}, "cat a | cat", ALLOW),
        # Asked for as a whole is a pipe alone, and only there.
        ({"ask": ["Bash(a; b)"], "allow": ["Bash"]}, "a; b", ALLOW),
        ({"ask": ["Bash(a | b)"], "allow": ["Bash"]}, "a | b", ASK),
        ({"ask": ["Bash(a | b)"], "allow": ["Bash(a)", "Bash(b)"]}, "a | b", ALLOW),
        ({"ask": ["Bash(cat | cat)"]}, "cat | cat", ALLOW),
    ],
)
def test_what_denies_or_asks_for_a_whole(lists, command: str, effect: Effect) -> None:
    assert decide(command, **lists) is effect


@pytest.mark.parametrize(
    ("lists", "command", "effect"),
    [
        ({"deny": ["Bash(foo:*)"], "ask": [r"Bash(foo \* x)"]}, r"foo \* x", ASK),
        ({"deny": ["Bash(foo *)"], "ask": [r"Bash(foo \*)"]}, r"foo \*", ASK),
        ({"allow": [r"Bash(foo {a,b} \*)"]}, r"foo {a,b} \*", ALLOW),
    ],
)
def test_a_star_behind_a_backslash_is_no_star_of_a_rule(lists, command, effect) -> None:
    assert decide(command, **lists) is effect


def test_a_group_with_a_word_behind_its_text_is_asked_for() -> None:
    assert decide("((git push)) <<< 'a b' ~") is ASK


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        ({"deny": ["Read(src/**)"]}, {"deny": ["Read(src)"]}, {"command": "popd; cat x"}),
        ({"allow": ["Bash(a {b,c} *)"]}, {"allow": ["Bash(a {b,c})", "Bash(a {b,c} *)"]}, None),
        ({"allow": ["Bash(a; b *)"]}, {"allow": ["Bash(a; b:*)"]}, {"command": "a; b"}),
    ],
)
def test_rules_that_match_the_same_in_another_form_are_told_apart(before, after, call) -> None:
    tables = table(**before), table(**after)
    assert tables[0] != tables[1]
    assert tables[0].hash != tables[1].hash
    comparison = differences(tables[0], tables[1])
    shown = [each for each in comparison.differences if each.tool == "Bash"]
    assert comparison.exact
    assert shown
    assert call in (None, shown[0].call)


def test_rules_for_edits_and_for_reads_are_told_apart_behind_links_alone() -> None:
    lists = [{"allow": [f"{tool}(//opt/**)", "Edit(src/**)"]} for tool in ("Edit", "Read")]
    links = {"/srv/app/src/x": "/opt/x"}
    path = {"file_path": "/srv/app/src/x/q7z"}
    before, after = (table(links=links, **each) for each in lists)
    assert [each.decide("Read", path).effect for each in (before, after)] == [ALLOW, ASK]
    found = differences(before, after).differences
    assert any(each.tool == "Read" and not each.widened for each in found)


def test_a_rule_about_whole_pipes_is_told_where_they_are_allowed_by_no_other() -> None:
    tables = table(allow=["Bash"]), table(allow=["Bash"], ask=["Bash(* | tee)"])
    (shown,) = [e for e in differences(tables[0], tables[1]).differences if e.tool == "Bash"]
    assert shown.call == {"command": "x | tee"}


@pytest.mark.parametrize(
    ("effect", "dead", "lives"),
    [
        (
            "allow",
            ("a | b", "a | b *", "a && b *", "a; b x | c"),
            ("a && b", "a && b:*", "a '|' b *"),
        ),
        ("deny", ("a && b *", "a; b * c"), ("a && b", "a | b *", "a && b:*", "a {b} && c *")),
        ("ask", ("a && b", "a && b *"), ("a | b", "a *")),
    ],
)
def test_a_rule_for_several_commands_that_takes_none_is_told(effect, dead, lives) -> None:
    for rules, told in ((dead, True), (lives, False)):
        for text in rules:
            settings = json.dumps({"permissions": {effect: [f"Bash({text})"]}})
            (project,) = load(Memory({".claude/settings.json": settings}))
            codes = {finding.code for finding in project.findings}
            assert ("dead-compound-rule" in codes) is told, text


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *(("make && rm x", rule) for rule in ("Bash(make && *)", "Bash(* && rm *)", "Bash(m* x)")),
        *(("rm a && ls", rule) for rule in ("Bash(rm a && *)", "Bash(* && *)")),
        *((f"make && ls {to}", "Bash(make && *)") for to in ("> x", ">> /tmp/x", "< /etc/hosts")),
        ("make > x && ls", "Bash(make && *)"),
        ("make && cat /etc/hosts", "Bash(make && *)"),
        ("cd src && rm x", "Bash(cd src && rm *)"),
        ("make && if true; then touch x; fi", "Bash(make && *)"),
        ("A=1 rm a&&ls", "Bash(rm a && *)"),
    ],
)
def test_a_star_stops_joined_commands_that_open_a_file_which_nothing_else_allows(
    command: str, rule: str
) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]) is DENY
    assert decide(command, allow=["Bash"], ask=[rule]) is ASK
    assert decide(command, allow=["Bash"], deny=["Bash(q7z && *)"]) is ALLOW


def test_a_star_stops_no_joined_commands_whose_files_a_rule_or_the_mode_allows() -> None:
    rules = {"deny": ["Bash(make && *)", "Bash(rm a && *)"]}
    assert decide("make && ls", allow=["Bash"], **rules) is ALLOW
    assert decide("make && cat a", allow=["Bash"], **rules) is ALLOW
    assert decide("make && sudo rm x", allow=["Bash"], **rules) is ALLOW
    assert decide("rm a && ls", allow=["Bash(rm *)"], **rules) is ALLOW
    assert decide("make && rm x", allow=["Bash(rm *)", "Bash(make)"], **rules) is ALLOW
    assert decide("make && ls > x", "acceptEdits", allow=["Bash"], **rules) is ALLOW
    assert decide("make && ls > /opt/x", "acceptEdits", allow=["Bash"], **rules) is DENY
    assert decide("make && rm x", "bypassPermissions", **rules) is DENY
    # A rule that asks for one of them is asked before.
    assert decide("make && rm x", ask=["Bash(make)"], deny=["Bash(m*)"]) is ASK


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *(("make && foo $X", rule) for rule in ("Bash(* && foo *)", "Bash(make && foo $X)")),
        *((f"make && {held}", "Bash(* && *)") for held in ("$X", "foo `ls`", "touch $X", "(foo)")),
        *((f"make && {held}", "Bash(* && *)") for held in ("find . -delete", "eval a", "((1))")),
        ("$X && rm a", "Bash(* && rm *)"),
        ("cd src && git log", "Bash(cd * && git *)"),
        ("cd src && cd lib", "Bash(cd src && cd lib)"),
        # What parts them is known with any blanks around it.
        *(("foo $X;make", rule) for rule in ("Bash(*; *)", "Bash(foo $X ; make*)")),
        ("make&foo $X", "Bash(make & *)"),
        ("make\nfoo $X", "Bash(m*e foo *)"),
    ],
)
def test_a_star_stops_joined_commands_that_nobody_vouches_for(command: str, rule: str) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]) is DENY
    assert decide(command, allow=["Bash"], ask=[rule]) is ASK
    assert decide(command, "bypassPermissions", deny=[rule]) is DENY
    assert decide(command, allow=["Bash"], deny=["Bash(q7z && *)"]) is ALLOW


def test_a_star_stops_joined_commands_that_read_elsewhere_without_permissions() -> None:
    rules = {"deny": ["Bash(make && *)", "Bash(*; *)"]}
    for command in ("make && cat /etc/hosts", "make;cat /etc/hosts", "make && ls ..", "make; ls ~"):
        assert decide(command, "bypassPermissions", **rules) is DENY, command
    for command in ("make && cat a", "make;cat a", "make; foo", "if foo; then bar; fi"):
        assert decide(command, "bypassPermissions", **rules) is ALLOW, command


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"cat <<{end} > a\nfoo --force\nEOF"
            for end in ("EOF", "'EOF'", '"EOF"', "\\EOF", "-EOF")
        ),
        *("bash <<EOF\nfoo $X --force\nEOF\nls", "make $X # --force", "make $X > --force"),
        *(f"cat <<{end} | foo apply -f -\nfoo --force\nEOF" for end in ("EOF", "'EOF'")),
    ],
)
def test_no_star_speaks_of_a_document_nor_of_a_comment_nor_of_what_is_redirected(
    command: str,
) -> None:
    rules = {"deny": ["Bash(*--force*)"]}
    assert decide(command, allow=["Bash"], **rules) is ALLOW
    assert decide(command + "\nls --force", allow=["Bash"], **rules) is DENY
    # Where it does not end, or begins in quotes, all of it is spoken of.
    assert decide("cat <<EOF\nfoo --force", allow=["Bash"], **rules) is DENY
    assert decide('echo "a <<b" && foo $X --force', allow=["Bash"], **rules) is DENY


@pytest.mark.parametrize(
    "last",
    [
        *("sed a", "sed --foo", "sed", "sed 1d", "sed s/a/b/w", "sed 'w x'", "sed --version"),
        *("nohup sed a", "timeout 5 sed a", "A=1 sed a", "'sed' a"),
    ],
)
def test_a_rule_for_joined_commands_counts_where_the_host_checks_one_by_itself(last):
    for rule in ("Bash(* && *)", "Bash(make && *)"):
        for mode in ("default", "acceptEdits", "bypassPermissions"):
            assert decide(f"make && {last}", mode, allow=["Bash"], deny=[rule]) is DENY
        assert decide(f"make && {last}", allow=["Bash"], ask=[rule]) is ASK
    assert decide(f"make; {last}", allow=["Bash"], deny=["Bash(*; *)"]) is DENY
    # What a rule allows it does not check.
    rules = ["Bash(make)", "Bash(sed *)"]
    if last.startswith("sed"):
        assert decide(f"make && {last}", allow=rules, deny=["Bash(* && *)"]) is ALLOW


@pytest.mark.parametrize(
    "last",
    [
        *("sed -n p", "sed -n 1p a", "sed s/a/b/", "sudo sed a", "/bin/sed a", "xargs sed a"),
        *("gsed a", "jq --foo", "awk", "sort --foo"),
    ],
)
def test_and_not_where_it_checks_none(last):
    assert decide(f"make && {last}", allow=["Bash"], deny=["Bash(* && *)"]) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *('foo "ab$(a | b)"', "x=$(a | b)", "A=$(a | b) foo", 'export x="ab$(a | b)"'),
        *('foo "$(a | b)"', "foo $(a | b)", "foo $(bar | baz)", 'foo "$(bar | baz)"', "(foo; bar)"),
        *('if foo "ab$(a | b)"; then x; fi', 'foo "ab$(c "de$(x | y)")"', 'foo "ab$(a & b)"'),
    ],
)
def test_no_rule_allows_the_text_of_a_command_with_a_pipe_in_what_is_put_in(command: str) -> None:
    assert str(decide(command, allow=[f"Bash({command})"])) == "ask"


def test_a_rule_of_its_text_allows_a_command_with_unsupported_syntax() -> None:
    command = 'foo "ab$(a; b)"'
    assert str(decide(command, allow=[f"Bash({command})"])) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("foo $(a; (b))", 'foo "$(a && (b))"', "x=$(a | (b))", "foo $( (b))", "foo $(f() (b))"),
        *("foo `a $(b; (c))`", "foo $(a <(b; (c)))", "foo $(declare x=(1))", "foo $(a; (b; (c) ))"),
    ],
)
def test_parentheses_that_end_together_in_what_is_put_in_are_asked_for(command: str) -> None:
    assert str(decide(command, allow=["Bash"])) == "ask"
    assert str(decide(command, "bypassPermissions")) == "ask"


@pytest.mark.parametrize("command", ["foo $( (b) )", "foo $(a $(b))", "(a; (b))", "$(time (b))"])
def test_others_are_not(command: str) -> None:
    assert str(decide(command, allow=["Bash"])) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("! > x", "! ! > x", "! > x; ls", "ls && ! > x", "! > x || ls", "ls & ! > x"),
        *("! A=1 > x", "! A=1 B=2 > x", "if ! > x; then ls; fi", "! ! ! > x || ls"),
    ],
)
def test_what_negates_a_redirection_hides_it_from_no_rule(command: str) -> None:
    for mode in ("default", "bypassPermissions"):
        assert decide(command, mode, allow=["Bash"], deny=["Bash(> x)"]) is DENY
        assert decide(command, mode, allow=["Bash"], deny=["Bash(> y)"]) is ALLOW
        assert decide(command, mode, allow=["Bash"], deny=["Edit(x)"]) is DENY


def test_such_a_sign_in_quotes_is_part_of_a_text() -> None:
    for command in ('echo "! > x"', 'echo "! > x"; ! > y'):
        assert decide(command, allow=["Bash"], deny=["Bash(> x)"]) is ALLOW
        assert decide(command, allow=["Bash"], deny=['Bash(echo "! > x")']) is DENY


@pytest.mark.parametrize(
    ("command", "text"),
    [
        *((f"{before}foo bar f()", "foo bar") for before in ("", "ls; ", "sudo ", "! ", "ls | ")),
        *((f"foo bar f(){behind}", "foo bar") for behind in ("; ls", " | ls", " && ls", " &")),
        *((f"foo bar f({inside}) x", "foo bar x") for inside in ("", "a", "a b", "a; b")),
        ("foo bar f(a) g(b) x", "foo bar x"),
        ("foo bar (a) x", "foo bar x"),
    ],
)
def test_a_word_next_to_a_parenthesis_is_no_part_of_a_command(command: str, text: str) -> None:
    assert decide(command, "bypassPermissions", deny=[f"Bash({text})"]) is DENY


@pytest.mark.parametrize(
    "command",
    [
        *(
            "foo bar $(ls) x",
            "foo bar `ls` x",
            "foo bar x$(ls) y",
            'foo bar "x"$(ls)',
            "foo bar <(ls) x",
        ),
        *(
            "ls && foo bar $(ls) x",
            "ls | foo bar $(ls) x",
            "(foo bar $(ls) x)",
            "foo bar $(ls) x > o",
        ),
        *(
            "A=1 foo bar $(ls) x",
            "sudo foo bar $(ls) x",
            "time foo bar $(ls) x",
            "./foo bar $(ls) x",
        ),
        *("echo $(foo bar $(ls) x)", 'foo "bar" $(ls) x', "if foo bar $(ls) x; then ls; fi"),
        *(
            "foo bar $'a' $X",
            "foo bar ${X:-a} $(ls) x",
            "foo bar $[1 + 2] $X",
            "foo bar {fd}>o",
            "foo bar {fd}<<<a",
            "foo bar {fd[0]}>>o | cat",
            "foo bar =",
            "foo = bar",
            "foo bar = $X",
        ),
    ],
)
def test_a_command_ends_to_rules_that_deny_where_one_is_put_into_it(command: str) -> None:
    for rule in ("Bash(foo bar)", "Bash(* bar)"):
        assert decide(command, allow=["Bash"], deny=[rule]) is DENY
        assert decide(command, allow=["Bash"], ask=[rule]) is ASK
    assert decide(command, allow=["Bash"], deny=["Bash(foo)"]) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        'foo bar "$(ls)" x',
        "foo bar '$(ls)' x",
        "foo bar \\$\\(ls\\) x",
        "foo bar $((1)) x",
        "foo $(ls) b",
    ],
)
def test_and_goes_on_behind_what_is_quoted(command: str) -> None:
    assert decide(command, allow=["Bash"], deny=["Bash(foo bar)"]) is ALLOW


def test_no_rule_that_allows_ends_there() -> None:
    assert decide("foo bar $(ls) x", allow=["Bash(foo bar)"]) is ASK


def test_an_equals_sign_alone_may_be_an_error_beside_which_nobody_may_wait() -> None:
    for command in ("foo = b &> c", "foo = b '&'", "foo = b 2>&1", "foo = && ls"):
        assert decide(command, allow=[f"Bash({command})", "Edit(c)"]) is ASK
    for command in ("foo = b", "foo == b && ls", "[ a = b ] && foo"):
        assert decide(command, allow=[f"Bash({command})"]) is ALLOW
