"""What Claude Code 2.1.329 knows of shell commands."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ABANDONED",
    "CHECKED",
    "COUNTED",
    "IDLE",
    "INHERITED",
    "INTERPRETERS",
    "LOCALES",
    "MOVERS",
    "PLANTING",
    "REDIRECTED",
    "REPOSITORY",
    "SPEECHLESS",
    "STRUCTURES",
    "TEXTS",
    "VARIABLES",
    "VERSIONING",
]

VARIABLES: Final = frozenset(
    "ANTHROPIC_API_KEY BLOCKSIZE BLOCK_SIZE CGO_ENABLED CHARSET CI CLICOLOR CLICOLOR_FORCE"
    " COLORTERM COLUMNS DEBIAN_FRONTEND FORCE_COLOR GCC_COLORS GIT_TERMINAL_PROMPT GO111MODULE"
    " GOARCH GOEXPERIMENT GOOS"
    " GREP_COLOR GREP_COLORS LANGUAGE LC_TIME LINES LSCOLORS LS_COLORS NODE_ENV NO_COLOR"
    " PYTEST_DEBUG PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED"
    " RUST_BACKTRACE RUST_LOG TERM TIME_STYLE TZ".split()
)
LOCALES: Final = frozenset({"LANG", "LC_ALL", "LC_CTYPE"})

# Variables that some shell takes for numbers: of a value that is none it would work out a sum.
COUNTED: Final = frozenset(
    "ARGC BASHPID BASH_MONOSECONDS BASH_TRAPSIG BAUD COLUMNS DIRSTACKSIZE EGID EPOCHREALTIME"
    " EPOCHSECONDS ERRNO EUID FUNCNEST GID HISTCMD HISTSIZE KEYTIMEOUT LINENO LINES LISTMAX"
    " LOGCHECK MAILCHECK MBEGIN MEND OPTIND PERIOD PPID RANDOM REPORTMEMORY REPORTTIME SAVEHIST"
    " SECONDS SHLVL SRANDOM TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE UID"
    " ZLE_RPROMPT_INDENT ZSH_SUBSHELL status".split()
)

# Variables that an environment has: whoever sets one changes it for all that follows.
INHERITED: Final = frozenset(
    "DISPLAY EDITOR HOSTNAME LOGNAME MAIL OLDPWD PAGER PWD SHLVL SSH_AUTH_SOCK TMPDIR USER VISUAL"
    " XDG_RUNTIME_DIR".split()
)

# What of the language it looks through, by the names of tree-sitter-bash. A pipeline
# within another statement is not, nor is what has no name here.
STRUCTURES: Final = frozenset(
    "program list pipeline command variable_assignment redirected_statement negated_command"
    " if_statement elif_clause else_clause while_statement do_group test_command unset_command"
    " declaration_command heredoc_redirect command_substitution".split()
)
REDIRECTED: Final = frozenset(
    "command list pipeline negated_command variable_assignment redirected_statement"
    " declaration_command".split()
)

# At these it stops, and looks for no file in all of the text. Beside them there are some forms of
# nodes that it looks into otherwise (`policy.commands.unsupported`).
ABANDONED: Final = frozenset(
    "case_statement compound_statement function_definition c_style_for_statement array subscript"
    " >&- <&-".split()
)

# Variables that it takes within quoted text of two characters or more, and parameters that a
# shell sets: not `$!`, `$0`, `$@`, `$1`.
TEXTS: Final = frozenset(
    "HOME PWD OLDPWD USER LOGNAME SHELL PATH HOSTNAME UID EUID PPID RANDOM SECONDS LINENO TMPDIR"
    " IFS BASH_VERSION BASHPID SHLVL HISTFILE ? $ # -".split()
)

# Where reads are kept in working folders: programs that run scripts, those whose operands
# it takes for no files that they read, and those that go elsewhere.
INTERPRETERS: Final = frozenset(
    "awk bash bun dash deno fish gawk ksh lua mawk node perl php python python2 python3 ruby sh"
    " tclsh zsh".split()
)
SPEECHLESS: Final = frozenset(
    "[ [[ basename df dirname echo mkdir printf rm rmdir tee test touch type which".split()
)
# What it asks for all the same, and yet takes to be allowed where a command is in the background
# (2.1.329, observed).
IDLE: Final = frozenset({"alias"})
ITERATED: Final = frozenset({"for_statement"})
# Who writes these in a folder makes it a repository, with hooks that the first runs.
VERSIONING: Final = frozenset({"git"})
PLANTING: Final = frozenset("cp mkdir mv tee touch".split())

# Programs that are checked by themselves, where they do more than what runs unasked.
CHECKED: Final = frozenset({"sed"})
REPOSITORY: Final = r"(?:head|objects|refs|hooks)(?:/.*)?"
MOVERS: Final = frozenset("cd chdir popd pushd".split())
