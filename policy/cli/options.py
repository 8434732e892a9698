"""The options and the help of every verb, in one module: help needs no module of a verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from policy.analysis.records.record import add_recording
from policy.core.finding import Severity
from policy.tables.chain import READINGS

if TYPE_CHECKING:
    from policy.files.opening import StartPlace
    from policy.hosts.project import FrontEnd

__all__ = ["AS_OBSERVED", "VERBS", "Hosts", "Verb", "parse_options"]

# Formats that list results one by one.
_MACHINE: Final = ("sarif", "github", "junit")

_Configure = Callable[[argparse.ArgumentParser], None]


@attrs.frozen
class Hosts:
    """The options of ``--profile``, ``--user`` and ``--managed``: how files of hosts are read.

    Attributes:
        profiles: such as ``claude-code@2.1.240``.
        user: the folder of a user, "" for none.
        managed: the folder of an administrator, "" for none.
        start: the folder that a session is started in, "" for every one.

    """

    profiles: tuple[str, ...] = ()
    user: str = ""
    managed: str = ""
    start: str = ""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Hosts:
        """Return these options among *options*."""
        start = getattr(options, "start", "")
        return cls(tuple(options.profile), options.user, options.managed, start)

    @property
    def place(self) -> StartPlace | None:
        """Where a session is started. Raises PolicyError for a missing folder."""
        from policy.files.opening import start_place  # noqa: PLC0415  # compiled policies need none

        return start_place(self.start) if self.start else None

    @property
    def front_ends(self) -> tuple[FrontEnd, ...]:
        """The readers. Raises PolicyError for an unknown profile, or a missing folder."""
        from policy.hosts.front_ends import front_ends  # noqa: PLC0415  # compiled policies need none

        return front_ends(self.profiles, self.user, self.managed, self.place)


# The newest version known of each host, and no folder beside a project.
AS_OBSERVED: Final = Hosts()


@attrs.frozen
class Verb:
    """What a verb accepts.

    Attributes:
        configure: adds the description and the arguments to a parser.
        formats: of `--format`, the default first.
        takes_command: whether the words after ``--`` are a command to run.

    """

    configure: _Configure
    formats: tuple[str, ...]
    takes_command: bool = False


# By the module that runs the verb.
VERBS: Final[dict[str, Verb]] = {}


def _verb(
    module: str, formats: tuple[str, ...] = (), *, takes_command: bool = False
) -> Callable[[_Configure], _Configure]:
    """Register what adds the arguments of the verb that *module* runs."""

    def register(configure: _Configure) -> _Configure:
        VERBS[module] = Verb(configure, formats, takes_command)
        return configure

    return register


def parse_options(module: str, name: str, arguments: list[str]) -> argparse.Namespace:
    """Return the options in *arguments* of the verb called *name*, which *module* runs.

    They include `command`, the words after ``--``, and `formats`, those of the verb.
    """
    verb = VERBS[module]
    command: list[str] = []
    if verb.takes_command and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        prog=f"policy {name}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.configure(parser)
    if verb.formats:
        parser.add_argument(
            "--format",
            choices=verb.formats,
            default=verb.formats[0],
            help=f"what to print (default: {verb.formats[0]})",
        )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour; by default on a terminal, unless NO_COLOR is set",
    )
    parser.set_defaults(command=command, formats=verb.formats)
    return parser.parse_intermixed_args(arguments)


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )


def _add_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="shorten no list")


def _add_from(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="start",
        nargs="?",
        const=".",
        default="",
        metavar="FOLDER",
        help="in the place of PATH: what a session reads that is started in FOLDER (default: .)",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reading",
        choices=READINGS,
        default="attenuated",
        help="what the files declare along the chain, or what the host does (default: attenuated)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``--output``."""
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="also write the answer to a file, in that format; may be repeated",
    )


