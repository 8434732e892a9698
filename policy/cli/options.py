"""The options and the help of every verb, in one module: help needs no module of a verb.

A verb adds what people need first to `Arguments.own`, and the rest to `Arguments.further`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policy.core.credentials import REDACTIONS
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.values import frozen
from policy.tables.chain import READINGS

if TYPE_CHECKING:
    from policy.files.opening import StartPlace
    from policy.hosts.project import FrontEnd

__all__ = ["AS_OBSERVED", "VERBS", "Arguments", "Hosts", "Verb", "parse_options", "parser_of"]

# Formats of every answer, and of those that list findings or changes one by one.
_DOCUMENT: Final = ("text", "json", "markdown", "html")
_RESULTS: Final = (*_DOCUMENT, "sarif", "github", "junit")


@frozen
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


@frozen
class Arguments:
    """What a verb adds its arguments to.

    Attributes:
        parser: for the description, the usage and what stands without a name.
        own: options that people need first.
        further: all others.

    """

    parser: argparse.ArgumentParser
    own: argparse._ActionsContainer
    further: argparse._ArgumentGroup

    def describe(self, description: str, epilog: str = "", usage: str = "[PATH]") -> None:
        """Set what the help says besides the options."""
        self.parser.description, self.parser.epilog = description, epilog
        self.parser.usage = f"%(prog)s [options] {usage}".rstrip()

    def positional(self, name: str, help: str, **more: Any) -> None:  # noqa: ANN401  # as argparse has it
        """Add an argument without a name of its own."""
        self.parser.add_argument(name, help=help, **more)

    def path(self, help: str = "a folder, a file or a git revision (default: .)") -> None:
        """Add the path, which can be left out."""
        self.positional("path", help, nargs="?", default=".", metavar="PATH")

    def flag(self, *names: str, help: str, **more: Any) -> None:  # noqa: ANN401  # as argparse has it
        """Add an option without a value."""
        self.own.add_argument(*names, action="store_true", help=help, **more)

    def value(self, *names: str, help: str, **more: Any) -> None:  # noqa: ANN401  # as argparse has it
        """Add an option with a value."""
        self.own.add_argument(*names, help=help, **more)

    def several(self, name: str, metavar: str, help: str) -> None:
        """Add an option that may be repeated."""
        self.own.add_argument(name, action="append", default=[], metavar=metavar, help=help)

    def reading(self, default: str | None, help: str) -> None:
        """Add ``--reading``."""
        self.value("--reading", choices=READINGS, default=default, metavar="READING", help=help)

    def record(self) -> None:
        """Add ``--record`` and ``--redact``."""
        add = self.further.add_argument
        told = "append each decision to FILE, a JSON line each, for `policy replay`"
        add("--record", metavar="FILE", help=told)
        told = "what of the arguments to keep from the record (default: credentials)"
        add("--redact", choices=REDACTIONS, default="credentials", help=told)

    def start(self) -> None:
        """Add ``--from``."""
        told = "instead of PATH: what a session reads that is started in FOLDER (default: .)"
        self.own.add_argument(
            "--from", dest="start", nargs="?", const=".", default="", metavar="FOLDER", help=told
        )

    def hosts(self) -> None:
        """Add the options that say how the files of hosts are read."""
        add = self.further.add_argument
        told = "the version of a host, e.g. claude-code@2.1.240 (default: the one observed)"
        add("--profile", action="append", default=[], metavar="HOST@VERSION", help=told)
        told = "also read the files of a user of Claude Code, e.g. ~/.claude"
        add("--user", default="", metavar="FOLDER", help=told)
        told = "also read the files of an administrator, e.g. /etc/claude-code"
        add("--managed", default="", metavar="FOLDER", help=told)

    def answer(self, formats: tuple[str, ...]) -> None:
        """Add the options of verbs that print an answer in one of *formats*."""
        add = self.further.add_argument
        told = f"{', '.join(formats)} (default: {formats[0]})"
        add("--format", choices=formats, default=formats[0], metavar="FORMAT", help=told)
        told = "also write the answer to a file, in that format; may be repeated"
        add("--output", action="append", default=[], metavar="FORMAT=FILE", help=told)
        add("--all", action="store_true", help="shorten no list")

    def logs(self) -> None:
        """Add the logs, and what their calls are decided as."""
        self.positional("logs", "files and folders", nargs="+", type=Path, metavar="LOGS")
        self.reading("attenuated", _WHICH)
        told = "the agent that starts every chain of the logs"
        self.value("--root", default="", metavar="AGENT", help=told)
        told = "the home folder of the calls (default: yours)"
        self.value("--home", default=str(Path("~").expanduser()), metavar="FOLDER", help=told)


_WHICH: Final = "attenuated, what files declare (the default), or enforced, what the host does"

_HELP_WIDTH: Final = 100

_Configure = Callable[[Arguments], None]


@frozen
class Verb:
    """What a verb accepts.

    Attributes:
        configure: adds the description and the arguments.
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


