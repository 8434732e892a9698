"""The tools and agents of Claude Code 2.1.329."""

from __future__ import annotations

from typing import Final

from policy.tables.dialect import Argument, ArgumentKind, Input, InputKind, Inputs

__all__ = [
    "ALIASES",
    "ANY_READ",
    "ARGUMENTS",
    "ASSUMED",
    "BACKGROUND",
    "BUILT_IN",
    "EDITING",
    "ENTER",
    "ENTERING",
    "FIELDS",
    "FILE_TOOLS",
    "FORK",
    "GENERAL",
    "INNER",
    "INPUTS",
    "INTERACTIVE",
    "LAST",
    "MEMORY_TOOLS",
    "MODES",
    "NAMES",
    "NEVER_BELOW",
    "OF_TEAMS",
    "OF_WORKSPACE",
    "OPERAND_READ",
    "OPERAND_REMOVE",
    "OPERAND_WRITE",
    "PARAMETERS",
    "PREAPPROVED",
    "PRIMARY",
    "READING",
    "REDIRECT_IN",
    "REDIRECT_OUT",
    "REMOVED",
    "SHELLS",
    "SPECIFIED",
    "STARTING",
    "UNASKED",
    "UNSANDBOXED",
    "WAITING",
]


# What a shell command does to files is decided as a call of one of these.
REDIRECT_OUT: Final = "Bash>"
REDIRECT_IN: Final = "Bash<"
OPERAND_READ: Final = "Bash:read"
OPERAND_WRITE: Final = "Bash:write"
OPERAND_REMOVE: Final = "Bash:remove"

# What reads by a name that depends on where it runs is one of these, where some rule keeps
# the tool from every file.
ANY_READ: Final = "Bash:any"

INNER: Final = frozenset(
    {REDIRECT_OUT, REDIRECT_IN, OPERAND_READ, OPERAND_WRITE, OPERAND_REMOVE, ANY_READ}
)

# The tools that a path rule of `Read`, and of `Edit`, governs.
FILE_TOOLS: Final = {
    "Read": ("Read", "Grep", "Glob", "LSP"),
    "Edit": ("Edit", "Write", "NotebookEdit"),
}
READING: Final = (*FILE_TOOLS["Read"], REDIRECT_IN, OPERAND_READ)
EDITING: Final = (*FILE_TOOLS["Edit"], REDIRECT_OUT, OPERAND_WRITE)

# The tools that run commands.
SHELLS: Final = ("Bash", "Monitor", "PowerShell")

# Names that tools had, which rules, lists of agents and calls may have still.
ALIASES: Final = {
    "KillBash": "TaskStop",
    "KillShell": "TaskStop",
    "ListMcpResources": "ListMcpResourcesTool",
    "ListPeers": "ListAgents",
    "ReadMcpResource": "ReadMcpResourceTool",
    "Task": "Agent",
}

# What a server of the desktop program does for the host: tool -> the tool of the server.
OF_WORKSPACE: Final = {
    "Bash": "mcp__workspace__bash",
    "WebFetch": "mcp__workspace__web_fetch",
}

# The argument of a command that is to run outside a sandbox.
UNSANDBOXED: Final = "dangerouslyDisableSandbox"

# Tools that need no permission.
UNASKED: Final = frozenset(
    "Agent CronCreate CronDelete CronList EnterPlanMode EnterWorktree ExitWorktree ListAgents"
    " ListMcpResourcesTool ReadMcpResourceTool ReportFindings ScheduleWakeup SendMessage Skill"
    " SubagentHandback TaskCreate TaskGet TaskList TaskStop TaskUpdate"
    " TodoWrite ToolSearch WaitForMcpServers PushNotification EndConversation".split()
)

# Tools that there were once; rules that name them are no mistakes to the host.
REMOVED: Final = frozenset({"TaskOutput"})

# The tool that stays while any other does, whatever rules say.
LAST: Final = "EndConversation"

# The tool that waits for servers to connect.
WAITING: Final = "WaitForMcpServers"

# What a user enters a folder with: no tool, though rules speak of it as of one.
ENTER: Final = "Cd"

# Tools that ask whatever the rules and the mode are.
INTERACTIVE: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})

NAMES: Final = UNASKED | frozenset(
    "Artifact AskUserQuestion Bash Edit ExitPlanMode Glob Grep LSP Monitor NotebookEdit"
    " PowerShell Read ShareOnboardingGuide WebFetch WebSearch Workflow Write".split()
)

