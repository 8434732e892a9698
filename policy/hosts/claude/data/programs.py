"""What Claude Code 2.1.329 knows of programs, as observed."""

from __future__ import annotations

from typing import Any, Final

import attrs

from policy.commands.knowledge import Files, Program, Programs
from policy.hosts.claude.data.shell import COUNTED, INHERITED

__all__ = [
    "CHANGING",
    "COPY",
    "DOCKER",
    "EDITING_PROGRAMS",
    "EXACT_ONLY",
    "GIT",
    "GUARDED",
    "MOVE",
    "READ_ONLY_PROGRAMS",
    "REMOVE",
    "SETTLED",
    "STARTING",
    "UNCHECKED",
    "UNEXPANDED",
    "UPROOT",
    "options",
]


def options(
    letters: str = "",
    names: str = "",
    *,
    values: str = "",
    counts: str = "",
    attached: str = "",
    joined: bool = True,
    pairs: str = "",
    also: str = "",
    **rest: Any,  # noqa: ANN401 - whatever a program has besides
) -> Program:
    """Return a program with which a host takes these options, and no other.

    Args:
        letters: options of one letter; several of them may be one word.
        names: long options, without the dashes.
        values: options with a value, as a word of its own or behind ``=``; those of
            one letter begin with one dash.
        counts: the same where the value is a number.
        attached: letters whose value may be in the same word, if it is a number.
        joined: whether a value may stand behind ``=``.
        pairs: an expression for an option, a blank and its value.
        also: an expression for others.
        rest: what else is known of the program.

    """
    some, numbers = _either(values), _either(counts)
    flags = [
        f"-[{letters}]+" if letters else "",
        f"--({names.replace(' ', '|')})" if names else "",
        f"({some})=[^-].*" if some and joined else "",
        f"({numbers})=[0-9]+" if numbers and joined else "",
        f"-[{attached}][0-9]+" if attached else "",
        also,
    ]
    both = filter(None, (f"({numbers}) [0-9]+" if numbers else "", pairs))
    return Program(flags="|".join(filter(None, flags)), values=some, pairs="|".join(both), **rest)


def _either(names: str) -> str:
    letters = "".join(name for name in names.split() if len(name) == 1)
    words = "|".join(name for name in names.split() if len(name) > 1)
    both = (f"-[{letters}]" if letters else "", f"--({words})" if words else "")
    return "|".join(filter(None, both))


# What Claude Code 2.1.329 knows of docker, as it was observed to.


_NO_HOME: Final = "(?!(.*[=:])?~|.*\\{.*~|.*~.*\\{).*"
# Options by which it speaks to another host, alone, in one word with others or with a value.
_ANY: Final = "(.|\n)*"
_ELSEWHERE: Final = (
    f"-[a-zA-Z]*[cHr]{_ANY}|--(host|context|config|tlscacert|tlscert|tlskey|url|connection|identity"
    f"|remote|module|out)(={_ANY})?|{_ANY}[=:]~{_ANY}|[^~{{]*(~[^{{]*\\{{|\\{{[^~]*~){_ANY}"
)
_LOCAL: Final[dict[str, Any]] = {
    "globs": False,
    "operands": f"(?!({_ELSEWHERE})$){_NO_HOME}",
    "unsafe": _ELSEWHERE,
}
_LIST: Final = Program(**_LOCAL)

DOCKER: Final = Program(
    harmless=False,
    subcommands={
        "ps": _LIST,
        "images": _LIST,
        "logs": options(
            "ft",
            "details follow timestamps",
            **_LOCAL,
            pairs=rf"(-n|--(since|tail|until)) (?!-){_NO_HOME}",
            also=rf"--(since|tail|until)=(?!-){_NO_HOME}",
        ),
        "inspect": options(
            "s",
            "size",
            **_LOCAL,
            pairs=rf"(-f|--(format|type)) (?!-){_NO_HOME}",
            also=rf"(-f|--(format|type))=(?!-){_NO_HOME}",
        ),
    },
)


# What Claude Code 2.1.329 knows of git, as it was observed to.
#
# Each subcommand has a list of its own: an option that one of them takes another
# may refuse, though git would take it for both.


# A format is taken by one of these names, or if it has a placeholder.
_FORMATS: Final = "(oneline|short|medium|full|fuller|raw|email|format:.*|tformat:.*|[^-].*%.*|%.*|)"
_FORMATTED: Final = f"--(format|pretty)={_FORMATS}"
_FORMATTED_PAIR: Final = f"--(format|pretty) {_FORMATS}"
_SINCE: Final = "since after until before author"
_CONTAINS: Final = "contains no-contains points-at"


