"""What Claude Code 2.1.329 knows of git, as it was observed to.

Each subcommand has a list of its own: an option that one of them takes another
may refuse, though git would take it for both.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from policy.hosts.claude.data.program_options import options
from policy.programs import Files, Program

__all__ = ["GIT"]

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
