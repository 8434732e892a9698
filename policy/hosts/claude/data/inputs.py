"""What the arguments of calls may be to Claude Code 2.1.329, which refuses others unread.

Where a tool is closed, it refuses an argument of another name as well. What it takes for another
argument that it knows (`timeout_ms` of a command is its `timeout`) is not listed, so that no
rule is asked for less than the host reads.
"""

from __future__ import annotations

from typing import Final

from policy.hosts.claude.data.agents import STARTING
from policy.inputs import Input, InputKind, Inputs

__all__ = ["INPUTS"]


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
