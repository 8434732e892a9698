"""Programs whose arguments Claude Code 2.1.329 does not check.

Such an argument may run a command, or change what runs after it, so that only a rule for exactly
that command, or one for any command, allows a command that has one.

This table is not a TOML file: most of its expressions are made of others by functions.
"""

from __future__ import annotations

from typing import Final

from policy.hosts.claude.data.shell import COUNTED

__all__ = ["EXACT_ONLY", "GUARDED", "SETTLED", "STARTING", "UNCHECKED", "UNEXPANDED"]

# Variables by which a shell finds what follows, however their letters are written.
_LOOKED_UP: Final = (
    "(?i:path|home|dirstack|tmpprefix|bash_env|env|cdpath|globignore|shell|fpath|bash_loadables_path"
    "|module_path|manpath|mailpath|(?:read)?nullcmd|histfile|zdotdir|functions|commands|[gs]?aliases"
    "|bash_cmds|bash_aliases|execignore|bash_source_path|lang|language"
    "|lc_(?:all|ctype|collate|messages|numeric|time)|histchars|textdomain|textdomaindir"
    r"|(?:ld|dyld|bash_func)_\w*)"
)
# What sets one of these, or takes it away, changes how a shell reads what follows.
GUARDED: Final = rf"{_LOOKED_UP}|IFS|PS4|PROMPT4|{'|'.join(sorted(COUNTED))}"

# Words of the language that no program is called by, wherever a parser finds one.
_KEYWORDS: Final = "if then elif else fi while until do done case esac in }"

_EVALUATING: Final = (
    "alias bind compgen complete compopt coproc enable eval exec hash let mapfile nocorrect"
    " readarray source trap ."
)
_OF_ZSH: Final = (
    "autoload disable emulate foreach functions getln repeat setopt shopt strftime sysopen"
    " sysread sysseek syserror syswrite unsetopt vared zcompile zcurses zf_chgrp zf_chmod zf_chown"
    " zf_ln zf_mkdir zf_mv zf_rm zf_rmdir zformat zftp zgetattr zlistattr zmodload zparseopts zpty"
    " zregexparse zselect zsocket zstat zstyle zsystem ztcp"
)

# Programs that start others, of which nothing is known before they run.
STARTING: Final = (
    "chrt flock ionice ltrace nsenter sandbox-exec script setsid strace taskset unshare watch"
)

_FIND: Final = r"-(?:exec|execdir|ok|okdir|delete|rm|fprint[^\0]*|fls|files0-from)"
# Programs of `jq` that start others, and options that read any file.
_JQ: Final = (
    r"-[a-zA-Z]*[fL][^\0]*|--(?:from-file|argfile|rawfile|slurpfile|library-path)(?:=[^\0]*)?"
    r"|(?:[^\0]*\W)?(?:include|import)(?:\W[^\0]*)?|[^\0]*\bsystem\s*\([^\0]*"
)
# Of `awk`: what starts a program, loads one or connects to a host, and options that may.
_AWK: Final = (
    r"(?:[^\0]*[^A-Za-z_\0])?(?:system|extension)[\s\\]*\([^\0]*"
    r"|(?:[^\0]*[^|\0])?\|&?(?:[^/|%\";#{}\0]*\"|[\s\\]*getline(?:\W|(?=\0|\Z)))[^\0]*"
    r"|[^\0]*@[\s\\]*(?:load|include|\w+(?:::\w+)?(?:\[[^\]\0]*\])*[\s\\]*\()[^\0]*"
    r"|[^\0]*\"/inet[46]?/[^\0]*"
    r"|-[bcCghIkMnNOPrsStV]*[fEileDW][^\0]*|--(?:fil|e|i|lo|s|de)[^\0]*"
)
_AWKS: Final = "awk gawk mawk nawk"

# Tests of `find` whose value may be a pattern, and options behind which it may not.
_TESTED: Final = (
    "-(?:i?name|i?path|i?lname|i?regex|i?wholename|samefile|[acmB]?newer|perm|user|group|[ug]id|size"
    "|x?type|fstype|inum|links|used|context|[acm](?:min|time)|B(?:time|min)|mindepth|maxdepth"
    "|printf|regextype|flags|xattrname|newer[aBcm][aBcmt])"
)
_BARE: Final = r"[^\0*?\[\]]*"
_VALUED: Final = r"-(?:[EHLPXdsx]*D|f|[dsx]*[EHLPX][EHLPXdsx]*f)"
_SOUGHT: Final = (
    rf"(?:{_TESTED}(?:\0[^\0]*|\Z)|{_VALUED}(?:\0{_BARE}|\Z)"
    rf"|(?!{_TESTED}(?:\0|\Z)|{_VALUED}(?:\0|\Z)|-[dsx]+f(?:\0|\Z)){_BARE})"
)

