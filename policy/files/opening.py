"""Open trees by name, and recognise files that look like policies of hosts."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import takewhile
from pathlib import Path

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import visible
from policy.core.values import field, frozen
from policy.files.text import cite
from policy.files.trees import Folder, Problem, SingleFile, Tree, missing


@frozen
class Overlay(Tree):
    """A tree in which *contents* replace some files: path -> bytes, or None for a removed file."""

    tree: Tree
    contents: Mapping[str, bytes | None] = field(repr=False)
    name: str = ""  # its name in messages; "" is that of *tree*
    # Path -> the file whose content is there, where that has another name.
    names: Mapping[str, str] = field(factory=dict, repr=False)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name or self.tree.label

    @property
    def root(self) -> Path | None:
        """The folder of the underlying tree."""
        return self.tree.root

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        paths = {*self.tree.paths(), *self.contents}
        return tuple(sorted(path for path in paths if self.contents.get(path, b"") is not None))

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of the underlying tree."""
        return self.tree.problems()

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        if path not in self.contents:
            return self.tree.read(path, limit)
        content = self.contents[path]
        if content is None:
            raise missing(path, self.label)
        return content


def open_tree(text: str, folder: str | Path = ".") -> Tree:
    """Return the folder, file or revision of *folder* that *text* names, or raise PolicyError."""
    path = _path(text)
    if path is not None:
        return Folder(path) if path.is_dir() else SingleFile(path)
    from policy.files.revisions import GitRevision  # noqa: PLC0415  # starts processes

    try:
        return GitRevision(folder, text)
    except PolicyError as error:
        raise PolicyError(
            f"{cite(text)} is neither a file nor a folder nor a revision",
            help=f"{error.message}{'; ' if error.help else ''}{error.help}",
        ) from None


def sides(old: str, new: str | None) -> tuple[str, str]:
    """Return the two paths or revisions that a diff compares, or raise PolicyError."""
    if new is not None:
        return old, new
    if _path(old) is not None:
        raise PolicyError(
            f"expected something to compare `{visible(old)}` with",
            help=f"write `policy diff {visible(old)} NEW`; a revision of that name is"
            f" `refs/heads/{visible(old)}`",
        )
    if ".." not in old:
        return old, "."
    dots = "..." if "..." in old else ".."
    one, other = (name or "HEAD" for name in old.split(dots, 1))
    if dots == "..":
        return one, other
    from policy.files.revisions import common_ancestor  # noqa: PLC0415  # as above

    return common_ancestor(Path(), one, other), other


def _path(text: str) -> Path | None:
    """Return *text* as a path if it exists, else None."""
    try:
        return Path(text) if text and Path(text).exists() else None
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return None


@frozen
class StartPlace:
    """The folder in which a session starts, and its checkout."""

    top: Path  # the top folder of the checkout; without one, the folder of the session
    folder: str  # the folder of the session, relative to *top*; "" is *top*
    main: Path | None = None  # of a linked worktree: the main checkout, or a bare repository
    # Without a checkout, the parents up to the home folder or the root.
    above: tuple[Path, ...] = ()

    @property
    def tree(self) -> Folder:
        """The files of the checkout; links in folders of hosts may lead out of it."""
        return Folder(self.top, follows=frozenset({".claude"}))


def start_place(folder: str | Path) -> StartPlace:
    """Return the place of a session that starts in *folder*; raise `PolicyError` for no folder."""
    here = Path(folder).resolve()
    if not here.is_dir():
        raise PolicyError("expected a folder", file=str(folder))
    top = next((each for each in (here, *here.parents) if (each / ".git").exists()), None)
    home = Path.home().resolve()
    above = () if top or here == home else tuple(takewhile(home.__ne__, here.parents))
    top = top or here
    inside = here.relative_to(top).as_posix()
    return StartPlace(top, "" if inside == "." else inside, _main_of(top), above)


def _main_of(top: Path) -> Path | None:
    """Return the main checkout of a linked worktree, or its repository if that has none."""
    try:
        # REPOSITORY/worktrees/NAME, in which two files name both back. Otherwise it is no linked
        # worktree (2.1.329, observed).
        git = _named_in(top / ".git")
        common, back = _named_in(git / "commondir"), _named_in(git / "gitdir")
    except (OSError, ValueError):
        return None
    is_linked = git.parent == common / "worktrees" and back == top / ".git"
    main = common.parent if common.name == ".git" else common
    return main if is_linked else None


