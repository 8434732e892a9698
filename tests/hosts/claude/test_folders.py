"""Files that a command names by a folder, nothing or a pattern, as Claude Code 2.1.329 reads them."""

from __future__ import annotations

import json

import pytest

from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
from policy.tables.chain import Chain

pytest.importorskip("tree_sitter_bash")

_LINKS = {"/srv/app/ln": "/opt/data", "/srv/app/l2": "/srv/docs"}


def told(
    command: str, mode: str = "default", *, links: dict[str, str] | None = None, **lists: list[str]
) -> str:
    settings = json.dumps({"permissions": lists})
    options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode=mode, links=links or {})
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    return str(Chain.start("main", project.enforced).decide("Bash", {"command": command}).effect)


@pytest.mark.parametrize(
    "name",
    [
        *("/dev/fd/../cwd/src/a", "/proc/self/cwd/../app/src/a", "/proc/mounts/../cwd/src/a"),
        *(
            "/proc/thread-self/../../cwd/src/a",
            "/proc/net/../cwd/src/a",
            "/dev/fd/../root/srv/app/src/a",
        ),
    ],
)
def test_a_way_up_is_gone_behind_the_links_of_the_system(name: str) -> None:
    for reads in ("cat {}", "cat < {}"):
        assert told(reads.format(name), allow=["Bash"], deny=["Read(src/**)"]) == "deny"
    for writes in ("touch {}", "echo x > {}", "cp a {}", "rm {}"):
        assert told(writes.format(name), allow=["Bash"], deny=["Edit(src/**)"]) == "deny"


@pytest.mark.parametrize("name", ["ln/../data/x", "l2/../app/ln/x", "l2/../../opt/data/x"])
def test_a_way_up_is_gone_behind_links(name: str) -> None:
    rules = {"allow": ["Bash"], "deny": ["Read(//opt/data/**)"]}

    assert told(f"cat {name}", links=_LINKS, **rules) == "deny"
    assert told("cat ln/../x", links=_LINKS, **rules) == "allow"


def test_a_circle_of_links_leads_nowhere() -> None:
    circle = {"/srv/app/x": "/srv/app/y", "/srv/app/y": "/srv/app/x"}

    assert told("cat x/../a", links=circle) == "ask"
    assert told("cat x/../a", links=circle, allow=["Bash"]) != "error"


