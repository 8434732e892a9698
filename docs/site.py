"""What the site has besides the pages of this folder, made when it is built (a hook of MkDocs).

- Pages that lie beside the code they describe: findings, hosts, recipes, the changelog.
- `::: policy.NAME` in a page, which becomes the module that defines the name.
- `{{ NAME }}` in a page, which one of `WRITERS` replaces.
- Relative links that lead out of this folder, as they work in the repository: to the page of the
  site, or to the file in the repository.
"""

from __future__ import annotations

import argparse
import enum
import inspect
import io
import json
import os
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import policy
from policy.adapters.hook.deciding import options_of
from policy.analysis import catalogue
from policy.cli import main, verbs
from policy.cli.options import parser_of

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/OWNER/agent-policy/blob/main/"

_FINDINGS = "policy/analysis/catalogue"

# Page of the site -> its file in the repository.
PAGES = {
    "reference/findings.md": f"{_FINDINGS}/README.md",
    **{f"reference/findings/{code}.md": f"{_FINDINGS}/{code}.md" for code in catalogue.codes()},
    "reference/hosts/claude-code.md": "policy/hosts/claude/README.md",
    "reference/hosts/claude-code-declared.md": "policy/hosts/claude/DECLARED.md",
    "reference/hosts/zeph.md": "policy/hosts/zeph/README.md",
    "reference/hosts/a3s.md": "policy/hosts/a3s/README.md",
    "reference/hosts/pikuri.md": "policy/hosts/pikuri/README.md",
    "recipes.md": "policy/adapters/RECIPES.md",
    "changelog.md": "CHANGELOG.md",
}
_PLACES = {source: page for page, source in PAGES.items()}