def parser_of(module: str, name: str) -> argparse.ArgumentParser:
    """Return the parser of the verb called *name*, which *module* runs."""
    verb = VERBS[module]
    parser = argparse.ArgumentParser(
        prog=f"policy {name}",
        formatter_class=partial(
            argparse.RawDescriptionHelpFormatter, max_help_position=26, width=_HELP_WIDTH
        ),
        allow_abbrev=False,
    )
    further = parser.add_argument_group("further options")
    adding = Arguments(parser, parser, further)
    verb.configure(adding)
    if verb.formats:
        adding.answer(verb.formats)
    told = "colour; by default on a terminal, unless NO_COLOR is set"
    further.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=told)
    return parser


def parse_options(module: str, name: str, arguments: list[str]) -> argparse.Namespace:
    """Return the options in *arguments* of the verb called *name*, which *module* runs.

    They include `command`, the words after ``--``; `output` is file -> format.

    Raises:
        PolicyError: an output has no file, or an unknown format.

    """
    verb = VERBS[module]
    command: list[str] = []
    if verb.takes_command and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    options = parser_of(module, name).parse_intermixed_args(arguments)
    options.command = command
    if verb.formats:
        options.output = _outputs(options.output, verb.formats)
    return options


def _outputs(given: list[str], formats: tuple[str, ...]) -> dict[Path, str]:
    """Return file -> format for each ``--output``.

    Raises:
        PolicyError: the format is unknown, or the file is missing.

    """
    outputs = {}
    for text in given:
        form, _, file = text.partition("=")
        if form not in formats or not file:
            raise PolicyError(
                f"expected FORMAT=FILE, found `{text}`",
                help=f"the formats are {', '.join(formats)}",
            )
        outputs[Path(file)] = form
    return outputs


_AUDIT_EPILOG = """\
`attenuated` is what the files declare along a chain, `enforced` what the host
does; only the host grants an escalation, only the files grant a dead rule.

exit status: 0 every file was read, 1 there is what --fail-on names, 2 a file that
may concern agents cannot be read or parsed, or there is none

examples:
  policy audit .
  policy audit --agent reviewer
  policy audit v1.2.0 --format json
  policy audit --format html > audit.html
"""


@_verb("audit", _RESULTS)
def _audit(add: Arguments) -> None:
    add.describe("Show what every agent may do, through every possible chain.", _AUDIT_EPILOG)
    add.path()
    add.start()
    add.value("--agent", metavar="NAME", help="everything that this agent may do")
    add.value(
        "--fail-on",
        choices=("error", "warning", "escalation", "note", "none"),
        default="none",
        metavar="WHAT",
        help="exit 1 where there is an error, warning, escalation or note (default: none)",
    )
    add.hosts()


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