def _named_in(file: Path) -> Path:
    """Return the path that a file of git holds."""
    return (file.parent / file.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()


# Pattern of paths -> the kind of file.
_KINDS = [
    (re.compile(pattern), what)
    for pattern, what in (
        (r"(^|/)skills/.*/?SKILL\.md$", "skill"),
        (r"(^|/)commands/.+\.md$", "command"),
        (r"(^|/)agents/.+\.md$|\.(agent|chatmode)\.md$", "agent definition"),
        (r"(^|/)\.claude[^/]*/.*settings[^/]*\.json$", "settings"),
        (r"(^|/)settings(/.+|(\.[\w-]+)?)\.json$", "settings"),
        (r"(^|/)(hooks/)?hooks\.json$", "hooks"),
        (r"(^|/)\.mcp\.json$", "tool servers"),
        (r"(^|/)plugin\.json$", "plugin manifest"),
        (
            r"(^|/)\.(zeph|gemini|codex|cursor|qwen|opencode|kiro)/.+\.(md|toml|json|ya?ml|rules)$",
            "configuration of another runtime",
        ),
        (r"(^|/)opencode\.jsonc?$", "configuration of another runtime"),
    )
]


def kind_of_unread(path: str) -> str | None:
    """Return the kind of file that *path* looks like, or None."""
    return next((what for pattern, what in _KINDS if pattern.search(path)), None)


@cache
def _names() -> dict[str, dict[str, str]]:
    import tomllib  # noqa: PLC0415  # imports much

    return tomllib.loads(Path(__file__).with_name("near_names.toml").read_text("utf-8"))


def near_name(path: str, paths: Container[str] = ()) -> str:
    """Return the path that a host reads and that *path*, one of *paths*, resembles, or ""."""
    if misplaced := re.search(r"(?:^|/)\.claude/(?:skills/[^/]+\.md|(\.?mcp\.json))\Z", path):
        return ".mcp.json" if misplaced[1] else ".claude/skills/*/SKILL.md"
    behind = re.fullmatch(_names()["copies"]["path"], path)
    original = behind[1] if behind else path
    for wanted in (name.split("/") for name in " ".join(_names()["read"].values()).split()):
        names = [name for name in wanted if name != "**"]
        given = original.split("/")
        if names[0] in given[:-1]:
            given = given[len(given) - 1 - given[::-1].index(names[0]) :]
            if names != wanted:
                given = [*given[:2], given[-1]]
        elif not names[0].startswith("."):
            given = given[-1:]
        if len(given) == len(names) and all(map(_is_near, given, names)):
            is_right = fnmatchcase("/".join(given), "/".join(names))
            return "" if is_right and (not behind or original in paths) else "/".join(wanted)
    return ""


def name_for_rules(path: str) -> str:
    """Return the path under which a host reads rules, for a *path* beside it; or ""."""
    form = r"(^|/)\.claude/(?!settings(\.local)?\.json\Z)[^/]+\.json[c5]?\Z"
    return ".claude/settings.json" if re.search(form, path) else ""


def _is_near(given: str, wanted: str) -> bool:
    if given[:1] != "." == wanted[:1]:  # people keep copies of their own files in such a folder
        return False
    (name, ending), (other, right) = map(os.path.splitext, (given.casefold(), wanted.casefold()))
    confused = (each.split() for each in _names()["endings"].values())
    if ending not in ("", right) and not any({ending, right} <= {*each} for each in confused):
        return False
    if other == "*" or name in _names()["folders"].get(other, "").split():
        return True
    spaced = re.sub("[-_ ]", ".", name)
    from difflib import SequenceMatcher  # noqa: PLC0415  # rarely needed

    # One letter of six may be missing, or stand elsewhere.
    return SequenceMatcher(None, spaced, other).ratio() > 0.83


# Codes of findings about files and folders of which nothing was read.
_UNREADABLE = frozenset(
    "bad-front-matter invalid-json invalid-settings unmet-expectation unreadable-file"
    " unreadable-policy".split()
)

# Folders and files of hosts. A link of such a name may lead to deny rules.
_WHERE_POLICIES_ARE = frozenset(
    ".a3s .claude .zeph a3s.session.yaml agent.acl agents instructions.md pikuri.host.yaml".split()
)


def is_unreadable(finding: Finding) -> bool:
    """Return whether *finding* is about a file or folder of which nothing was read."""
    if finding.code != "unreadable":
        return finding.code in _UNREADABLE
    # A link or a submodule matters only if a policy may be behind it.
    path = finding.file
    return (
        finding.message.startswith("cannot be read")
        or path.endswith(".policy")
        or kind_of_unread(path) is not None
        or not _WHERE_POLICIES_ARE.isdisjoint(path.split("/"))
    )