# Scalar fields a rule of `deny` or `ask` can speak of as `name:value`.
PARAMETERS: Final = {
    "Agent": frozenset(
        "description isolation mode model name prompt run_in_background subagent_type".split()
    ),
    "Bash": frozenset("dangerouslyDisableSandbox description run_in_background timeout".split()),
    "Monitor": frozenset("description persistent timeout_ms".split()),
    "Edit": frozenset("new_string old_string replace_all".split()),
    "Grep": frozenset("glob head_limit multiline output_mode pattern type".split()),
    "Glob": frozenset({"pattern"}),
    "NotebookEdit": frozenset("cell_id cell_type edit_mode new_source".split()),
    "Read": frozenset("limit offset pages".split()),
    "Skill": frozenset({"args", "skill"}),
    "WebSearch": frozenset({"query"}),
    "Write": frozenset({"content"}),
}

# What the host takes to be said of some of them where a call says nothing.
ASSUMED: Final = {("Edit", "replace_all"): "false", ("Monitor", "timeout_ms"): "300000"}

_COMMAND = Argument(ArgumentKind.COMMAND, ("command",))
_FILE = Argument(ArgumentKind.PATH, ("file_path",), trimmed=True)
_FOLDER = Argument(ArgumentKind.PATH, ("path",), absent=".", trimmed=True)
_OPENED = Argument(ArgumentKind.PATH, ("file",))

ARGUMENTS: Final = {
    "Bash": _COMMAND,
    "Monitor": _COMMAND,
    "PowerShell": Argument(ArgumentKind.POWERSHELL, ("command",)),
    "Read": _FILE,
    "Write": _FILE,
    "Edit": _FILE,
    "NotebookEdit": Argument(ArgumentKind.PATH, ("notebook_path",), trimmed=True),
    "Glob": _FOLDER,
    "Grep": _FOLDER,
    "LSP": Argument(ArgumentKind.PATH, ("filePath", "file_path"), absent=".", trimmed=True),
    REDIRECT_OUT: _OPENED,
    REDIRECT_IN: _OPENED,
    OPERAND_READ: _OPENED,
    OPERAND_WRITE: _OPENED,
    OPERAND_REMOVE: _OPENED,
    "WebFetch": Argument(ArgumentKind.URL, ("url",), browsed=True),
    "Skill": Argument(ArgumentKind.TEXT, ("skill",), parameters=PARAMETERS["Skill"]),
    "Agent": Argument(
        ArgumentKind.TEXT,
        ("subagent_type",),
        absent="general-purpose",
        parameters=PARAMETERS["Agent"],
    ),
}

# The same where rules speak of folders to enter.
ENTERING: Final = {**ARGUMENTS, ENTER: _FOLDER}

# Fields that have a specifier of their own, and so none of this kind.
PRIMARY: Final = {
    "Bash": "command",
    "Monitor": "command",
    "PowerShell": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "Grep": "path",
    "Glob": "path",
    "NotebookEdit": "notebook_path",
    "WebFetch": "url",
}

# Tools whose rules may have a specifier.
SPECIFIED: Final = frozenset(
    "Agent Bash Cd Edit Monitor PowerShell Read Skill Task WebFetch".split()
)


# The agents and pools of Claude Code 2.1.329.


GENERAL: Final = "general-purpose"
FORK: Final = "fork"

# Agent -> the tools it has (None is all), the tools it has not.
BUILT_IN: Final[dict[str, tuple[tuple[str, ...] | None, tuple[str, ...]]]] = {
    "Explore": (None, ("Agent", "Edit", "NotebookEdit", "Write")),
    "Plan": (None, ("Agent", "Edit", "NotebookEdit", "Write")),
    "claude": (None, ()),
    FORK: (None, ()),
    GENERAL: (None, ()),
    "statusline-setup": (("Read", "Edit"), ()),
}

# No agent below the main conversation has these.
NEVER_BELOW: Final = frozenset(
    "AskUserQuestion EndConversation EnterPlanMode ExitPlanMode ScheduleWakeup TaskOutput"
    " WaitForMcpServers Workflow".split()
)

# An agent in the background has at most these, and what servers offer.
BACKGROUND: Final = frozenset(
    "Agent Artifact Bash Edit EnterWorktree ExitPlanMode ExitWorktree Glob Grep LSP Monitor"
    " NotebookEdit PowerShell Read SendMessage Skill SubagentHandback TaskStop"
    " TodoWrite ToolSearch WebFetch WebSearch Write".split()
)

# What a member of a team has as well.
OF_TEAMS: Final = frozenset("SendMessage TaskCreate TaskGet TaskList TaskUpdate".split())

# What `memory` gives an agent, whatever its lists say.
MEMORY_TOOLS: Final = ("Read", "Write", "Edit")

MODES: Final = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")

