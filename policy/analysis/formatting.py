"""Files in their canonical form, or without the rules that decide nothing.

`canonical` prints a file as the front end whose file it is does, and shows that it is read as
before. `minimal` leaves rules out one by one for as long as they are dead in every table that
can come about (`policy.compare.dead_rules`), in every permission mode of a session; then the
text without them is read again, and compared. What is left is *minimal*: no set of its rules
could be left out. Other rules may say the same in fewer words. What a host skips is in no
table and stays: lint reports it. So does what a host would add by itself, were it not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from policy.analysis.diff import diff_workspaces, in_every_mode, objection
from policy.analysis.reach.worklist import reach
from policy.compare.compare import Known
from policy.compare.dead_rules import shadowing
from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Edit, Source, Span, edited
from policy.core.values import define, evolve, field, frozen
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.json_nodes import read_json
from policy.files.nodes import Node, ScalarNode, SequenceNode, walk
from policy.files.opening import Overlay, Tree
from policy.files.text import BYTE_ORDER_MARK, FileText, has_byte_order_mark
from policy.files.toml_nodes import read_toml
from policy.files.trees import Memory
from policy.files.yaml_nodes import read_yaml
from policy.hosts.front_ends import FRONT_ENDS
from policy.hosts.project import FrontEnd, Project
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_notation
from policy.language.printer import print_document
from policy.language.syntax import Agent, Comment, Comments, Delegate, Expect, Grant, Statement
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Part, Table

__all__ = [
    "Kept",
    "MinimalFile",
    "canonical",
    "lists",
    "minimal",
    "without",
]


_NOTATION: Final = ".policy"


def lists(source: Source) -> tuple[tuple[Span, ...], ...]:
    """Return the items of every list in *source*, whose name says what it is written in.

    Raises:
        PolicyError: it cannot be read.

    """
    if source.name.endswith(_NOTATION):
        document = parse_notation(source)
        return tuple(
            tuple(matcher.span for matcher in node.matchers)
            for agent in document.body
            if isinstance(agent, Agent)
            for node in agent.body
            if isinstance(node, Grant | Delegate)
        )
    root = _read(source)
    return () if root is None else tuple(each.items for each in _written(root))


def _stating(source: Source) -> tuple[tuple[Span, ...], ...]:
    """Return the items that stand for something else where none of them is left.

    An agent that states nothing it may hand on hands on what it may use.

    Raises:
        PolicyError: it cannot be read.

    """
    if not source.name.endswith(_NOTATION):
        return ()
    agents = [node for node in parse_notation(source).body if isinstance(node, Agent)]
    found = (
        tuple(m.span for node in agent.body if isinstance(node, Delegate) for m in node.matchers)
        for agent in agents
    )
    return tuple(filter(None, found))


def without(source: Source, spans: Collection[Span]) -> str | None:
    """Return the text of *source* without some items of its lists.

    None where one of them cannot be taken out without touching anything else.

    Raises:
        PolicyError: it cannot be read.

    """
    wanted = {(span.start, span.end) for span in spans}
    if source.name.endswith(_NOTATION):
        return _document(source, wanted)
    root = _read(source)
    edits: list[Edit] = []
    for each in () if root is None else _written(root):
        gone = [span for span in each.items if (span.start, span.end) in wanted]
        wanted -= {(span.start, span.end) for span in gone}
        if gone:
            found = each.without(gone)
            if found is None:
                return None
            edits += found
    return None if wanted else edited(source.text, edits)


def _read(source: Source) -> Node | None:
    """Return the document that *source* is, or that its header is; None for any other file."""
    name = source.name.lower()
    if name.endswith(".json"):
        return read_json(source)
    if name.endswith((".yaml", ".yml")):
        return read_yaml(source)
    if name.endswith(".md"):
        front = split_front_matter(source)
        if front is not None:
            read = read_toml if front.kind is HeaderLanguage.TOML else read_yaml
            return read(source, front.header.start, front.header.end)
    return None


@frozen
class _List:
    """A list as it is written: with commas between, or an item a line."""

    node: Node
    items: tuple[Span, ...]

    def without(self, gone: Collection[Span]) -> list[Edit] | None:
        """Return what takes items out."""
        text, source = self.node.span.source.text, self.node.span.source
        kept = [span for span in self.items if span not in gone]
        if isinstance(self.node, SequenceNode) and text[self.node.span.start] != "[":
            return _lines(source, self.items, gone, kept)
        if not kept:
            is_list = isinstance(self.node, SequenceNode)
            return [Edit(self.node.span, "[]")] if is_list else None
        edits: list[Edit] = []
        for number, span in enumerate(self.items):
            later = self.items[number + 1 :]
            if span in gone and span.start > kept[-1].end:
                return [*edits, Edit(source.span(kept[-1].end, self.items[-1].end), "")]
            if span in gone:
                edits.append(Edit(source.span(span.start, later[0].start), ""))
        return edits


def _lines(
    source: Source, items: Iterable[Span], gone: Collection[Span], kept: Collection[Span]
) -> list[Edit] | None:
    """Return what takes out items of a list that has an item a line."""
    edits = []
    for span in items:
        if span not in gone:
            continue
        number = span.place.line
        start, line = source.offset(number, 1), source.line(number)
        dash = source.text[start : span.start]
        behind = line[span.end - start :].strip()
        if dash.strip() != "-" or (behind and not behind.startswith("#")):
            return None
        end = source.text.find("\n", span.end) + 1 or len(source.text)
        edits.append(Edit(source.span(start, end), ""))
    if kept:
        return edits
    before = source.text[: edits[0].span.start].rstrip()
    if not before.endswith(":"):
        return None
    return [Edit(source.span(len(before), edits[-1].span.end), " []\n")]


def _written(root: Node) -> Iterator[_List]:
    """Yield every list of texts."""
    within = set[int]()
    for node in walk(root):
        if isinstance(node, SequenceNode):
            items = [item for item in node.items if isinstance(item, ScalarNode)]
            within.update(id(item) for item in items)
            spans = tuple(item.span for item in items)
            # The reader of TOML has no place of its own for what is escaped.
            apart = all(one.end <= other.start for one, other in pairwise(spans))
            if items and len(items) == len(node.items) and apart and node.span not in spans:
                yield _List(node, spans)
        elif isinstance(node, ScalarNode) and id(node) not in within:
            parts = tuple(_parts(node))
            if len(parts) > 1:
                yield _List(node, parts)


def _parts(scalar: ScalarNode) -> Iterator[Span]:
    """Yield what stands between the commas of a text, those in parentheses aside."""
    content = scalar.content_span() if isinstance(scalar.value, str) else None
    if content is None or "\n" in content.text:
        return
    depth, start, text = 0, 0, content.text
    for position, character in enumerate(f"{text},"):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character == "," and not depth:
            part = text[start:position]
            begin = content.start + start + len(part) - len(part.lstrip())
            yield Span(content.source, begin, begin + len(part.strip()))
            start = position + 1


_Ranges = set[tuple[int, int]]


def _is_exemplified(source: Source, span: Span) -> bool:
    """Return whether an example below it would be left without any rule, were *span* taken out.

    Raises:
        PolicyError: it cannot be read.

    """
    if not source.name.endswith(_NOTATION):
        return False
    gone = {(span.start, span.end)}
    agents = (node for node in parse_notation(source).body if isinstance(node, Agent))
    return any(_exposes(agent.body, gone) for agent in agents)


def _document(source: Source, gone: _Ranges) -> str | None:
    document = parse_notation(source)
    if any(_exposes(node.body, gone) for node in document.body if isinstance(node, Agent)):
        return None
    body = tuple(
        evolve(node, body=tuple(_statements(node.body, gone))) if isinstance(node, Agent) else node
        for node in document.body
    )
    return print_document(evolve(document, body=body))


def _exposes(body: Iterable[Statement], gone: _Ranges) -> bool:
    """Return whether an example would be left without the rules that it is of."""
    empty = False
    for node in body:
        if isinstance(node, Grant):
            empty = all((m.span.start, m.span.end) in gone for m in node.matchers)
        elif isinstance(node, Expect) and empty:
            return True
    return False


def _statements(body: Iterable[Statement], gone: _Ranges) -> Iterator[Statement]:
    dropped = False
    for node in body:
        if isinstance(node, Comment) and node.trailing and dropped:
            continue  # it is about what is gone
        dropped = False
        if not isinstance(node, Grant | Delegate):
            yield node
            continue
        left = [(m.span.start, m.span.end) not in gone for m in node.matchers]
        dropped = not left[-1]
        if any(left):
            kept = tuple(m for m, stays in zip(node.matchers, left, strict=True) if stays)
            comments = tuple(_comments(node.comments, left))
            within = tuple((n, comment) for n, comment in comments if n < len(kept))
            yield evolve(node, matchers=kept, comments=within)
            yield from (comment for n, comment in comments if n >= len(kept))


def _comments(comments: Comments, left: list[bool]) -> Iterator[tuple[int, Comment]]:
    """Yield the comments of a list, each behind as many entries as are left before it."""
    for number, comment in comments:
        if comment.trailing and not left[number - 1]:
            continue  # it is about the entry that is gone
        # What stood above the first entry that is left stands below it.
        yield max(sum(left[:number]), 1), comment


# Rules of one file that are tried one by one; each costs some comparisons.
_MOST: Final = 2_000

# The rule sets whose meet bounds an agent.
_Parts = tuple[Part, ...]


@frozen
class Kept:
    """A rule that is kept though tables decide alike without it, or may do so.

    Attributes:
        span: where it is written.
        why: the reason.

    """

    span: Span
    why: str


@frozen
class MinimalFile:
    """A file without the rules that change nothing.

    Attributes:
        text: of the file, which is not laid out anew.
        removed: what was left out, as it was written.
        kept: what might have been, in the order written.

    """

    text: str
    removed: tuple[Span, ...]
    kept: tuple[Kept, ...]


@define
class _Trial:
    """Tables from which rules are left out for as long as they are dead there.

    Attributes:
        source: the file.
        tables: what bounds each agent, alone or in a chain.
        kept: why rules stay that may change nothing.

    """

    source: Source
    tables: list[_Parts]
    kept: dict[Span, str] = field(factory=dict)
    _compared: Known = field(factory=dict)

    def leave_out(self, items: Sequence[Span]) -> list[Span]:
        """Return the items that can all be left out; none of the others can be as well."""
        gone: list[Span] = []
        waiting = list(items)
        while True:
            before = len(gone)
            gone += filter(self._leave_out, waiting)
            waiting = [item for item in waiting if item not in gone]
            if len(gone) == before:
                return gone

    def _leave_out(self, item: Span) -> bool:
        self.kept.pop(item, None)
        fewer = self._fewer(item)
        if fewer is None:
            return False
        if without(self.source, [item]) is None:
            exemplified = _is_exemplified(self.source, item)
            self.kept[item] = _EXEMPLIFIED if exemplified else _IN_ITS_LIST
            return False
        for number, parts in fewer.items():
            self.tables[number] = parts
        return True

    def _fewer(self, item: Span) -> dict[int, _Parts] | None:
        """Return the tables that change without *item*; None unless it is dead in all."""
        changed: dict[int, _Parts] = {}
        for number, parts in enumerate(self.tables):
            # No call is of a tool without a name.
            said = [e for part in parts for e in part.rules.entries if e.tool and _is_of(e, item)]
            rules = {entry.place for entry in said}
            others = {
                (e.place, e.rule)
                for part in parts
                for e in part.rules.entries
                if e.place not in rules
            }
            if not rules:
                continue
            table = Table(Ceiling(parts))
            for standing in shadowing(table, known=others, compared=self._compared):
                if standing.what == "undecided":
                    self.kept[item] = _UNDECIDED
                if standing.what in ("live", "undecided"):
                    return None
            changed[number] = tuple(
                evolve(part, rules=_without(part.rules, item)) for part in parts
            )
        return changed


_UNDECIDED: Final = "it was not decided whether it matters"
_EXEMPLIFIED: Final = "no call is decided otherwise without it, but the example below is of it"
_IN_ITS_LIST: Final = (
    "no call is decided otherwise without it, but it cannot be taken out of its list alone"
)


def _without(rules: RuleSet, item: Span) -> RuleSet:
    return evolve(rules, entries=tuple(e for e in rules.entries if not _is_of(e, item)))


def _is_of(entry: Entry, item: Span) -> bool:
    place = entry.place
    if place is None or place.file != item.source.name:
        return False
    return item.start <= item.source.offset(place.line, place.column) < item.end


@frozen
class _Proof:
    """Shows that a file without some of its rules still decides as it did."""

    tree: Tree
    path: str
    source: FileText
    before: Workspace
    load: Callable[[Tree], Workspace]

    def objection(self, spans: Sequence[Span]) -> str:
        """Return why the file must not lose *spans*, or ""."""
        if without(self.source, spans) is None:
            return "a rule cannot be taken out of its list"
        after = self.load(self.tree_without(spans))
        why = objection(self.before, after, any_change=True)
        for _, old, new in in_every_mode(self.before, after) if not why else ():
            pairs = zip(old.projects, new.projects, strict=True)
            why = why or next(filter(None, (_agents_differ(*pair) for pair in pairs)), "")
        return why

    def tree_without(self, spans: Sequence[Span]) -> Tree:
        """Return the tree in which the file has lost *spans*, which can be taken out."""
        mark = BYTE_ORDER_MARK if self.source.byte_order_mark else ""
        text = without(self.source, spans) or ""
        return Overlay(self.tree, {self.path: (mark + text).encode("utf-8")})


def _agents_differ(before: Project, after: Project) -> str:
    """Return why an agent by itself is not the same, or ""."""
    if before.agents.keys() != after.agents.keys() or before.starts != after.starts:
        return "agents come or go"
    for name, entry in before.agents.items():
        tables = (entry.declared, after.agents[name].declared)
        if tables[0].bounds != tables[1].bounds:
            return f"the limits of `{name}` change"
        for one, other in (tables, tuple(Table(table.delegated) for table in tables)):
            found = differences(one, other)
            if found.differences or not found.exact:
                return f"`{name}` by itself would decide otherwise"
    return ""


def minimal(tree: Tree, path: str, *, load: Callable[[Tree], Workspace] = load_tree) -> MinimalFile:
    """Return the file at *path* with no rule that could be left out of it.

    Each agent by itself decides as before, and so does every chain, in both
    readings, of the tree as it is: another file may bring a rule to life that
    did not matter.

    Args:
        tree: the file, and all else that its host reads.
        path: of a file of *tree*.
        load: reads the tree.

    Raises:
        PolicyError: the file cannot be read, or what is left cannot be shown to
            decide alike.

    """
    source = tree.source(path)
    before = load(tree)
    items = _items(source, _written_rules(before, source))
    if len(items) > _MOST:
        msg = f"{len(items):,} rules are more than are tried one by one"
        raise PolicyError(msg, file=path, help=f"at most {_MOST:,} are")
    trial = _Trial(source, _tables(before))
    proof = _Proof(tree, path, source, before, load)
    removed = _left_out(items, trial, proof)
    why = proof.objection(removed)
    text = without(source, removed)
    if why or text is None:
        msg = f"what is left cannot be shown to decide alike: {why}"
        raise PolicyError(msg, file=path, help="the file is left as it is")
    kept = (Kept(span, why) for span, why in trial.kept.items())
    found = MinimalFile(
        text,
        tuple(sorted(removed, key=_start)),
        tuple(sorted(kept, key=lambda one: one.span.start)),
    )
    if any(item in removed for item in _repeated(source, items)):
        return _again(found, source, minimal(proof.tree_without(removed), path, load=load))
    return found


def _left_out(items: Sequence[Span], trial: _Trial, proof: _Proof) -> list[Span]:
    """Return what the file may lose of its rules and lists; the trial tells why others stay."""
    removed = trial.leave_out(items)
    if removed and proof.objection(removed):
        # What a host makes of the text is more than its lines: each rule by itself, then.
        some: list[Span] = []
        for item in removed:
            why = proof.objection([*some, item])
            if why:
                trial.kept[item] = f"without it, {why}"
            else:
                some.append(item)
        removed = some
    for item in _repeated(proof.source, items):
        if item not in removed and not proof.objection([*removed, item]):
            trial.kept.pop(item, None)
            removed = [*removed, item]
    for spans in _stating(proof.source):
        left = [item for item in spans if item not in removed]
        if left and not proof.objection([*removed, *left]):
            removed = [*removed, *left]
            for item in left:
                trial.kept.pop(item, None)
    return removed


def _again(first: MinimalFile, source: Source, then: MinimalFile) -> MinimalFile:
    """Return both steps as one: what *then* left out of the text that was left *first*."""
    left = [span for spans in lists(source) for span in spans if span not in first.removed]
    if not then.removed:
        return first
    at = [span.start for spans in lists(then.removed[0].source) for span in spans]
    more = tuple(left[at.index(span.start)] for span in then.removed)
    kept = tuple(one for one in first.kept if one.span not in more)
    return MinimalFile(then.text, tuple(sorted((*first.removed, *more), key=_start)), kept)


def _repeated(source: Source, items: Sequence[Span]) -> list[Span]:
    """Return the items that another list says as well: a table has one line for both.

    Of the two lists of Zeph that deny, `deny: [bash], except: [bash]`, either is enough.
    """
    others = {_name(span) for spans in lists(source) for span in spans if span not in items}
    return [item for item in items if _name(item) in others]


def _name(span: Span) -> str:
    """Return what an item says, however it is quoted; case tells none apart for most hosts."""
    return span.text.strip("\"'").casefold()


def _start(span: Span) -> int:
    return span.start


def _items(source: Source, offsets: Mapping[int, Effect]) -> list[Span]:
    """Return the items of the lists that hold rules, in the order in which they are tried.

    Of what allows, asks and denies, that which grants more is tried first: whether
    a rule that denies matters depends on what would be granted without it. Of
    two that cover the same calls the longer one is tried first, and of two that
    are written alike the latter.
    """
    first: dict[str, int] = {}
    found: list[tuple[int, int, int, int, Span]] = []
    for spans in lists(source):
        effects = [_effect(span, offsets) for span in spans]
        known = [effect for effect in effects if effect is not None]
        if known:
            for span, effect in zip(spans, effects, strict=True):
                rank = list(Effect).index(max(known) if effect is None else effect)
                at = first.setdefault(span.text, span.start)
                found.append((-rank, -len(span.text), at, -span.start, span))
    return [span for *_, span in sorted(found, key=lambda item: item[:-1])]


def _effect(span: Span, offsets: Mapping[int, Effect]) -> Effect | None:
    found = [offsets[at] for at in range(span.start, span.end) if at in offsets]
    return max(found, default=None)


def _sets(workspace: Workspace) -> Iterator[RuleSet]:
    for use in _tables(workspace):
        yield from (part.rules for part in use)


def _written_rules(workspace: Workspace, source: Source) -> dict[int, Effect]:
    """Return where in *source* each rule starts, and the most that it grants."""
    found: dict[int, Effect] = {}
    for rules in _sets(workspace):
        for entry in rules.entries:
            if entry.place is not None and entry.place.file == source.name:
                at = source.offset(entry.place.line, entry.place.column)
                found[at] = max(found.get(at, entry.effect), entry.effect)
    return found


def _tables(workspace: Workspace) -> list[_Parts]:
    """Return every ceiling of agents, alone or in a chain, in every mode, each once."""
    found: dict[object, _Parts] = {}
    for each in (workspace, *workspace.modes.values()):
        for project in each.projects:
            for table in _of_project(project):
                for ceiling in (table.use, table.delegated):
                    found.setdefault(
                        tuple(part.rules.interned for part in ceiling.parts), ceiling.parts
                    )
    return list(found.values())


def _of_project(project: Project) -> Iterator[Table]:
    yield from (entry.declared for entry in project.agents.values())
    for reading in (project.attenuated, project.enforced):
        yield from (reading.start(agent).table for agent in project.all_starts)
        for chains in reach(project, reading, project.all_starts).chains.values():
            yield from (chain.table for chain in chains)


def canonical(
    path: str, source: Source, *, front_ends: Iterable[FrontEnd] = FRONT_ENDS
) -> str | None:
    """Return *source* in the canonical form of the first front end whose file it is, or None.

    Args:
        path: with slashes, with as many folders above the file as are known; by
            these a front end knows its files.
        source: the text, whose name is that of errors.
        front_ends: who is asked, in this order.

    Raises:
        PolicyError: it cannot be read, or its canonical form would be read as
            something else.

    """
    front_ends = tuple(front_ends)
    for front_end in front_ends:
        printed = front_end.canonical(path, source)
        if printed is not None:
            if printed != source.text:
                _check(path, source, printed, front_ends)
            return printed
    return None


def _check(path: str, source: Source, printed: str, front_ends: tuple[FrontEnd, ...]) -> None:
    """Raise unless every front end reads *printed* as it reads *source*."""
    mark = BYTE_ORDER_MARK if has_byte_order_mark(source) else ""
    written = mark + source.text.removeprefix(mark)
    before, after = (
        load_tree(Memory({path: text}), front_ends=front_ends) for text in (written, printed)
    )
    diff = diff_workspaces(before, after)
    if diff.changes or not diff.exact or _codes(before) != _codes(after):
        msg = "its canonical form cannot be shown to mean the same"
        raise PolicyError(msg, file=source.name, help="the file is left as it is")


def _codes(workspace: Workspace) -> Counter[str]:
    return Counter(finding.code for finding in workspace.findings)