# Options of `set` that change how little of what follows is read.
_SETS: Final = (
    "(?i:pipefail|errexit|nounset|xtrace|noglob|noclobber|verbose|monitor|notify|vi|emacs|errtrace"
    "|functrace|hashall|physical|ignoreeof)"
)
_SET: Final = rf"(?:[^-+\0][^\0]*|[-+][euxfCvmbEThPn]*(?:o\0?{_SETS})?)(?:\0|\Z)"


def _with(word: str) -> str:
    """Return what arguments match of which one is such a word."""
    return rf"(?:.*\0)?(?:{word})(?:\0.*)?"


# An array that `set` fills.
_ARRAY: Final = _with(r"-[^\0]*A[^\0]*")

# What may stand between `env` and the program.
_ENV: Final = r"(?:(?:[^-\0][^\0]*=[^\0]*|-[i0v]|-u\0[^\0]+)\0)"

_END: Final = r"(?:\0|\Z)"
_VARIABLE: Final = r"[A-Za-z_]\w*"
# Of `export`: variables and their values, but for a home folder that a shell puts there; variables
# alone, which some list; or options alone.
_EXPORT: Final = (
    rf"(?!(?:--{_END})?(?:(?!IFS\+?=){_VARIABLE}(?:\+?=(?!~)[^\0]*)?{_END})*\Z"
    rf"|(?:-[fnp]+{_END})*(?:--{_END})?(?:{_VARIABLE}{_END})*\Z"
    rf"|(?:-[aAfnp]+{_END})*\Z).*"
)


# Words that are no numbers, where a test compares or looks for a terminal, are worked out.
_NUMBER: Final = rf"-?(?:0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z]+|[0-9]+){_END}"
_COMPARES: Final = "-(?:eq|ne|lt|le|gt|ge)"
_TEST: Final = (
    rf"(?:.*\0)?(?!{_NUMBER})[^\0]*\0{_COMPARES}(?:\0.*)?|[^\0]*\0(?:.*\0)?{_COMPARES}\0(?!{_NUMBER}).*"
    rf"|(?:.*\0)?-t\0(?!{_NUMBER}).*|(?:.*\0)?-[vRt]\0[^\0]*\[.*"
)


# Program -> what its arguments match, with a NUL between them.
UNCHECKED: Final = {
    **dict.fromkeys(f"{_KEYWORDS} {_EVALUATING} {_OF_ZSH}".split(), ".*"),
    **dict.fromkeys(STARTING.split(), ".+"),
    "fc": _with(r"[-+][^\0]*[es][^\0]*"),
    "find": rf"{_with(_FIND)}|(?!{_SOUGHT}(?:\0{_SOUGHT})*\Z).*",
    "jobs": _with(r"[+-][^\0]*x[^\0]*"),
    "print": _with(r"[+-][-+\w:]*P[^\0]*|-[^\0]*v[^\0]*"),
    "stat": _with(r"-[gnNolLtTrs]*[AH][^\0]*"),
    "printf": "-v.*",
    "read": ".+",
    "export": _EXPORT,
    "wait": _with(r"-[^\0]*p[^\0]*"),
    **dict.fromkeys("declare local readonly typeset".split(), ".*"),
    **dict.fromkeys("float getopts integer private".split(), ".+"),
    **dict.fromkeys(("test", "[["), _TEST),
    "[": rf"(?!(?:.*\0)?\]\Z).*|{_TEST}",
    **dict.fromkeys(_AWKS.split(), _with(_AWK)),
    "jq": _with(_JQ),
    "env": rf"{_ENV}*-(?![i0v](?:\0|\Z)|u\0).*",
    "set": rf"(?!(?:{_SET})*(?:[-+][euxfCvmbEThPn]*o|--(?:\0.*)?)?\Z).*|{_ARRAY}",
    **dict.fromkeys(
        ("unset", "unsetenv"),
        rf"(?!(?:-[fv]{_END})*(?:(?!(?:{GUARDED}){_END}){_VARIABLE}{_END})*\Z).*",
    ),
    "xargs": rf"{_with('find|jq')}|(?:.*\0)?[gmn]?awk(?:\0-(?:[FvW]\0[^\0]*|[^\0]*))*",
}

# Programs with arguments that must be known before, and not be expanded by a shell.
SETTLED: Final = frozenset(
    "find printf declare typeset local export readonly print getopts set zparseopts zformat zstyle"
    " autoload shift exit return break continue bye logout vared private getln zregexparse float"
    f" integer {_AWKS}".split()
)
UNEXPANDED: Final = SETTLED | frozenset("read wait jobs compgen fc test [ [[".split())

# The same as patterns of commands, as far as the name of a program tells.
EXACT_ONLY: Final = (
    *(
        pattern
        for name in f"{_EVALUATING} {_OF_ZSH}".split()
        for pattern in (name, name + " *")
    ),
    *(name + " *" for name in STARTING.split()),
    *(f"find * -{option} *" for option in ("exec", "execdir", "ok", "okdir", "fls")),
    "find * -delete*",
    "find * -fprint*",
    "find -files0-from *",
    "find * -files0-from *",
    "-*",
)  # fmt: skip