def _git(
    letters: str = "",
    names: str = "",
    *,
    also: str = "",
    numbered: bool = True,
    **rest: Any,  # noqa: ANN401 - as for `options`
) -> Program:
    also = "|".join(filter(None, (also, "-[0-9]+" if numbered else "")))
    return options(letters, names, also=also, globs=False, stays=True, **rest)


def _showing(
    letters: str,
    names: str,
    **rest: Any,  # noqa: ANN401 - as above
) -> Program:
    return _git(letters, names, also=_FORMATTED, pairs=_FORMATTED_PAIR, **rest)


_BRANCHES: Final[dict[str, Any]] = {
    "letters": "airvl",
    "names": "merged no-merged verbose color remotes all list show-current column ignore-case"
    " no-color no-abbrev no-column",
    "values": _CONTAINS,
    "pairs": "--(no-)?merged [^-].*|--sort [^-].*",
    "also": "--sort=.+|--abbrev=[0-9]+",
}
_TAGS: Final[dict[str, Any]] = {
    "letters": "il",
    "names": "column no-column list ignore-case",
    "values": f"{_CONTAINS} merged no-merged",
    "counts": "n",
    "pairs": "--sort [^-].*",
    "also": "--sort=.+",
}


def _listing(given: dict[str, Any]) -> Program:
    """Return a subcommand that lists what its operands match, and else makes something new."""
    listed = _git(**given, needs="-[a-zA-Z]*l[a-zA-Z]*|--list", ahead=True)
    return _git(**given, most=0, forms=(listed,))


