"""What Claude Code 2.1.329 knows of shell commands."""

from __future__ import annotations

from typing import Final

import attrs

from policy.dialect import Files, Program, Programs

__all__ = [
    "EDITING_PROGRAMS",
    "EXACT_ONLY",
    "LOCALES",
    "PROGRAMS",
    "REDIRECTED",
    "STRUCTURES",
    "TEXTS",
    "VARIABLES",
]

VARIABLES: Final = frozenset(
    "ANTHROPIC_API_KEY BLOCKSIZE BLOCK_SIZE CGO_ENABLED CHARSET CI CLICOLOR CLICOLOR_FORCE"
    " COLORTERM COLUMNS FORCE_COLOR GIT_TERMINAL_PROMPT GO111MODULE GOARCH GOEXPERIMENT GOOS"
    " GREP_COLOR GREP_COLORS LANGUAGE LC_TIME LINES LSCOLORS LS_COLORS NODE_ENV NO_COLOR"
    " PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED RUST_BACKTRACE"
    " RUST_LOG TERM TIME_STYLE TZ".split()
)
LOCALES: Final = frozenset({"LANG", "LC_ALL", "LC_CTYPE"})

# What of the language it looks through, by the names of tree-sitter-bash. A pipeline
# within another statement is not, nor is what has no name here.
STRUCTURES: Final = frozenset(
    "program list pipeline command redirected_statement negated_command if_statement elif_clause"
    " else_clause while_statement do_group test_command unset_command declaration_command"
    " heredoc_redirect command_substitution".split()
)
REDIRECTED: Final = frozenset(
    "command list pipeline negated_command test_command variable_assignment redirected_statement"
    " declaration_command".split()
)

# Variables that it takes within quoted text of two characters or more.
TEXTS: Final = frozenset(
    "HOME PWD OLDPWD USER LOGNAME SHELL PATH HOSTNAME UID EUID PPID RANDOM SECONDS LINENO TMPDIR"
    " IFS BASH_VERSION BASHPID SHLVL HISTFILE ? $ # -".split()
)

# Commands that only an exact rule, or one for any command, can allow.
EXACT_ONLY: Final = (
    "watch *", "setsid *", "ionice *", "flock *",
    "find * -exec *", "find * -execdir *", "find * -ok *", "find * -okdir *", "find * -delete*",
    "find * -fprint*", "find * -fls *",
    "source *", ". *", "alias", "alias *",
)  # fmt: skip

_READS: Final = Program(reads=Files.ALL, texts=True)
_CHECKED: Final = Program(reads=Files.ALL)
_SEARCH: Final = Program(
    reads=Files.REST,
    values=frozenset("-A -B -C -m -e -g -t --glob --type".split()),
    unsafe=("--pre", "--hostname-bin"),
    piped=True,
)
_PLAIN: Final = Program()
_TEXTS: Final = Program(texts=True)
_NO_OPERAND: Final = Program(most=0)
_ASKS: Final = Program(harmless=False)
_VERSION: Final = Program(harmless=True, options=("--version",), needs=("--version",), most=0)
_COUNTED: Final = Program(reads=Files.ALL, values=frozenset({"-n", "-c"}), texts=True, piped=True)
_GIT: Final = Program(
    unsafe=("--output*", "--ext-diff", "--textconv", "--exec*", "--upload-pack*",
            "--open-files-in-pager*", "-O"),
    globs=False, stays=True,
)  # fmt: skip


def _git(**changes: object) -> Program:
    return Program(unsafe=_GIT.unsafe, globs=False, stays=True, **changes)  # type: ignore[arg-type]


_GIT_PROGRAM: Final = Program(
    harmless=False,
    stays=True,
    subcommands={
        **dict.fromkeys(
            "status log show reflog rev-parse rev-list ls-files describe shortlog cat-file"
            " for-each-ref merge-base grep".split(),
            _GIT,
        ),
        "diff": _git(reads=Files.ALL, confined=False),
        "blame": Program(
            unsafe=(*_GIT.unsafe, "--contents"), globs=False, stays=True, reads=Files.LAST
        ),
        "branch": _git(
            options=("-a", "-r", "-v", "--list", "--all", "--remotes", "--show-current", "--merged",
                     "--no-merged", "--contains", "--sort"),
            most=0,
        ),
        "tag": _git(options=("-l", "--list", "-n*", "--sort"), most=0),
        "remote": Program(
            options=("-v", "--verbose"), most=0, stays=True,
            subcommands={"show": _ASKS, "get-url": _ASKS},
        ),
        "stash": Program(
            harmless=False, stays=True, subcommands={"list": _GIT, "show": _GIT}
        ),
        "config": Program(
            needs=("--get",), options=("--get", "--global", "--local"), stays=True
        ),
        "worktree": Program(harmless=False, stays=True, subcommands={"list": _GIT}),
        "ls-remote": _git(most=0),
    },
)  # fmt: skip

_REMOVE: Final = Program(harmless=False, writes=Files.ALL, removes=True)