def _add_hosts(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the files of hosts are read."""
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="HOST@VERSION",
        help="the version of a host, e.g. claude-code@2.1.240 (default: the one observed)",
    )
    parser.add_argument(
        "--user",
        default="",
        metavar="FOLDER",
        help="also read the files of a user of Claude Code, e.g. ~/.claude",
    )
    parser.add_argument(
        "--managed",
        default="",
        metavar="FOLDER",
        help="also read the files of an administrator, e.g. /etc/claude-code",
    )


def _add_logs(parser: argparse.ArgumentParser) -> None:
    """Add the logs, and what their calls are decided as."""
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOGS", help="files and folders")
    _add_reading(parser)
    parser.add_argument(
        "--root", default="", metavar="AGENT", help="the agent that starts every chain of the logs"
    )
    parser.add_argument(
        "--home",
        default=str(Path("~").expanduser()),
        metavar="FOLDER",
        help="the home folder of the calls (default: yours)",
    )


_AUDIT_EPILOG = """\
`attenuated` is what the files declare along a chain, `enforced` what the host
does; only the host grants an escalation, only the files grant a dead letter.

exit status: 0 every file was read, with or without findings; 2 a file that may
concern agents cannot be read or parsed

examples:
  policy audit .
  policy audit v1.2.0 --format json
  policy audit --format html > audit.html
"""


@_verb("audit", ("text", "json", "markdown", "html"))
def _audit(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy audit``."""
    parser.description = "List what every agent may do, through every possible chain."
    parser.epilog = _AUDIT_EPILOG
    _add_path(parser)
    _add_from(parser)
    _add_all(parser)
    _add_hosts(parser)


_CHECK_EPILOG = """\
A CALL is written as in a test of our notation: `Tool(argument)`, whose argument
is taken literally, `Tool`, or `Tool({"argument": "value", ...})`.

exit status: 0 every call is allowed, 1 a call is denied or needs approval,
2 a call or the policy cannot be read

examples:
  policy check --chain 'main>explore' 'Bash(git push origin)'
  policy check team.policy 'Edit(src/app.py)' 'Read(/etc/passwd)'
  policy check . --tool Bash --input '{"command": "git push"}' --format json
  policy check . --calls calls.jsonl --format json
  policy check policy.json --calls calls.jsonl      # compiled: no file is parsed
"""


@_verb("check", ("text", "json", "markdown"))
def _check(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy check``."""
    parser.description = "Decide one call, or a stream of calls, and explain."
    parser.usage = "%(prog)s [options] [PATH] [CALL ...]"
    parser.epilog = _CHECK_EPILOG
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PATH, CALL",
        help="a folder, a file, a compiled policy or a git revision (default: .), and calls",
    )
    parser.add_argument(
        "--chain",
        metavar="A>B>C",
        help="the agents, from the root down (default: the one agent that starts chains)",
    )
    _add_from(parser)
    _add_reading(parser)
    _add_hosts(parser)
    parser.add_argument(
        "--root",
        metavar="FOLDER",
        help="the folder of the project, for rules about files (default: PATH, or the folder of"
        " that file; none for a revision or a compiled policy)",
    )
    parser.add_argument("--tool", help="the tool of one call, with --input")
    parser.add_argument("--input", metavar="JSON", help="its arguments: a JSON object")
    parser.add_argument(
        "--calls",
        metavar="FILE",
        help='calls, one JSON object a line: {"tool", "input"[, "chain"]}; - is standard input',
    )
    add_recording(parser)


_CLAIMS_EPILOG = """\
exit status: 0 every claim holds, 1 a claim fails, 2 a claim could not be proven,
a file cannot be parsed, or there is no claim

examples:
  policy test
  policy test team.policy --verbose
"""


@_verb("claims", ("text", "json", "markdown"))
def _claims(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy test``."""
    parser.description = "Run the `expect`, `test` and `never` statements of *.policy files."
    parser.epilog = _CLAIMS_EPILOG
    _add_path(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="also show claims that hold")
    _add_hosts(parser)


@_verb("compile")
def _compile(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy compile``."""
    parser.description = (
        "Write the policies at PATH as one compiled policy: every agent, every chain, both"
        " readings. `policy.load_compiled` and `policy hook` load it without reading the files"
        " again. Equal policies give equal text."
    )
    parser.add_argument(
        "path", nargs="?", default=".", help="a folder, a file or a revision (default: .)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="write it to FILE (default: standard output)",
    )
    _add_hosts(parser)


_CONVERT_EPILOG = """\
The front end of the other host reads the new files back, and they are compared with
the original for every agent and chain, as each host enforces them. Where the other
host cannot express a rule, the new files grant less. `looser` is granted beyond the
original, `stricter` is no longer granted, `dropped` is missing in the new files.
Each loss comes with a call that both sides decided.

A conversion that is looser, or not proven to be no looser, is refused: nothing is
written. Calls that the original's host cannot read do not count.

One file goes to standard output and the report to standard error; several are
shown, or written with -o. Only --force replaces an existing file.

exit status: 0 converted, 1 refused, 2 a file cannot be read or written

examples:
  policy convert . --to policy
  policy convert team.policy --to claude-code -o .
  policy convert . --from claude-code --to zeph --format json
"""


@_verb("convert", ("text", "json", "markdown"))
def _convert(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy convert``."""
    parser.description = "Convert the policies of one host to another, and report the losses."
    parser.epilog = _CONVERT_EPILOG
    _add_path(parser)
    from policy.analysis.conversion.converting import hosts  # noqa: PLC0415  # loads the front ends

    names = tuple(hosts())
    one_of = f"one of {', '.join(names)}"
    parser.add_argument("--to", required=True, choices=names, metavar="HOST", help=one_of)
    parser.add_argument(
        "--from",
        dest="source",
        default="",
        choices=names,
        metavar="HOST",
        help="convert only the projects of HOST",
    )
    parser.add_argument("-o", dest="folder", metavar="FOLDER", help="write the files below FOLDER")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.add_argument(
        "--allow-looser",
        action="store_true",
        help="convert rule by rule, even where the other host grants more",
    )
    parser.add_argument(
        "--allow-unproven",
        action="store_true",
        help="convert where the comparison is not exact",
    )
    _add_output(parser)
    _add_all(parser)


_DIFF_EPILOG = """\
OLD and NEW are folders, files or git revisions; an existing path beats a
revision. `policy diff X` compares the revision X with the working tree, `A..B`
two revisions, `A...B` the revision B with where it left A.

Every change comes with a call that is decided differently, and the rules that
decide it before and after.

exit status: 0 done, 1 there is a change that --fail-on names (a comparison that is
not exact counts as widened) or --max is exceeded, 2 a changed file cannot be read
or parsed

examples:
  policy diff main..HEAD --fail-on widened
  policy diff HEAD
  policy diff before.policy after.policy --format markdown
  policy diff main..HEAD --output markdown=comment.md --output sarif=policy.sarif
"""


@_verb("diff", ("text", "json", "markdown", *_MACHINE))
def _diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy diff``."""
    parser.description = "Report decisions that differ between OLD and NEW, each with a witness."
    parser.usage = "%(prog)s [options] OLD [NEW]"
    parser.epilog = _DIFF_EPILOG
    parser.add_argument("old", metavar="OLD", help="a folder, a file, a git revision, or A..B")
    parser.add_argument("new", metavar="NEW", nargs="?", help="the same (default: working tree)")
    parser.add_argument(
        "--fail-on",
        choices=("widened", "any", "none"),
        default="none",
        help="exit 1 if there is such a change (default: none)",
    )
    parser.add_argument(
        "--reading", choices=READINGS, help="compare this reading alone (default: both)"
    )
    parser.add_argument(
        "--max",
        metavar="FILE",
        help="exit 1 if NEW grants more than the one agent of this *.policy file",
    )
    _add_output(parser)
    _add_all(parser)
    _add_hosts(parser)


_FMT_EPILOG = """\
Files of hosts keep their keys, order, quotes, comments and all text below a
header. A file that cannot be parsed, or whose canonical form would have another
meaning, is reported and left as it is.

--minimise removes rules whose absence changes no decision: of any agent alone, or
of any chain, in either reading. A rule that only repeats another one goes, also
a second deny rule. No further set of rules can be removed; other rules are not
tried. A file of a host is judged with all other files of the folder. A rule that
changes nothing and stays is named with the reason, e.g. an example for it.

exit status: 0 done, 1 something would change (with --check), 2 a file cannot
be read, parsed or written

examples:
  policy fmt
  policy fmt --check --diff policies/
  policy fmt .claude/settings.json pikuri.host.yaml
  policy fmt --hosts .
  policy fmt --minimise --diff team.policy
  policy fmt - < team.policy
"""


@_verb("fmt")
def _fmt(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy fmt``."""
    parser.description = "Rewrite files in their canonical form."
    parser.epilog = _FMT_EPILOG
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files, of hosts too, or folders with *.policy files (default: .);"
        " - is standard input, in our notation",
    )
    parser.add_argument(
        "--hosts", action="store_true", help="in folders, also format files of hosts"
    )
    parser.add_argument(
        "--minimise",
        action="store_true",
        help="also remove rules without which every call is decided alike",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if it would")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would")


_INSTALL_EPILOG = """\
The change is shown before it is written. By default it goes to the local settings of
the project in this folder, which are not shared, since they name the program by its
place on this machine. --undo removes the hook and leaves everything else as it is; a
file that held nothing else is deleted.

exit status: 0 done, or nothing to do; 1 shown and not written, or settings keep the
hook from running; 2 a file cannot be read or written

examples:
  policy install claude-code
  policy install claude-code --user --yes
  policy install claude-code --policy policy.json
  policy install claude-code --undo
"""


@_verb("install")
def _install(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy install``."""
    parser.description = "Make a runtime run the policy hook before every call."
    parser.epilog = _INSTALL_EPILOG
    parser.add_argument("runtime", choices=("claude-code",), help="the runtime")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--project", action="store_true", help="in the shared settings of the project"
    )
    where.add_argument("--user", action="store_true", help="in the settings of the user")
    parser.add_argument("--policy", metavar="FILE", help="a compiled policy, which alone decides")
    parser.add_argument("--root", metavar="AGENT", help="the agent of the main conversation")
    add_recording(parser)
    parser.add_argument(
        "--no-resident", action="store_true", help="keep no process running for later calls"
    )
    parser.add_argument("--undo", action="store_true", help="remove the hook")
    parser.add_argument("--dry-run", action="store_true", help="show the change and write nothing")
    parser.add_argument("--yes", action="store_true", help="write without confirmation")


_LINT_EPILOG = """\
Fix a finding by hand, or with `--fix` where one fix grants no more. Or suppress it
with a comment `# policy: ignore[CODE] REASON` on its line or the line above (YAML,
TOML and *.policy files), with an entry of policy-lint.yaml (`policy rule
unused-suppression`; JSON has no comments), or with a baseline. A file that cannot
be read always counts.

exit status: 0 no finding, 1 a finding of the severity of --fail-on, 2 a file that
may concern agents cannot be read, parsed or written

examples:
  policy lint
  policy lint --select unknown,dead --format github
  policy lint --fix
  policy lint --write-baseline .policy-baseline.json
"""


@_verb("lint", ("text", "json", "markdown", *_MACHINE))
def _lint(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy lint``."""
    parser.description = "List findings in policies, each with its place and a fix."
    parser.epilog = _LINT_EPILOG
    _add_path(parser)
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="prefixes of codes to report, separated by commas (default: all)",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="CODES",
        help="prefixes of codes to skip",
    )
    parser.add_argument("--fix", action="store_true", help="fix findings in place where possible")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what --fix would")
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings in FILE")
    parser.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings to FILE, and exit 0"
    )
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default="warning",
        help="the least severity for exit status 1 (default: warning)",
    )
    _add_output(parser)
    _add_all(parser)
    _add_hosts(parser)