@pytest.mark.parametrize(
    "command", ["cat ''", 'base64 ""', "grep x ''", "stat ''", "cd ''", "cat < ''", "head ''"]
)
def test_an_empty_name_is_that_of_the_folder_where_files_are_read(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(//srv/app/**)"]) == "deny"
    assert told(command, allow=["Bash"], deny=["Read(src/**)"]) == "allow"


@pytest.mark.parametrize("command", ["echo x > ''", "tee ''", "mkdir ''", "cp a ''"])
def test_an_empty_name_is_that_of_the_folder_where_files_are_written(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Edit(//srv/app/**)"]) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *("tr * a", "grep a* /tmp/x", "find /tmp -name [ab]", "cut -f * /tmp/x", "head -n* /tmp/x"),
        *("man a*", "git grep a* -- /tmp/x", "awk a* /tmp/x", "sed -n a* /tmp/x", "jq a* /tmp/x"),
    ],
)
def test_a_program_that_reads_files_may_read_those_of_any_pattern(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(//srv/app/**)"]) == "deny"
    assert told(command, allow=["Bash"], deny=["Read(*.py)"]) == "allow"


@pytest.mark.parametrize("command", ["man '*'", "man x", "echo *", "git log a*", "which *.py"])
def test_other_programs_read_none(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(//srv/app/**)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    ["man .", "man ./x", "man -l x", "man -C x y", "man --x=src/x y", "man -M/srv/app/x y"],
)
def test_a_page_may_be_a_file(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(//srv/app/**)"]) == "deny"


@pytest.mark.parametrize(
    "command",
    ["cat +a", "tail +5 /tmp/x", "sort +1 /tmp/x", "grep x +a", "cd +a", "sed -i s/a/b/ +a"],
)
def test_what_begins_with_a_plus_may_be_a_file_that_is_read(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(//srv/app/**)"]) == "deny"
    assert told(command, allow=["Bash"], deny=["Read(*.py)"]) == "allow"


@pytest.mark.parametrize("command", ["touch +a", "rm +a", "tee +a", "cp /tmp/x +a", "mkdir +a"])
def test_what_begins_with_a_plus_may_be_a_file_that_is_written(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Edit(//srv/app/**)"]) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "mkdir a' b",
            "mkdir 'a b",
            "cp a 'b c",
            "rm a' b",
            "touch a' && git log",
            "echo x > a' b",
        ),
        *("touch 'a && b'", "touch 'a -b'", "touch 'a (b'"),
    ],
)
def test_a_blank_in_a_quote_that_is_not_closed_may_part_a_name(command: str) -> None:
    assert told(command, "acceptEdits") == "ask"
    assert told("touch a' && git log", "acceptEdits", allow=["Bash"]) == "allow"


@pytest.mark.parametrize(
    "command", ["mkdir 'a b'", "mkdir 'a;b", "cp 'a b' c'd", "touch a'b;c", 'mkdir "a b" \'c']
)
def test_other_names_are_known(command: str) -> None:
    assert told(command, "acceptEdits") == "allow"


@pytest.mark.parametrize("target", ["< /dev/tcp/x/1", "> /dev/udp/x/1", ">& 2>&1", ">| 2>&1"])
def test_what_opens_no_file_is_asked_for(target: str) -> None:
    rules = ["Bash(echo *)", "Read(//**)", "Edit(//**)"]

    assert told(f"echo x {target}", allow=rules) == "ask"
    assert told(f"echo x {target}", allow=["Bash"]) == "allow"


@pytest.mark.parametrize("command", ["xargs 'a", "ls | xargs '", "timeout 5 'a"])
def test_a_quote_that_is_not_closed_is_no_name_of_a_program(command: str) -> None:
    assert told(command, allow=["Bash(xargs *)", "Bash(timeout *)", "Bash(ls *)"]) == "ask"
    assert told(f"{command}bc", allow=["Bash(xargs *)", "Bash(timeout *)", "Bash(ls *)"]) == "allow"


def test_an_exclamation_mark_behind_a_redirection_is_no_word_of_the_language() -> None:
    assert told("<a ! ls") == "ask"
    assert told("! ls") == "allow"


@pytest.mark.parametrize("redirected", ["<a", "2>&1", ">/dev/null", "<<< x"])
def test_who_is_known_by_its_text_runs_unasked_where_nothing_is_redirected_before_it(
    redirected: str,
) -> None:
    for command in ("touch b", "mkdir b", "rm b", "cp a b", "nohup rm b", "jq . a", "uniq"):
        assert told(f"{redirected} {command}", "acceptEdits") == "ask"
        assert told(f"{redirected} {command}", "acceptEdits", allow=["Bash"]) == "allow"
    assert told(f"{redirected} ls", "acceptEdits") == "allow"
    assert told("jq . a <<< x", "acceptEdits") == "allow"


@pytest.mark.parametrize("name", ["a*/../x", "'a*/../x'", "[ab]/../x", "a?/..", "**/../x"])
def test_a_way_up_out_of_a_pattern_is_asked_for_beside_a_rule_that_denies_reads(name: str) -> None:
    for command in (f"cat {name}", f"find . -name {name}".replace("'", ""), f"tr {name} b"):
        if command.startswith("cat") or "'" not in name:
            assert told(command, allow=["Bash"], deny=["Read(//opt/data/**)"]) == "ask"
            assert told(command, "bypassPermissions", deny=["Read(//opt/data/**)"]) == "ask"
    assert told(f"cat {name}", allow=["Bash"], deny=["Edit(//opt/data/**)"]) == "allow"
    assert told("cat src/../a*", allow=["Bash"], deny=["Read(//opt/data/**)"]) == "allow"


@pytest.mark.parametrize("command", ["cat '/etc/x", "cat '../x", "cat < '/etc/x", "head '~/x"])
def test_a_quote_that_is_not_closed_hides_no_folder(command: str) -> None:
    assert told(command) == "ask"
    assert told("cat 'a") == "allow"


@pytest.mark.parametrize(
    "command", ["touch '/etc/x", "mkdir '../x", "mkdir '.gitx", "touch .bashrc'x"]
)
def test_a_quote_that_is_not_closed_hides_no_guarded_file(command: str) -> None:
    assert told(command, "acceptEdits") == "ask"
    assert told("mkdir 'a", "acceptEdits") == "allow"


@pytest.mark.parametrize(
    "command", ["touch b'c", "echo x > b'c", "cp x b'c", "rm b'c", "mkdir b'c"]
)
def test_the_last_letter_behind_a_quote_may_be_its_end_in_what_is_written(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Edit(b)"]) == "deny"
    assert told(f"{command}d", allow=["Bash"], deny=["Edit(b)"]) == "allow"


@pytest.mark.parametrize("command", ["cat b'c", "cat < b'c", "grep x b'c", "cat b' c"])
def test_the_last_letter_behind_a_quote_may_be_its_end_in_what_is_read(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(b)"]) == "deny"


@pytest.mark.parametrize("command", ["x#y < a", "make & x#y b < a", "a#b#c <a"])
def test_what_begins_within_a_word_is_no_comment(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(a)"]) == "deny"
    assert told(command, allow=["Bash"], deny=["Read(b)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("grep x -n", "awk 1 -n", "sed -n 1p -n", "git grep x -n", "rg x -n", "sort a -n"),
        *("grep x a -fn", "grep -fn x", "cat a -n", "sed -n 1p a -n"),
    ],
)
def test_what_stands_behind_an_operand_is_one(command: str) -> None:
    rules = ["Read(-n)", "Read(n)"] if "-fn" in command else ["Read(-n)"]
    assert told(command, allow=["Bash"], deny=rules) == "deny"


@pytest.mark.parametrize(
    "command", ["cat -n a", "git diff a -n", "jq . -n", "find . -n", "rm -rf a"]
)
def test_other_options_are_no_files(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(-*)", "Edit(-*)"]) == "allow"


def test_an_option_behind_what_is_copied_or_removed_changes_nothing_else() -> None:
    assert told("cp a b -r", "acceptEdits") == "ask"
    assert told("rm a -rf", "acceptEdits") == "allow"
    assert told("rm / -rf", allow=["Bash"]) != "allow"


@pytest.mark.parametrize("command", ["cp {} b", "touch {}", "rm {}", "echo x > {}", "/bin/cp {} b"])
def test_a_way_up_behind_a_link_that_leads_out_is_asked_for_where_files_are_written(
    command: str,
) -> None:
    rules = ["Bash", "Read(//opt/**)", "Edit(**)"]

    assert told(command.format("ln/../x"), links=_LINKS, allow=rules) == "ask"
    assert told(command.format("l2/../app/x"), links=_LINKS, allow=rules) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("git -C src diff b", "git -C . diff src/b", "git -C src -C .. diff src/b"),
        *("git --work-tree=src grep x b", "git --no-pager diff src/b", "git -c a=b diff src/b"),
    ],
)
def test_what_git_reads_is_looked_for_behind_its_options(command: str) -> None:
    assert told(command, allow=["Bash"], deny=["Read(src/b)"]) == "deny"
    assert told(command, allow=["Bash"], deny=["Read(src/c)"]) == "allow"
    assert told(command) == "ask"


@pytest.mark.parametrize("command", ["test -gt", "test -eq", "touch +", "touch a +"])
def test_what_lacks_an_operand_is_asked_for(command: str) -> None:
    assert told(command, "acceptEdits") == "ask"
    assert told("test 1 -gt 2", "acceptEdits") == "allow"


def test_who_edits_streams_is_asked_for_where_what_it_is_given_to_read_is_not_told() -> None:
    assert told('sed -n 1p a <<<"$HOME"') == "ask"
    assert told("sed -n 1p a <<< x") == "allow"
    assert told('cat a <<<"$HOME"') == "allow"