PROGRAMS: Final[dict[str, Program]] = {
    **dict.fromkeys(
        "ls cat stat readlink realpath diff cmp comm rev tac nl paste column fold fmt expand"
        " unexpand od hexdump strings tsort pr du df".split(),
        _READS,
    ),
    "ls": attrs.evolve(_READS, lists=True),
    **dict.fromkeys("sort base64 md5sum sha1sum sha256sum tree".split(), _CHECKED),
    **dict.fromkeys(
        "id uname free cal true false type basename dirname tr seq expr numfmt locale ifconfig"
        " sleep groups uptime nproc".split(),
        _TEXTS,
    ),
    **dict.fromkeys(
        "which test help lsof pgrep ss netstat tput man".split(),
        _PLAIN,
    ),
    **dict.fromkeys("arch whoami".split(), _NO_OPERAND),
    "printf": Program(piped=True),
    "[": Program(direct=True),
    "[[": Program(direct=True),
    "echo": Program(piped=True, texts=True),
    "wc": Program(reads=Files.ALL, texts=True, piped=True),
    "pwd": _NO_OPERAND,
    "hostname": Program(most=0),
    "head": _COUNTED,
    "tail": _COUNTED,
    "cut": Program(
        reads=Files.ALL, values=frozenset({"-d", "-f", "-c", "-b"}), texts=True
    ),
    "sort": Program(
        reads=Files.ALL, unsafe=("-o", "--output*", "--compress-program*", "-T", "--files0-from*"),
        globs=False, values=frozenset({"-k", "-t"}),
    ),
    "uniq": Program(most=0, direct=True),
    "file": Program(reads=Files.ALL, unsafe=("-m", "-f", "-C", "--magic-file*", "--files-from*")),
    "date": Program(operands=r"\+.*", unsafe=("-s", "--set*", "-f", "--file*")),
    "ps": Program(operands="a?u?x?"),
    "history": Program(options=(), most=1, operands=r"\d+"),
    "ip": Program(harmless=False, subcommands={"addr": _NO_OPERAND}),
    **dict.fromkeys("grep egrep fgrep".split(), _SEARCH),
    "rg": attrs.evolve(_SEARCH, piped=False, lists=True),
    "find": Program(
        reads=Files.LEADING, globs=False, lists=True,
        unsafe=("-exec*", "-ok*", "-delete", "-fprint*", "-fls*"),
    ),
    "fd": Program(reads=Files.REST, unsafe=("-x", "-X", "--exec*", "-l")),
    "fdfind": Program(reads=Files.REST, unsafe=("-x", "-X", "--exec*", "-l")),
    "jq": Program(
        reads=Files.REST, unsafe=("-f", "--from-file*", "--rawfile", "--slurpfile", "-L")
    ),
    "sed": Program(
        needs=("-n", "--quiet", "--silent"), options=("-n", "-E", "-r", "--quiet", "--silent"),
        first=r"[\d,;$ ]*p", reads=Files.REST, writes=Files.REST,
        writes_if=("-i*", "--in-place*"), globs=False,
    ),
    "awk": Program(harmless=False, reads=Files.REST),
    "cd": Program(reads=Files.ALL, moves=True, options=(), most=1, texts=True),
    "xargs": Program(
        runs=True, options=("-0", "-r", "-t", "-x", "-P", "-s"), values=frozenset({"-P", "-s"})
    ),
    "node": Program(options=("-v", "--version"), needs=("-v", "--version"), most=0),
    "python": _VERSION,
    "python3": _VERSION,
    "docker": Program(
        harmless=False,
        subcommands=dict.fromkeys(("ps", "images", "logs", "inspect"), Program()),
    ),
    "git": _GIT_PROGRAM,
    "tee": Program(harmless=False, writes=Files.ALL),
    "touch": Program(harmless=False, writes=Files.ALL),
    "mkdir": Program(harmless=False, writes=Files.ALL),
    "rm": _REMOVE,
    "rmdir": _REMOVE,
    "mv": Program(harmless=False, reads=Files.BUT_LAST, writes=Files.ALL),
    "cp": Program(harmless=False, reads=Files.BUT_LAST, writes=Files.LAST),
}  # fmt: skip

# What the mode that accepts edits runs beside these.
EDITING_PROGRAMS: Final = Programs(
    {
        **PROGRAMS,
        "touch": Program(direct=True, writes=Files.ALL),
        "mkdir": Program(writes=Files.ALL),
        "rm": Program(direct=True, writes=Files.ALL, removes=True),
        "rmdir": Program(direct=True, writes=Files.ALL, removes=True),
        "mv": Program(direct=True, reads=Files.BUT_LAST, writes=Files.ALL),
        "cp": Program(
            direct=True,
            reads=Files.BUT_LAST, writes=Files.LAST, unsafe=("-r", "-R", "-a", "--recursive")
        ),
        "sed": Program(
            direct=True,
            options=("-n", "-E", "-r"), first=r"[\d,;$ ]*p|s/[^/]*/[^/]*/[gip\d]*",
            reads=Files.REST, writes=Files.REST, writes_if=("-i*", "--in-place*"), globs=False,
        ),
    }
)  # fmt: skip

READ_ONLY_PROGRAMS: Final = Programs(PROGRAMS)