_MCP_PROXY_EPILOG = """\
A denied call never reaches the server, and the model gets the reason. For a call
that needs approval the client is asked by elicitation. Tools that can never be
allowed are not listed. Reading a resource is a call of `read_resource` with its
`uri`, and getting a prompt a call of `get_prompt` with its `name`; a policy without
rules for them denies both. Everything else passes unchanged. An agent that another
one starts needs a proxy of its own, with its chain.

exit status: that of the server; 2 a policy that cannot be read, or a server that
cannot be started

examples:
  policy mcp-proxy --chain main --server github -- github-mcp-server stdio
  policy mcp-proxy --chain 'main>explore' --policy team.policy -- python server.py
"""


@_verb("mcp_proxy", takes_command=True)
def _mcp_proxy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy mcp-proxy``."""
    parser.description = "Run an MCP server (standard input and output) behind the policy."
    parser.usage = "%(prog)s [options] -- COMMAND [ARGUMENT ...]"
    parser.epilog = _MCP_PROXY_EPILOG
    parser.add_argument(
        "--chain", metavar="A>B>C", required=True, help="who calls, from the root down"
    )
    parser.add_argument(
        "--policy",
        default=".",
        metavar="PATH",
        help="a folder, a file or a compiled policy (default: .)",
    )
    parser.add_argument(
        "--server",
        default="",
        metavar="NAME",
        help="the policy calls its tools `mcp__NAME__TOOL` (default: as the server does)",
    )
    parser.add_argument(
        "--project", default=".", metavar="FOLDER", help="the folder for rules about files"
    )
    parser.add_argument(
        "--undecided",
        action="append",
        choices=("resources", "prompts"),
        default=[],
        help="let them pass, whatever the policy says (may be repeated)",
    )
    add_recording(parser)
    _add_hosts(parser)


_QUERY_EPILOG = """\
MATCHER is written as in a rule of our notation: `Bash(git push *)`, `mcp__*`,
`Edit(src/**)`, `Task`. An agent can where one call that it matches is allowed
or needs approval; the call that is shown was decided.