# What an agent may be called: no text by which somebody else is, and none of an id.
_TAKEN: Final = (
    r"main|team-lead|user|system|a(?:[\w-]+-)?[0-9a-f]{16}"
    r"|local_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:session|cse)_(?:vrtx_|bdrk_)?(?:staging_|local_)?01[1-9a-z]{22}"
)
_CALLED: Final = rf"(?=[A-Za-z0-9_-]{{1,64}}\Z)(?!(?i:{_TAKEN})\Z)[A-Za-z0-9].*"

# What the call that starts an agent may say of some things; it is refused where it says more
# (`InputValidationError`, 2.1.329).
STARTING: Final = (
    Input("description"),
    Input("effort", words=("lower", "higher", "low", "medium", "high", "xhigh", "max")),
    Input("isolation", words=("remote", "worktree")),
    Input("mode", words=(*MODES, "manual")),
    Input("model", words=("fable", "haiku", "opus", "sonnet")),
    Input("name", spelling=_CALLED),
    Input("prompt"),
    Input("run_in_background", InputKind.FLAG),
    Input("subagent_type"),
    Input("team_name"),
)

# The keys of an agent's front matter that mean something.
FIELDS: Final = frozenset(
    "background color description disallowedTools effort hooks initialPrompt isolation maxTurns"
    " mcpServers memory model name permissionMode skills tools".split()
)


# Hosts, and sections of hosts, that Claude Code 2.1.329 fetches from without asking.


PREAPPROVED: Final = tuple(
    "docs.python.org developer.mozilla.org react.dev modelcontextprotocol.io code.claude.com"
    " platform.claude.com nodejs.org doc.rust-lang.org kubernetes.io learn.microsoft.com"
    " docs.aws.amazon.com cloud.google.com numpy.org pandas.pydata.org pytorch.org nextjs.org"
    " vuejs.org angular.io tailwindcss.com jestjs.io www.typescriptlang.org docs.djangoproject.com"
    " flask.palletsprojects.com fastapi.tiangolo.com docs.spring.io www.postgresql.org redis.io"
    " www.mongodb.com graphql.org git-scm.com nginx.org www.php.net laravel.com ruby-doc.org"
    " docs.oracle.com kotlinlang.org docs.swift.org developer.apple.com developer.android.com"
    " reactnative.dev agentskills.io en.cppreference.com bun.sh expressjs.com jquery.com"
    " getbootstrap.com d3js.org threejs.org redux.js.org webpack.js.org reactrouter.com"
    " www.tensorflow.org scikit-learn.org matplotlib.org requests.readthedocs.io jupyter.org"
    " symfony.com hibernate.org tomcat.apache.org gradle.org maven.apache.org asp.net"
    " dotnet.microsoft.com blazor.net docs.flutter.dev keras.io spark.apache.org dev.mysql.com"
    " www.sqlite.org prisma.io www.docker.com www.terraform.io www.ansible.com docs.netlify.com"
    " devcenter.heroku.com cypress.io selenium.dev docs.unity.com docs.unrealengine.com"
    " httpd.apache.org docs.stripe.com github.com/anthropics vercel.com/docs www.kaggle.com/docs"
    " huggingface.co/docs".split()
)


# What the arguments of calls may be to Claude Code 2.1.329, which refuses others unread.
#
# Where a tool is closed, it refuses an argument of another name as well. What it takes for another
# argument that it knows (`timeout_ms` of a command is its `timeout`) is not listed, so that no
# rule is asked for less than the host reads.


def _texts(names: str) -> tuple[Input, ...]:
    return tuple(map(Input, names.split()))


def _of(kind: InputKind, names: str) -> tuple[Input, ...]:
    return tuple(Input(name, kind) for name in names.split())


def _flags(names: str) -> tuple[Input, ...]:
    return _of(InputKind.FLAG, names)


def _numbers(names: str) -> tuple[Input, ...]:
    return _of(InputKind.NUMBER, names)


def _whole(names: str, least: int | None = None) -> tuple[Input, ...]:
    kind = InputKind.NUMBER
    return tuple(Input(name, kind, whole=True, least=least) for name in names.split())


def _plain_number(name: str, least: int | None = None, most: int | None = None) -> Input:
    # No text is a number here but the one that is printed for it.
    spelling = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?"
    return Input(name, InputKind.NUMBER, spelling=spelling, least=least, most=most)


def _words(name: str, words: str) -> Input:
    return Input(name, words=tuple(words.split()))


def _closed(*each: Input) -> Inputs:
    return Inputs(each, closed=True)


_RUN: Final = (
    *_texts("command description"),
    *_numbers("timeout"),
    *_flags("run_in_background dangerouslyDisableSandbox"),
)
_LEVELS: Final = "low medium high xhigh max"
_OPERATIONS: Final = (
    "goToDefinition findReferences hover documentSymbol workspaceSymbol goToImplementation"
    " prepareCallHierarchy incomingCalls outgoingCalls"
)
# One or more names of folders, each no more than what a branch is called.
_WORKTREE: Final = r"(?=.{1,64}\Z)[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*"