_REFERENCES: Final = "all oneline decorate no-decorate branches tags remotes graph relative-date"
_REFLOG: Final = _git(
    "", _REFERENCES, values=f"grep date {_SINCE}", counts="n max-count",
    operands="(?!(expire|delete|drop|exists)$).*",
)  # fmt: skip
_SUBCOMMANDS: Final = {
    "status": _git(
        "bsv",
        "verbose short branch ahead-behind porcelain long ignored column no-renames no-column"
        " no-ahead-behind renames",
        values="u M untracked-files ignore-submodules find-renames",
    ),
    "log": _showing(
        "ps",
        "source decorate all follow no-decorate stat patch no-patch numstat shortstat name-only"
        " name-status reverse walk-reflogs merges no-merges no-min-parents no-max-parents"
        " first-parent branches tags remotes cherry-mark cherry-pick left-right boundary"
        " full-history dense sparse simplify-merges ancestry-path date-order author-date-order"
        " topo-order no-walk graph abbrev-commit oneline relative-date color no-color"
        " pickaxe-regex pickaxe-all no-ext-diff",
        values=f"G S grep {_SINCE} committer date diff-filter",
        counts="n max-count skip max-age min-age",
    ),
    "diff": _git(
        "lpsuBCDMR",
        "no-index function-context patch-with-stat stat numstat shortstat dirstat check summary"
        " name-only name-status binary full-index color break-rewrites find-renames"
        " irreversible-delete find-copies find-copies-harder no-renames minimal ignore-all-space"
        " ignore-space-change ignore-space-at-eol ignore-blank-lines patience histogram word-diff"
        " color-words exit-code quiet pickaxe-all pickaxe-regex cached staged no-color no-ext-diff",
        values="G O S ws-error-highlight diff-algorithm word-diff-regex relative diff-filter",
        counts="abbrev inter-hunk-context",
        operands="(?!--(submodule|ignore-submodules)(=|$)).*",
        reads=Files.ALL,
        trailing=False,
    ),
    "show": _showing(
        "mps",
        "quiet decorate name-only abbrev-commit oneline raw color patch no-patch first-parent stat"
        " numstat shortstat name-status no-color word-diff color-words no-ext-diff no-decorate"
        " graph relative-date",
        values="date diff-filter word-diff-regex",
    ),
    "reflog": attrs.evolve(_REFLOG, most=0, subcommands={"show": _REFLOG, "list": _REFLOG}),
    "rev-parse": _git(
        "",
        "show-prefix show-toplevel verify abbrev-ref symbolic symbolic-full-name git-dir"
        " git-common-dir absolute-git-dir is-inside-git-dir is-inside-work-tree"
        " is-bare-repository is-shallow-repository show-cdup",
        values="short",
    ),
    "rev-list": _showing(
        "",
        "sparse no-merges no-min-parents no-max-parents all branches tags remotes reverse"
        " abbrev-commit count walk-reflogs merges first-parent full-history dense ancestry-path"
        " graph oneline source",
        values=f"grep {_SINCE} committer",
        counts="n max-count max-age min-age min-parents max-parents abbrev skip",
    ),
    "ls-files": _git(
        "cdfikmostuvz",
        "cached deleted modified others ignored stage killed directory eol unmerged"
        " exclude-standard full-name recurse-submodules error-unmatch debug no-empty-directory",
        values="x X exclude exclude-from exclude-per-directory",
        counts="abbrev",
    ),
    "describe": _git(
        "", "tags contains dirty long exact-match always broken",
        values="match exclude", counts="abbrev candidates",
    ),
    "shortlog": _git(
        "cens", "committer numbered summary email no-merges all branches tags remotes",
        values=f"group {_SINCE}", also=f"--format={_FORMATS}",
    ),
    "cat-file": _git("epst", "batch-check"),
    "for-each-ref": _git(
        values=f"{_CONTAINS} merged no-merged", counts="count",
        pairs="--sort [^-].*|--format [^-]*%.*", also="--sort=.+|--format=[^-]*%.*",
    ),
    "merge-base": _git("", "all octopus is-ancestor independent fork-point"),
    "grep": _git(
        "chilnoqvwEFGHLP",
        "cached no-index untracked recurse-submodules invert-match ignore-case word-regexp"
        " extended-regexp basic-regexp fixed-strings perl-regexp line-number full-name"
        " files-with-matches files-without-match only-matching count color break heading and or"
        " not quiet no-color",
        values="e", reads=Files.REST, files="-f|--file", unsafe="-f.*|--file(=.*)?", lists=True,
        given=r"-[a-zA-Z]*f|-[ef].*|--(regexp|file)(=.*)?",
        counts="A B C max-depth context before-context after-context threads",
    ),
    "blame": _git(
        "eflnpstwCM",
        "incremental root show-stats score-debug show-name show-number porcelain line-porcelain"
        " show-email",
        values="L ignore-rev ignore-revs-file date", counts="abbrev", also="--", ends=False,
    ),
    "branch": _listing(_BRANCHES),
    "tag": _listing(_TAGS),
    "remote": _git(
        also="-v|--verbose", most=0, numbered=False, ends=False,
        subcommands=dict.fromkeys(("show", "get-url"), Program(harmless=False)),
    ),
    "stash": Program(
        harmless=False, stays=True,
        subcommands={
            "list": _git(
                "", _REFERENCES, values="date", counts="n max-count", also="--", ends=False
            ),
            "show": _git(
                "ps",
                "patch stat name-only no-patch numstat shortstat name-status color no-color"
                " no-ext-diff word-diff",
                values="diff-filter word-diff-regex", counts="abbrev",
            ),
        },
    ),
    "config": Program(
        harmless=False, stays=True,
        subcommands={
            "--get": _git(
                "z",
                "global system local worktree bool int bool-or-int path expiry-date null name-only"
                " show-origin show-scope",
                values="type default",
            )
        },
    ),
    "worktree": Program(
        harmless=False, stays=True,
        subcommands={"list": _git("v", "porcelain verbose", values="expire")},
    ),
    "ls-remote": _git(
        "bhqt", "heads tags refs quiet exit-code get-url symref", also="--sort=.+", most=0
    ),
}  # fmt: skip

GIT: Final = Program(
    harmless=False,
    stays=True,
    subcommands=_SUBCOMMANDS,
    before="-[Cc]|--(git-dir|work-tree|namespace|super-prefix|config-env|attr-source|shallow-file)",
    enters="-C|--work-tree",
)


# What Claude Code 2.1.329 knows of programs that change files, folders or variables.


REMOVE: Final = Program(harmless=False, writes=Files.ALL, removes=True, anywhere=True)
UPROOT: Final = attrs.evolve(REMOVE, uproots=Files.ALL)
COPY: Final = Program(
    harmless=False, reads=Files.BUT_LAST, writes=Files.LAST, copies=Files.BUT_LAST, into=True,
    anywhere=True,
)  # fmt: skip
MOVE: Final = Program(
    harmless=False, reads=Files.BUT_LAST, writes=Files.ALL, uproots=Files.BUT_LAST, into=True,
    anywhere=True,
)  # fmt: skip