exit status: 0 some agent can (with --not: some agent cannot), 1 none, 2 the
matcher or a file cannot be read

examples:
  policy query 'Bash(git push *)'
  policy query 'Edit(.github/**)' --not
  policy query 'WebFetch' main --reading enforced --format json
"""


@_verb("query", ("text", "json", "markdown"))
def _query(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy query``."""
    parser.description = "List agents that can make a call, with the shortest chain and a call."
    parser.epilog = _QUERY_EPILOG
    parser.add_argument("matcher", metavar="MATCHER", help="the calls, as in a rule")
    _add_path(parser)
    parser.add_argument(
        "--not", action="store_true", dest="without", help="list agents that cannot"
    )
    parser.add_argument("--reading", choices=READINGS, help="only this reading (default: both)")
    _add_output(parser)
    _add_all(parser)


_REPLAY_EPILOG = """\
LOGS are records of this program (`policy check --record FILE`), transcripts of
Claude Code (a session's file, or a folder of them), and JSON lines with "tool",
"input", "chain" and "effect". The earlier decision comes from the log, or from the
policy of --against. Arguments that are missing in a log are not guessed.

exit status: 0 no change that --fail-on names, 1 there is one, 2 a log or a policy
cannot be read

examples:
  policy replay ~/.claude/projects --policy . --reading enforced
  policy replay calls.jsonl --policy new/ --against old/ --fail-on widened
"""