@_verb("check", _DOCUMENT)
def _check(add: Arguments) -> None:
    add.describe(
        "Decide one call, or a stream of calls, and explain.", _CHECK_EPILOG, "[PATH] [CALL ...]"
    )
    told = "a folder, a file, a compiled policy or a git revision (default: .), and calls"
    add.positional("words", told, nargs="*", metavar="PATH, CALL")
    told = "the agents, from the root down (default: the one agent that starts chains)"
    add.value("--chain", metavar="A>B>C", help=told)
    add.start()
    add.reading("attenuated", _WHICH)
    told = (
        "the folder of the project, for rules about files (default: PATH, or the folder of"
        " that file; none for a revision or a compiled policy)"
    )
    add.value("--root", metavar="FOLDER", help=told)
    add.value("--tool", help="the tool of one call, with --input")
    add.value("--input", metavar="JSON", help="its arguments: a JSON object")
    told = 'calls, one JSON object a line: {"tool", "input"[, "chain"]}; - is standard input'
    add.value("--calls", metavar="FILE", help=told)
    add.record()
    add.hosts()


_CLAIMS_EPILOG = """\
exit status: 0 every claim holds, 1 a claim fails, 2 a claim could not be proven,
a file cannot be parsed, or there is no claim

examples:
  policy test
  policy test team.policy --verbose
"""


@_verb("claims", _RESULTS)
def _claims(add: Arguments) -> None:
    add.describe(
        "Run the `expect`, `test` and `never` statements of *.policy files.", _CLAIMS_EPILOG
    )
    add.path()
    add.flag("-v", "--verbose", help="also show claims that hold")
    add.hosts()


@_verb("compile")
def _compile(add: Arguments) -> None:
    add.describe(
        "Write the policies at PATH as one compiled policy: every agent, every chain, both"
        " readings. `policy.load_compiled` and `policy hook` load it without reading the files"
        " again. Equal policies give equal text."
    )
    add.path()
    told = "write it to FILE (default: standard output)"
    add.value("-o", "--output", metavar="FILE", default="-", help=told)
    add.hosts()


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


@_verb("convert", _DOCUMENT)
def _convert(add: Arguments) -> None:
    from policy.analysis.conversion.converting import hosts  # noqa: PLC0415  # loads the front ends

    add.describe(
        "Convert the policies of one host to another, and report the losses.", _CONVERT_EPILOG
    )
    add.path()
    names = tuple(hosts())
    told = f"one of {', '.join(names)}"
    add.value("--to", required=True, choices=names, metavar="HOST", help=told)
    told = "convert only the projects of HOST"
    add.value("--from", dest="source", default="", choices=names, metavar="HOST", help=told)
    add.value("-o", dest="folder", metavar="FOLDER", help="write the files below FOLDER")
    add.flag("--force", help="replace existing files")
    told = "convert rule by rule, even where the other host grants more"
    add.flag("--allow-looser", help=told)
    add.flag("--allow-unproven", help="convert where the comparison is not exact")


_DIFF_EPILOG = """\
OLD and NEW are folders, files or git revisions; an existing path beats a
revision. `policy diff X` compares the revision X with the working tree, `A..B`
two revisions, `A...B` the revision B with where it left A.

Each edit is shown with what it changes: what agents can do, what that got and gets,
and calls that show it. Without its edits a change is gone. --all adds every change
with its chains and the rules of both sides.

exit status: 0 done, 1 there is a change that --fail-on names (a comparison that is
not exact counts as widened) or --max is exceeded, 2 a changed file cannot be read
or parsed

examples:
  policy diff main..HEAD --fail-on widened
  policy diff HEAD
  policy diff before.policy after.policy --format markdown
  policy diff main..HEAD --output markdown=comment.md --output sarif=policy.sarif
"""


@_verb("diff", _RESULTS)
def _diff(add: Arguments) -> None:
    add.describe(
        "Say what each edit between OLD and NEW changes, each with calls that show it.",
        _DIFF_EPILOG,
        "OLD [NEW]",
    )
    add.positional("old", "a folder, a file, a git revision, or A..B", metavar="OLD")
    add.positional("new", "the same (default: working tree)", metavar="NEW", nargs="?")
    add.value(
        "--fail-on",
        choices=("widened", "any", "none"),
        default="none",
        metavar="WHAT",
        help="exit 1 if a change is `widened`, or if there is `any` (default: none)",
    )
    add.reading(None, "compare `attenuated` or `enforced` alone (default: both)")
    told = "exit 1 if NEW grants more than the one agent of this *.policy file"
    add.value("--max", metavar="FILE", help=told)
    add.hosts()