# --- the hook --------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie beside the code."""
    from mkdocs.structure.files import File

    for name, source in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Fill in what is generated, and lead links to pages of the site."""
    name = page.file.src_uri
    if code := page.meta.get("code"):
        hosts = ", ".join(page.meta.get("hosts", ())) or "every host"
        about = f"`{code}` · {page.meta['severity']} · {hosts} · [all findings](README.md)"
        page.meta["search"] = {"boost": 0.5}  # a search shows guides first
        markdown = re.sub(r"^(# .+)$", rf"\1\n\n{about}", markdown, count=1, flags=re.MULTILINE)
    markdown = re.sub(r"^::: (\S+)$", lambda found: public(found[1]), markdown, flags=re.MULTILINE)
    markdown = re.sub(r"\{\{ (\w+) \}\}", lambda found: WRITERS[found[1]](), markdown)
    return relinked(markdown, name)


def public(name: str) -> str:
    """Return the lines that mkdocstrings replaces by what is known of a public name."""
    module, _, short = name.rpartition(".")
    found = getattr(import_module(module), short)
    home = policy._HOMES[short] if module == "policy" else found.__module__
    lines = f"::: {home}.{short}"
    if isinstance(found, type) and issubclass(found, enum.Enum):
        lines += f"\n\n| {short.lower()} | |\n| --- | --- |\n"
        source = inspect.getsource(found)
        for each in found:
            # What a value means is said behind it, in the code.
            comment = re.search(rf"^    {each.name} = .*?# (.+)$", source, re.MULTILINE)
            means = comment[1] if comment else ""
            lines += f"| `{short}.{each.name}` (`{each.value}`) | {means} |\n"
    return lines


def relinked(markdown: str, name: str) -> str:
    """Return the page *name* of the site with its links, which lead to files of the repository."""
    here = posixpath.dirname(PAGES.get(name, f"docs/{name}"))

    def replaced(found: re.Match[str]) -> str:
        path, hash_, anchor = found[1].partition("#")
        if not path or re.match(r"\w+:", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(here, path))
        page = _PLACES.get(target) or (
            target.removeprefix("docs/")
            if target.startswith("docs/") and not target.endswith(".py")
            else None
        )
        if page is None:
            return f"]({REPOSITORY}{target}{hash_}{anchor})"
        return f"]({posixpath.relpath(page, posixpath.dirname(name))}{hash_}{anchor})"

    fences = re.split(r"(^ *```.*?^ *```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    fences[::2] = [re.sub(r"\]\(([^)\s]+)\)", replaced, text) for text in fences[::2]]
    return "".join(fences)


# --- the command line ------------------------------------------------------------------


def command_line() -> str:
    """Return a section for each verb, from its parser."""
    return "\n\n".join(
        f"## policy {verb}\n\n" + ("\n\n".join(_verb(verb))) for verb in verbs()["verbs"]
    )


def _verb(verb: str) -> Iterator[str]:
    if verb == "hook":  # it has no parser of this kind, since it must start fast
        yield f"```text\n{_printed(lambda: options_of(['--help']))}```"
        return
    parser = parser_of(verb)
    yield parser.description or ""
    yield f"```text\n{parser.format_usage().removeprefix('usage: ')}```"
    for group in parser._action_groups:
        rows = [_option(parser, action) for action in group._group_actions]
        if rows:
            yield "\n".join((f"| {group.title} | |", "| --- | --- |", *rows))
    text, _, examples = (parser.epilog or "").partition("examples:\n")
    if text.strip():
        yield text.strip().replace("exit status: ", "**Exit status:** ")
    if examples:
        yield f"```sh\n{re.sub('^  ', '', examples, flags=re.MULTILINE)}```"


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0:
        value = str(action.metavar or ", ".join(action.choices or ()) or action.dest.upper())
    names = ", ".join(f"`{name} {value}".rstrip() + "`" for name in action.option_strings)
    told = parser._get_formatter()._expand_help(action) if action.help else ""
    told = re.sub(r"(?<!`)(--[a-z-]+)(?!`)", r"`\1`", told)
    return f"| {names or f'`{value}`'} | {told} |"


def _printed(run: Callable[[], object]) -> str:
    output = io.StringIO()
    with chdir(ROOT), redirect_stdout(output):
        run()
    return output.getvalue()


# --- JSON ------------------------------------------------------------------------------

# Verb -> a run that shows every key of its answer.
RUNS = {
    "check": "fixtures/team 'Bash(git diff --stat && rm x)'",
    "audit": "fixtures/claude-nested-pools",
    "lint": "fixtures/team",
    "diff": "fixtures/command/team fixtures/command/team-changed",
    "query": "'Read(src/**)' fixtures/team",
    "test": "fixtures/team",
    "convert": "fixtures/delegate-beyond-use --to zeph",
    "replay": "docs/examples/calls.jsonl --policy fixtures/command/team-changed",
    "suggest": "docs/examples/calls.jsonl --policy fixtures/team",
    "rule": "dead-file-rule",
}


def json_shapes() -> str:
    """Return the shape of the answer of each verb, drawn from a run."""
    sections = []
    for verb, words in RUNS.items():
        arguments = [verb, *shlex.split(words), "--format", "json"]
        found = json.loads(_printed(partial(main, arguments)))
        sections.append(
            f"## {verb}\n\nOf `policy {verb} {words} --format json`:\n\n"
            f"```text\n{shape(kinds(found))}\n```"
        )
    return "\n\n".join(sections)


Kind = dict[str, Any] | list[Any] | str


def kinds(value: object) -> Kind:
    """Return *value* with types for its values; items of one list are merged into one."""
    match value:
        case dict():
            return {key: kinds(below) for key, below in value.items()}
        case list():
            items: list[Kind] = []
            for item in map(kinds, value):
                items = [_merged(items[0], item)] if items else [item]
            return items
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
    return "string"


def _merged(a: Kind, b: Kind) -> Kind:
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: _merged(a.get(key, b.get(key)), b.get(key, a.get(key))) for key in a | b}
    if isinstance(a, list) and isinstance(b, list):
        return [_merged(a[0], b[0])] if a and b else a or b
    if isinstance(a, str) and isinstance(b, str):
        return " or ".join(
            sorted(
                {*a.split(" or "), *b.split(" or ")},
                key=["string", "number", "boolean", "null"].index,
            )
        )
    return b if a == "null" else a


def shape(kind: Kind, indent: str = "") -> str:
    """Return *kind* as text."""
    inner = indent + "  "
    match kind:
        case dict() if kind:
            rows = [f"{inner}{json.dumps(key)}: {shape(kind[key], inner)}" for key in kind]
            return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
        case list() if kind:
            return f"[{shape(kind[0], indent)}, …]"
        case str():
            return kind
    return "{}" if isinstance(kind, dict) else "[]"


# --- hosts -----------------------------------------------------------------------------


def files_of_hosts() -> str:
    """Return the section `Files` of the page of each host."""
    sections = []
    for name, source in PAGES.items():
        if not name.startswith("reference/hosts/"):
            continue
        text = (ROOT / source).read_text("utf-8")
        files = re.search(r"^## Files\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if files:
            title = text.removeprefix("# ").partition("\n")[0]
            link = os.path.relpath(ROOT / source, Path(__file__).parent / "reference")
            sections.append(f"## {title}\n\n{files[1].strip()}\n\n[More of this host]({link})")
    return "\n\n".join(sections)


WRITERS: dict[str, Callable[[], str]] = {
    "command_line": command_line,
    "json_shapes": json_shapes,
    "files_of_hosts": files_of_hosts,
    "version": lambda: policy.__version__,
}