@_verb("replay", ("text", "json", "markdown"))
def _replay(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy replay``."""
    parser.description = "Decide logged calls again, and list those with another decision."
    parser.epilog = _REPLAY_EPILOG
    parser.add_argument(
        "--policy",
        default=".",
        metavar="NEW",
        help="a folder, a file, a compiled policy or a git revision (default: .)",
    )
    parser.add_argument("--against", metavar="OLD", help="compare with the decisions of OLD")
    _add_logs(parser)
    parser.add_argument(
        "--fail-on", choices=("widened", "any"), help="exit with 1 where calls are granted more"
    )
    _add_hosts(parser)
    _add_output(parser)
    _add_all(parser)


_RULE_EPILOG = """\
exit status: 0 done, 2 there is no such code

examples:
  policy rule
  policy rule dead-star
"""


@_verb("rule", ("text", "json", "markdown"))
def _rule(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy rule``."""
    parser.description = "Explain a finding by its code; without one, list them all."
    parser.epilog = _RULE_EPILOG
    parser.add_argument("code", nargs="?", metavar="CODE", help="the code in brackets of a finding")


_SUGGEST_EPILOG = """\
LOGS are those of `policy replay`. The policy is printed in our notation; what it
covers and what not goes to standard error. Calls that the policy in force denies
are never covered, and every chain is compared with it: a rule that would grant
more gets deny rules of that policy, or narrower rules replace it.

exit status: 0 all calls are covered and nothing exceeds the policy in force, 1
a call is not covered, or this is not proven, 2 a log or a policy cannot be read

examples:
  policy suggest ~/.claude/projects --policy . --reading enforced > team.policy
  policy suggest calls.jsonl --policy . --least 5 --format json
"""


@_verb("suggest", ("text", "json"))
def _suggest(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``policy suggest``."""
    parser.description = "Propose the smallest policy that covers logged calls."
    parser.epilog = _SUGGEST_EPILOG
    parser.add_argument(
        "--policy",
        metavar="CURRENT",
        help="the policy in force, which is not exceeded",
    )
    parser.add_argument(
        "--least",
        type=int,
        default=3,
        metavar="N",
        help="distinct calls that a rule needs to match more than these (default: 3)",
    )
    _add_logs(parser)
    _add_hosts(parser)