_FMT_EPILOG = """\
Files of hosts keep their keys, order, quotes, comments and all text below a
header. A file that cannot be parsed, or whose canonical form would have another
meaning, is reported and left as it is.

exit status: 0 done, 1 something would change (with --check), 2 a file cannot
be read, parsed or written

examples:
  policy fmt
  policy fmt --check --diff policies/
  policy fmt .claude/settings.json pikuri.host.yaml
  policy fmt --hosts .
  policy fmt - < team.policy
"""


@_verb("fmt")
def _fmt(add: Arguments) -> None:
    add.describe("Rewrite files in their canonical form.", _FMT_EPILOG, "[PATH ...]")
    told = (
        "files, of hosts too, or folders with *.policy files (default: .);"
        " - is standard input, in our notation"
    )
    add.positional("paths", told, nargs="*", default=["."], metavar="PATH")
    add.flag("--hosts", help="in folders, also format files of hosts")
    add.flag("--check", help="change nothing; exit 1 if it would")
    add.flag("--diff", help="change nothing; show what would")


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
def _install(add: Arguments) -> None:
    add.describe(
        "Make a runtime run the policy hook before every call.", _INSTALL_EPILOG, "RUNTIME"
    )
    add.positional("runtime", "the runtime", choices=("claude-code",))
    where = add.own.add_mutually_exclusive_group()
    told = "in the shared settings of the project"
    where.add_argument("--project", action="store_true", help=told)
    where.add_argument("--user", action="store_true", help="in the settings of the user")
    add.value("--policy", metavar="FILE", help="a compiled policy, which alone decides")
    add.value("--root", metavar="AGENT", help="the agent of the main conversation")
    add.flag("--no-resident", help="keep no process running for later calls")
    add.flag("--undo", help="remove the hook")
    add.flag("--dry-run", help="show the change and write nothing")
    add.flag("--yes", help="write without confirmation")
    add.record()


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


@_verb("lint", _RESULTS)
def _lint(add: Arguments) -> None:
    add.describe("List findings in policies, each with its place and a fix.", _LINT_EPILOG)
    add.path()
    add.several("--select", "CODES", "prefixes of codes to report, with commas (default: all)")
    add.several("--ignore", "CODES", "prefixes of codes to skip")
    add.flag("--fix", help="fix findings in place where possible")
    add.flag("--diff", help="change nothing; show what --fix would")
    add.value("--baseline", metavar="FILE", help="leave out the findings in FILE")
    told = "write all findings to FILE, and exit 0"
    add.value("--write-baseline", metavar="FILE", help=told)
    add.value(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default="warning",
        metavar="SEVERITY",
        help="error, warning or note: the least for exit status 1 (default: warning)",
    )
    add.hosts()


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
def _mcp_proxy(add: Arguments) -> None:
    add.describe(
        "Run an MCP server (standard input and output) behind the policy.",
        _MCP_PROXY_EPILOG,
        "-- COMMAND [ARGUMENT ...]",
    )
    told = "who calls, from the root down"
    add.value("--chain", metavar="A>B>C", required=True, help=told)
    told = "a folder, a file or a compiled policy (default: .)"
    add.value("--policy", default=".", metavar="PATH", help=told)
    told = "the policy calls its tools `mcp__NAME__TOOL` (default: as the server does)"
    add.value("--server", default="", metavar="NAME", help=told)
    told = "the folder for rules about files"
    add.value("--project", default=".", metavar="FOLDER", help=told)
    add.value(
        "--undecided",
        action="append",
        choices=("resources", "prompts"),
        default=[],
        help="let them pass, whatever the policy says (may be repeated)",
    )
    add.record()
    add.hosts()


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