# Canonical tool name -> what its arguments may be. Of a tool that is not here nothing is known.
INPUTS: Final = {
    "Agent": Inputs(STARTING),
    "AskUserQuestion": Inputs(_of(InputKind.RECORDS, "questions")),
    "Bash": _closed(*_RUN, *_of(InputKind.ANY, "view_images")),
    "CronCreate": _closed(*_texts("cron prompt"), *_flags("recurring durable")),
    "CronDelete": _closed(*_texts("id")),
    "CronList": _closed(),
    "Edit": _closed(*_texts("file_path old_string new_string"), *_flags("replace_all")),
    "EnterPlanMode": _closed(),
    "EnterWorktree": _closed(Input("name", spelling=_WORKTREE), *_texts("path")),
    "ExitPlanMode": Inputs(_of(InputKind.RECORDS, "allowedPrompts")),
    "ExitWorktree": _closed(_words("action", "keep remove"), *_flags("discard_changes")),
    "Glob": _closed(*_texts("pattern path")),
    "Grep": _closed(
        *_texts("pattern path glob type"),
        _words("output_mode", "content files_with_matches count"),
        *_numbers("-A -B -C context head_limit offset"),
        *_flags("-i -n -o multiline"),
    ),
    "LSP": _closed(
        _words("operation", _OPERATIONS),
        *_texts("filePath file_path query"),
        *(
            Input(n, InputKind.NUMBER, spelling="[1-9][0-9]*", whole=True, least=1)
            for n in ("line", "character")
        ),
    ),
    "ListAgents": _closed(*_texts("channel q cursor")),
    "ListMcpResourcesTool": Inputs(_texts("server")),
    "Monitor": Inputs(
        (
            *_texts("command description"),  # an empty one, in which nothing runs, is refused too
            _plain_number("timeout_ms", 1000, 3_600_000),
            *_of(InputKind.NONE, "ws"),  # a socket, in place of the command
        )
    ),
    "NotebookEdit": _closed(
        *_texts("notebook_path cell_id new_source"),
        _words("cell_type", "code markdown"),
        _words("edit_mode", "replace insert delete"),
    ),
    "PowerShell": _closed(*_RUN),
    "PushNotification": _closed(
        Input("message", spelling=r"(?s:.+)"), _words("status", "proactive")
    ),
    "Read": _closed(
        *_texts("file_path pages"),
        *_whole("offset limit"),
        *_of(InputKind.ANY, "description"),
    ),
    "ReadMcpResourceTool": Inputs(_texts("server uri")),
    "ReportFindings": _closed(_words("level", _LEVELS), *_of(InputKind.RECORDS, "findings")),
    "ScheduleWakeup": _closed(
        *_numbers("delaySeconds"), *_texts("reason prompt"), *_flags("stop noop")
    ),
    "SendMessage": Inputs((*_texts("to message"), *_flags("notify_when_idle"))),
    "Skill": Inputs(_texts("skill args")),
    "TaskCreate": _closed(
        *_texts("subject description activeForm"), *_of(InputKind.RECORD, "metadata")
    ),
    "TaskGet": _closed(*_texts("taskId")),
    "TaskList": _closed(),
    "TaskStop": _closed(*_texts("task_id shell_id")),
    "TaskUpdate": _closed(
        *_texts("taskId subject description activeForm owner"),
        _words("status", "pending in_progress completed deleted"),
        *_of(InputKind.TEXTS, "addBlocks addBlockedBy"),
        *_of(InputKind.RECORD, "metadata"),
    ),
    "TodoWrite": _closed(*_of(InputKind.RECORDS, "todos")),
    "ToolSearch": Inputs((*_texts("query"), _plain_number("max_results"))),
    "WaitForMcpServers": Inputs(_of(InputKind.TEXTS, "servers")),
    "WebFetch": _closed(
        Input("url", spelling=r"(?s:(?=.{0,2000}\Z)\s*[A-Za-z][A-Za-z0-9+.-]*:.+)"),
        *_texts("prompt"),
        *_whole("offset", 0),
    ),
    "WebSearch": _closed(
        *_texts("query"),
        *_of(InputKind.TEXTS, "allowed_domains blocked_domains"),
        *_of(InputKind.ANY, "mode"),
    ),
    "Workflow": _closed(
        *_texts("script name description title scriptPath"),
        Input("resumeFromRunId", spelling=r"wf_[a-z0-9-]{6,}"),
        *_of(InputKind.ANY, "args"),
    ),
    "Write": _closed(*_texts("file_path content"), *_of(InputKind.ANY, "description")),
}
