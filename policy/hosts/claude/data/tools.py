"""The tools of Claude Code 2.1.329: names, arguments, what they get without a rule."""

from __future__ import annotations

from typing import Final

from policy.dialect import Argument, ArgumentKind

__all__ = [
    "ALIASES",
    "ANY_READ",
    "ARGUMENTS",
    "ASSUMED",
    "EDITING",
    "ENTER",
    "ENTERING",
    "FILE_TOOLS",
    "INNER",
    "INTERACTIVE",
    "LAST",
    "NAMES",
    "OF_WORKSPACE",
    "OPERAND_READ",
    "OPERAND_REMOVE",
    "OPERAND_WRITE",
    "PARAMETERS",
    "PRIMARY",
    "READING",
    "REDIRECT_IN",
    "REDIRECT_OUT",
    "REMOVED",
    "SHELLS",
    "SPECIFIED",
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