CHANGING: Final = {
    **dict.fromkeys(
        "awk gawk mawk nawk".split(),
        Program(
            harmless=False, reads=Files.REST, files="-[fE]|--(file|exec)",
            values="-[Fve]|--(field-separator|assign|source)",
            given="-[feE]|--(source|file|exec)(=.*)?",
        ),
    ),
    "cd": Program(reads=Files.ALL, moves=True, flags="", most=1, texts=True),
    **dict.fromkeys(("chdir", "pushd", "popd"), Program(harmless=False, moves=True)),
    **dict.fromkeys(("unset", "unsetenv"), Program(harmless=False, spelled=True)),
    "tee": Program(harmless=False, writes=Files.ALL, anywhere=True),
    "touch": Program(harmless=False, writes=Files.ALL),
    "mkdir": Program(harmless=False, writes=Files.ALL),
    "rm": UPROOT,
    "rmdir": REMOVE,
    "mv": MOVE,
    "cp": COPY,
    **dict.fromkeys(("ln", "link"), Program(harmless=False, uproots=Files.ALL, anywhere=True)),
}  # fmt: skip


# Programs whose arguments Claude Code 2.1.329 does not vouch for, as it was observed.
#
# What stands in such arguments may run, or change what runs after it, so that only a rule
# for exactly that command, or one for any command, allows what they stand in.


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

# Words that no program is called by, wherever a grammar finds one to be.
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
# Programs of `jq` and `awk` that start others, and options that read any file.
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
_SET: Final = rf"(?:[^-+\0][^\0]*|[-+][euxfCvmbEThPn]*(?:A[^\0]*|o\0?{_SETS})?)(?:\0|\Z)"


def _with(word: str) -> str:
    """Return what arguments match of which one is such a word."""
    return rf"(?:.*\0)?(?:{word})(?:\0.*)?"


# What may stand between `env` and the program.
_ENV: Final = r"(?:(?:[^-\0][^\0]*=[^\0]*|-[i0v]|-u\0[^\0]+)\0)"

_END: Final = r"(?:\0|\Z)"
# Of a variable: its name, and what is no home folder that a shell puts there.
_VARIABLE: Final = r"[A-Za-z_]\w*"
_SETTING: Final = rf"(?!IFS\+?=){_VARIABLE}(?:\+?=(?!~)[^\0]*)?"


def _declares(
    assigning: str, listing: str, empty: str = "(?!)", constant: str = "", *, told: bool = True
) -> str:
    """Return what arguments match that not every shell takes for a list of variables.

    Args:
        assigning: options with which every shell sets variables.
        listing: those with which some only list them, so that none may be set.
        empty: those with which some change them, so that none may be named.
        constant: what arguments begin with by which each variable may be set only once.
        told: whether it sets no variable that the environment has.

    """
    own = rf"(?!(?:{GUARDED}|{'|'.join(sorted(INHERITED))})\+?=)" if told else ""
    options = rf"(?:{assigning}){_END}"
    sets = rf"(?:{options})*(?:--{_END})?(?:{own}{_SETTING}{_END})*"
    lists = rf"(?:{options}|(?:{listing}){_END})*(?:--{_END})?(?:{_VARIABLE}{_END})*"
    shows = rf"(?:(?:{listing}|{empty}){_END})*"
    twice = rf"{constant}(?:.*\0)?({_VARIABLE})(?:\+?=[^\0]*)?\0(?:.*\0)?\1\+?="
    return rf"(?!{f'(?!{twice})' if constant else ''}(?:{sets}|{lists}|{shows})\Z).*"