@_verb("query", _DOCUMENT)
def _query(add: Arguments) -> None:
    add.describe(
        "List agents that can make a call, with a call and the rule.",
        _QUERY_EPILOG,
        "MATCHER [PATH]",
    )
    add.positional("matcher", "the calls, as in a rule", metavar="MATCHER")
    add.path()
    add.flag("--not", dest="without", help="list agents that cannot")
    add.reading(None, "only `attenuated` or `enforced` (default: both)")
    add.hosts()


_REPLAY_EPILOG = """\
LOGS are records of this program (`policy check --record FILE`), transcripts of
Claude Code (a session's file, or a folder of them), and JSON lines with "tool",
"input", "chain" and "effect". The earlier decision comes from the log, or from the
policy of --against. Arguments that are missing in a log are not guessed.
--friction groups the calls that are asked for, or that no rule allows, by what stood
in the way. It names the narrowest rules that would let them run, proven by deciding
the calls again, and a further call that these rules allow.

exit status: 0 no change that --fail-on names, 1 there is one, 2 a log or a policy
cannot be read

examples:
  policy replay ~/.claude/projects --policy . --reading enforced
  policy replay calls.jsonl --policy new/ --against old/ --fail-on widened
  policy replay ~/.claude/projects --policy . --reading enforced --friction
"""


@_verb("replay", _DOCUMENT)
def _replay(add: Arguments) -> None:
    add.describe(
        "Decide logged calls again, and list those with another decision.",
        _REPLAY_EPILOG,
        "LOGS ...",
    )
    told = "a folder, a file, a compiled policy or a git revision (default: .)"
    add.value("--policy", default=".", metavar="NEW", help=told)
    add.value("--against", metavar="OLD", help="compare with the decisions of OLD")
    told = "list what keeps calls from running unasked, and the rules that would let them"
    add.flag("--friction", help=told)
    add.logs()
    told = "exit with 1 where calls are granted more"
    add.value("--fail-on", choices=("widened", "any"), help=told)
    add.hosts()


_RULE_EPILOG = """\
exit status: 0 done, 2 there is no such code

examples:
  policy rule
  policy rule dead-star
"""


@_verb("rule", _DOCUMENT)
def _rule(add: Arguments) -> None:
    add.describe(
        "Explain a finding by its code; without one, list them all.", _RULE_EPILOG, "[CODE]"
    )
    add.positional("code", "the code in brackets of a finding", nargs="?", metavar="CODE")


_SUGGEST_EPILOG = """\
LOGS are those of `policy replay`. The policy is printed in our notation, or as
settings with --to; what it covers and what not goes to standard error. Calls that
the policy in force denies are never covered, and neither are commands that no rule
can allow: loops, variables, substitutions. Every chain is compared with the policy
in force: a rule that would grant more gets deny rules of that policy, or narrower
rules replace it.

exit status: 0 all calls are covered and nothing exceeds the policy in force, 1
a call is not covered, or this is not proven, 2 a log or a policy cannot be read

examples:
  policy suggest ~/.claude/projects --policy . --reading enforced > team.policy
  policy suggest ~/.claude/projects --policy . --to claude-code
  policy suggest calls.jsonl --policy . --least 5 --format json
"""


@_verb("suggest", _DOCUMENT)
def _suggest(add: Arguments) -> None:
    add.describe(
        "Propose the smallest policy that covers logged calls.", _SUGGEST_EPILOG, "LOGS ..."
    )
    told = "the policy in force, which is not exceeded"
    add.value("--policy", metavar="CURRENT", help=told)
    from policy.hosts.front_ends import RULE_FILES  # noqa: PLC0415  # other verbs need none

    told = "print a file of rules of this host, for every agent (default: our notation)"
    add.value("--to", choices=tuple(RULE_FILES), metavar="HOST", help=told)
    told = "distinct calls that a rule needs to match more than these (default: 3)"
    add.value("--least", type=int, default=3, metavar="N", help=told)
    add.logs()
    add.hosts()