# A variable of a function is none where no function runs.
_LOCAL_UNCHECKED: Final = (
    rf"(?!(?:(?:[-+][rtx]+|-[fprtx]+){_END})*(?:--{_END})?(?:{_VARIABLE}{_END})*\Z).*"
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
    "print": _with(r"[+-][-+\w:]*P[^\0]*"),
    "stat": _with(r"-[gnNolLtTrs]*[AH][^\0]*"),
    "printf": "-v.*",
    "read": ".+",
    **dict.fromkeys(
        ("declare", "typeset"),
        _declares("[-+][rtx]+", r"-[fgprtxU]+|\+[grtx]+", constant=r"(?=(?:[^\0]*\0)*?-[tx]*r)"),
    ),
    "local": _LOCAL_UNCHECKED,
    "export": _declares("(?!)", "-[fnp]+", "-[aAfnp]+", told=False),
    "readonly": _declares("(?!)", "-[fpx]+", "-[aAfpx]+", constant="(?=)"),
    **dict.fromkeys("float integer private".split(), ".+"),
    **dict.fromkeys(("test", "[["), _TEST),
    "[": rf"(?!(?:.*\0)?\]\Z).*|{_TEST}",
    **dict.fromkeys(_AWKS.split(), _with(_AWK)),
    "jq": _with(_JQ),
    "env": rf"{_ENV}*-(?![i0v](?:\0|\Z)|u\0).*",
    "set": rf"(?!(?:{_SET})*(?:[-+][euxfCvmbEThPn]*o|--(?:\0.*)?)?\Z).*",
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


# What Claude Code 2.1.329 knows of programs, as it was observed to.
#
# Where it takes any option of a program, so does this table; everywhere else an
# option counts as known only if it was seen to run, so that one nobody tried is
# never taken for harmless.


# --- programs with which it takes any option -------------------------------------

_READS: Final = Program(reads=Files.ALL, texts=True)
_COUNTED: Final = Program(reads=Files.ALL, files="-[nc]", texts=True, piped=True)
_TEXTS: Final = Program(texts=True)
_NAME: Final = r"[^/~\\]*"
_NO_OPTION: Final = r"(?!-)(.|\n)*"
_NO_DASH: Final = r"(?!-$)(.|\n)*"
# The name of what tells the variables of a shell may stand nowhere, not even in a file's.
_NO_ENV: Final = r"(?!((.|\n)*\W)?env(\W(.|\n)*)?$)(.|\n)*"
_ANY_PROGRAMS: Final = "(.|\n)*"
_ALONE: Final = Program(flags="", most=0)

_FREE: Final = {
    **dict.fromkeys(
        "cat diff cmp rev tac nl column od hexdump strings".split(), _READS,
    ),
    "ls": attrs.evolve(_READS, lists=True),
    "stat": attrs.evolve(_READS, unsafe="-[a-zA-Z]*[AH].*"),
    **dict.fromkeys(
        "comm paste fold fmt expand unexpand tsort pr numfmt".split(),
        attrs.evolve(_READS, globs=False),
    ),
    "wc": attrs.evolve(_READS, piped=True),
    "head": _COUNTED,
    "tail": _COUNTED,
    "cut": Program(
        reads=Files.ALL, texts=True,
        values="-[nswz]*[bcdf]|--(bytes|characters|delimiter|fields|output-delimiter)",
        sure="-[nswz]*([bcdf](.|\n)*)?|-[0-9]+|--(complement|only-delimited|zero-terminated|bytes"
        "|characters|delimiter|fields|output-delimiter|(.|\n)*=(.|\n)*)",
    ),
    **dict.fromkeys("readlink realpath du df basename dirname".split(), _TEXTS),
    "tr": Program(reads=Files.SETS, texts=True),
    **dict.fromkeys(
        "id uname free cal true false seq expr locale sleep groups uptime nproc".split(),
        attrs.evolve(_TEXTS, globs=False),
    ),
    "type": Program(texts=True, globs=False, internal=True),
    "echo": Program(piped=True, texts=True),
    "[": Program(direct=True, globs=False),
    "[[": Program(direct=True),
    "find": Program(
        reads=Files.LEADING, trailing=False, globs=False, lists=True, ends=False,
        files="-([acm]?newer|samefile|i?path|i?wholename|i?lname|newer[acmBt][acmtB])",
        unsafe="-(exec|ok|fprint|fls|files0-from).*|-delete",
    ),
    "jq": Program(
        reads=Files.REST, trailing=False, files="-f|--from-file|--file",
        leading=True, ends=False, globs=False, direct=True,
        spelling=r"""'[^'`]*'|"[^"`]*"|[^-\s'"]\S*|-[a-zA-Z]+|--[a-zA-Z-]+(=\S+)?""",
        first=rf"(?!-|(.|\n)*(`|\$ENV)){_NO_ENV}",
        operands=_NO_ENV,
        unsafe=r"(?!-[a-zA-Z]+$|--[a-zA-Z-]+(=.+)?$)-.*|-[a-zA-Z]*[fL][a-zA-Z]*|-(.*\W)?env(\W.*)?"
        "|--(from-file|file|argfile|rawfile|slurpfile|run-tests|library-path).*",
    ),
    "uniq": Program(
        flags="-[a-zA-Z]+|--count(=.+)?", most=0, direct=True, ends=False, globs=False,
        reads=Files.ALL, spelled=True,
    ),
}  # fmt: skip

# --- programs whose options it knows one by one ----------------------------------

_CHECKSUM: Final = options(
    "bctwz",
    "binary check tag text zero ignore-missing quiet status strict warn help version",
    reads=Files.ALL,
)
_GIVEN: Final = r"-[a-zA-Z]*f|-[ef].*|--(regexp|file)(=.*)?"
_SEARCH: Final = options(
    "abchilnoqrsuvwxzEFGHILPRTUVZ",
    "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case word-regexp"
    " line-regexp null-data no-messages invert-match version help byte-offset line-number"
    " line-buffered with-filename no-filename only-matching quiet silent text recursive"
    " dereference-recursive files-without-match files-with-matches count initial-tab null"
    " no-group-separator binary",
    values="e d D regexp label binary-files directories devices include exclude"
    " exclude-from exclude-dir group-separator color colour",
    counts="m A B C max-count before-context after-context context",
    attached="edDmABC",
    skipped="-[efmABC]|--(regexp|file|exclude|include|exclude-from|exclude-dir|max-count|context"
    "|(after|before)-context)",
    files="-f|--file|--exclude-from",
    given=_GIVEN,
    lines=False,
    lists=True,
    lists_if="-[a-zA-Z]*[rR][a-zA-Z]*|--(dereference-)?recursive",
    reads=Files.REST,
    piped=True,
)
_FIND_FILES: Final = options(
    "aghipqsFHILV01",
    "hidden no-ignore no-ignore-vcs no-ignore-parent case-sensitive ignore-case glob regex"
    " fixed-strings absolute-path follow full-path print0 prune quiet show-errors strip-cwd-prefix"
    " one-file-system help version",
    values="c e o t E S and type extension size changed-within changed-before owner exclude"
    " ignore-file color max-buffer-time base-directory path-separator search-path format hyperlink",
    counts="d j max-depth min-depth exact-depth batch-size threads max-results",
    globs=False,
)
_PS_LETTERS: Final = "acdfjlmwyAFHLNTV"
_PS_NAMES: Final = "help deselect forest headers no-headers info version"
_PRINTED: Final = r" ?(\d+(,\d+)?)?p(;(\d+(,\d+)?)?p)* ?"
# Of ASCII all but / ; ! # { } $ ` and the end of a line: an expression that says which
# characters it is not takes 4 ms to compile.
_TEXT: Final = r"[\x00-\x09\x0b- \"%-.0-:<-_a-z|~]*"
_REPLACED: Final = rf" ?s/{_TEXT}/{_TEXT}/[gpiIm0-9]* ?"
# Names of files that it can take for nothing else where `-i` may have a suffix behind it, as it has
# elsewhere: `sed -i s/a/b/ a` would put the text before a line. Those with an `s` or a `y` before
# what could write or run (`s.a.b.w x`) are left out, few of which it really takes for commands.
_EDITED: Final = (
    r"(?!e|w|W|[0-9]|-|[sy][^a-zA-Z0-9]|[rR]($|/|\./|\.\./)|[aAcCdDgGhHiIlnNpPqQtTxz]$)"
    r"(?!/[^/]*/[IMim]*([ewWsyrR]|[aAcCdDgGhHiIlnNpPqQtTxz]$))"
    r"(?!.*\.\.)(?!.*s.*[wWeE])(?!.*y..*)[A-Za-z0-9_./@+-]+"
)
_LSOF_PLUS: Final = r"\+([DEMdew]|c[0-9]*|f[cfgGn]*|[Lr][0-9]*)?"
# What a terminal does that is told to start anew, to print, or to be programmed.
_SET_UP: Final = (
    "clear|flash|if|init|iprog|is[123]|mc(0|4|5[ip]?)|pf(key|loc|xl?)|reset|rf|rmcup|rs[123]|smcup"
)
# It runs them with this option alone, and not with the same given twice.
_VERSION: Final = Program(harmless=False, subcommands={"--version": _ALONE})

_SED: Final = options(
    "nzrE",
    "quiet silent posix regexp-extended",
    needs="-[a-zA-Z]*n[a-zA-Z]*|--quiet|--silent",
    first=_PRINTED,
    operands=_NO_OPTION,
    reads=Files.REST,
    files="-f|--file",
    unsafe="-f|--file",
    given="-.*[ef].*",
    writes=Files.REST,
    spares=True,
    globs=False,
    forms=(Program(flags="-[Er]", first=_REPLACED, most=1, globs=False),),
)

_KNOWN: Final = {
    **dict.fromkeys("md5sum sha1sum sha256sum".split(), _CHECKSUM),
    **dict.fromkeys("grep egrep fgrep".split(), _SEARCH),
    **dict.fromkeys("fd fdfind".split(), _FIND_FILES),
    **dict.fromkeys("arch whoami pwd".split(), _ALONE),
    "sort": options(
        "bcdfghimnrsuzCMRV",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort"
        " ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse"
        " version-sort check merge stable unique zero-terminated help version",
        values="k t S sort key buffer-size field-separator",
        files="-[ktS]|--(sort|key|buffer-size|field-separator)",
        counts="batch-size parallel",
        reads=Files.ALL, globs=False,
    ),
    "base64": options(
        "dhD", "decode ignore-garbage help version",
        values="i input", counts="b w wrap break", reads=Files.ALL, globs=False,
        files="-i|--input", ends=False,
    ),
    "tree": options(
        "acdfghilnpqrstuvxACDFJNQSUX",
        "fromfile gitignore info filesfirst dirsfirst du device inodes noreport"
        " matchdirs ignore-case prune metafirst si nolinks version help",
        values="H I P T gitfile infofile timefmt hintro houtro charset sort",
        counts="L filelimit",
        globs=False,
    ),
    "rg": options(
        "achilnoquvwFHLS",
        "column count debug files-with-matches files-without-match fixed-strings follow heading"
        " hidden ignore-case invert-match json line-number no-heading no-ignore only-matching quiet"
        " smart-case stats text type-list version word-regexp help",
        values="e g t T color glob regexp type type-not", files="-f|--file", given=_GIVEN,
        unsafe="--file(=.*)?",
        counts="d m A B C after-context before-context context max-count max-depth",
        attached="egtTdmABC",
        skipped="-[efgtTmABC]|--(regexp|file|glob|type|type-not|max-count|max-depth|context"
        "|(after|before)-context)",
        lines=False, reads=Files.REST, lists=True, globs=False,
    ),
    "which": options("apsvwV", globs=False, operands="(?!-$).*"),
    "test": options(
        values="b c d e f g h k n p r s u w x z G L N O S",
        counts="t", pairs="-(nt|ot|ef) [^-].*", globs=False, ends=False,
        # A bracket may begin a subscript, which the shell works out.
        operands="(?!=$).*", spelling=r"[^\[]*",
        # Words that are no numbers are worked out by the shell.
        forms=(
            Program(
                flags="-(eq|ne|lt|le|gt|ge)", globs=False, ends=False, most=2,
                first="[+-]?[0-9]+", operands="[+-]?[0-9]+",
            ),
        ),
    ),
    "help": options("d", globs=False, operands=_NAME, internal=True),
    "lsof": options(
        "abghilnorstvxCEFHKLNOPQRSTUVX", globs=False,
        pairs=rf"-[cdekpuA] ([^-+]{_ANY_PROGRAMS})?|-[cdekpuA] {_LSOF_PLUS}",
        operands=rf"(?!\+|-[a-zA-Z]*[^a-zA-Z]){_ANY_PROGRAMS}|{_LSOF_PLUS}",
        # What would be looked up, and what is a value to some and a name to others.
        beside=rf"-[a-zA-Z]*i ([^@]*@[^:]*[a-zA-Z]{_ANY_PROGRAMS}|{_ANY_PROGRAMS}~{_ANY_PROGRAMS})"
        rf"|[-+][a-zA-Z]*[LSor] [0-9]+[^0-9]{_ANY_PROGRAMS}",
    ),
    "pgrep": options(
        "acfilnovwxLV",
        "list-name list-full inverse lightweight count full ignore-case newest oldest exact"
        " logpidfile help version",
        values="d g r s t u F G O P U delimiter pgroup group older parent session terminal euid"
        " uid pidfile runstates ns nslist",
        globs=False,
    ),
    "ss": options(
        "abdehilmnopstuwxzEHMOSVZ046",
        "help version numeric all listening options extended memory processes info tipcinfo"
        " summary tos cgroup bpf events context contexts ipv4 ipv6 packet tcp mptcp sctp udp dccp"
        " raw unix tipc vsock no-header oneline inet-sockopt",
        values="f A family query socket", operands="[.:0-9-]*", globs=False,
    ),
    "netstat": options("agilmnrsvL", values="f I", globs=False),
    "tput": options(
        "xV", values="T", globs=False,
        operands=rf"(?!({_SET_UP})$).*",
    ),
    "man": options(
        "adhwfk", "whatis apropos all", pairs="-[sS] [A-Za-z0-9:,]+", leading=True, globs=False,
        operands=rf"(?!-){_NAME}", reads=Files.SLASHED, trailing=False,
        given="--local-file|-[^-]*l.*", files="-C|--config-file", unsafe="-C|--config-file",
    ),
    "printf": options(
        piped=True, globs=False, first=r"(?!-$)([^%]|%([sbq]|%))*", operands="(?!-$).*"
    ),
    "file": options(
        "bchiklnprsvL0",
        "help version brief mime mime-type mime-encoding apple keep-going list dereference"
        " no-dereference no-buffer print0 preserve-date raw special-files",
        values="F exclude exclude-quiet separator", reads=Files.ALL, globs=False,
        files="-F|--(exclude|exclude-quiet|separator)",
    ),
    "ps": options(
        _PS_LETTERS, _PS_NAMES,
        pairs="-[gnpqstuCGU] [^eE-][^eE]*|--(pid|quick-pid|sid|tty|user|sort) [^eE-][^eE]*"
        "|--width [0-9]+",
        also="--(pid|quick-pid|sid|tty|user|sort)=[^e-][^e]*|--width=[0-9]+",
        globs=False, operands="-|[^~eE-][^eE]*",
        forms=(options(_PS_LETTERS + "e", _PS_NAMES, most=0, ends=False),),
    ),
    "date": options(
        "uIR", "utc universal debug rfc-email help version",
        values="d r date rfc-3339 reference", also=r"\+.*|--iso-8601=.+", operands=r"\+.*",
        globs=False,
    ),
    "hostname": options(
        names="version help alias all-fqdns domain fqdn long ip-address all-ip-addresses short",
        also="-[adfhisvAIV]", most=0, direct=True, spelled=True, ends=False,
    ),
    "history": Program(flags="", most=1, operands=r"\d+", internal=True),
    "ifconfig": Program(flags="", most=1, globs=False, operands="[a-zA-Z][a-zA-Z0-9._:/ -]*"),
    "ip": Program(harmless=False, subcommands={"addr": _ALONE}),
    "sed": _SED,
    "xargs": options("rtx0", counts="n L s P", pairs=r"-d [^~]|-I \{\}", runs=True),
    "node": Program(harmless=False, subcommands={"-v": _ALONE, "--version": _ALONE}),
    "python": _VERSION,
    "python3": _VERSION,
    "docker": DOCKER,
    "git": GIT,
}  # fmt: skip

# --- all of them together -----------------------------------------------------------

_UNKNOWN: Final = Program(harmless=False)
_ALL: Final = {**_FREE, **_KNOWN, **CHANGING}

READ_ONLY_PROGRAMS: Final = Programs(
    _ALL
    | {
        name: attrs.evolve(
            _ALL.get(name, _UNKNOWN),
            unchecked=UNCHECKED.get(name),
            settled=name in SETTLED,
            unexpanded=name in UNEXPANDED,
        )
        for name in sorted(UNCHECKED.keys() | UNEXPANDED)
    }
)

_TOUCHED: Final = r"['\"]?[A-Za-z0-9_./+~{]\S*"

# What the mode that accepts edits runs beside these.
EDITING_PROGRAMS: Final = Programs(
    {
        **READ_ONLY_PROGRAMS,
        "touch": Program(
            direct=True, flags="", operands=r"(?!\+$)[A-Za-z0-9_./+~{].*|'.+", writes=Files.ALL,
            # Between blanks, quoted or not, stand names to the program.
            spelling=rf"{_TOUCHED}(?:\s+{_TOUCHED})*",
        ),
        "mkdir": Program(carried=True, writes=Files.ALL),
        "rm": attrs.evolve(UPROOT, harmless=True, carried=True),
        "rmdir": attrs.evolve(REMOVE, harmless=True, carried=True),
        **{
            name: attrs.evolve(
                known, harmless=True, carried=True, flags="", operands=_NO_DASH, globs=False
            )
            for name, known in (("mv", MOVE), ("cp", COPY))
        },
        "sed": Program(
            direct=True, flags="-[Er]", unsafe="-f|--file", first=_REPLACED, operands=_NO_OPTION,
            reads=Files.REST, files=_SED.files, given=_SED.given,
            writes=Files.REST, globs=False,
            forms=(
                Program(
                    direct=True, flags="-[Er]*i[Er]*|-[Er]+|--in-place|--posix|--regexp-extended",
                    needs="-[Er]*i[Er]*|--in-place", once=True, first=_REPLACED, operands=_EDITED,
                    reads=Files.REST, writes=Files.REST, globs=False,
                ),
                _SED, *_SED.forms,
            ),
        ),
    }
)  # fmt: skip
