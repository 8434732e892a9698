"""From the files of one host to those of another, with every loss and a witness for it.

A project is read into common words (`policy.hosts.portable.Portable`): what each table says of a
tool becomes one list, of which the first line that matches decides, and where a meet of lists
cannot be written out, less is granted. The other host writes that, and what was written is read
back by that host's own front end. What then differs, for any chain and call, is a loss
(`policy.analysis.conversion.losses`). Where the other host would grant more, it is made to say
less, round by round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice, product
from operator import and_
from pathlib import Path
from typing import Final

from policy.analysis.conversion.losses import (
    COMMON,
    CommonWords,
    Comparisons,
    ConversionSide,
    Loss,
    Unproven,
    losses,
)
from policy.analysis.reach.worklist import reach
from policy.commands.reader import read_command
from policy.compare.tables import OTHER_TOOL, glob_pattern, internal_tools, representatives
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.progress import steps
from policy.core.source import Source
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode as Document
from policy.files.nodes import Node, ScalarNode
from policy.files.opening import Tree, is_unreadable, open_tree
from policy.files.trees import Memory
from policy.files.yaml_nodes import read_yaml
from policy.hosts import notation
from policy.hosts.front_ends import FRONT_ENDS, writer_of
from policy.hosts.portable import (
    Dropped,
    Portable,
    PortableAgent,
    PortableLine,
    ToolRules,
    WrittenFiles,
    covers,
)
from policy.hosts.project import FrontEnd, Project
from policy.hosts.workspace import load_tree
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, argument_text
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import ArgumentKind
from policy.tables.entry import Entry
from policy.tables.lookup import Lookup
from policy.tables.row import Row
from policy.tables.ruleset import RuleSet
from policy.tables.table import SPAWN_TOOL, Table

__all__ = [
    "Conversion",
    "convert",
]


# Agent -> what it is for, and its prompt.
_Texts = dict[str, tuple[str, str]]


def _about(tree: Tree, project: Project, carried: frozenset[str]) -> tuple[_Texts, list[Dropped]]:
    """Return the texts of agents, and the keys of files that no conversion carries over.

    Args:
        tree: where the files are.
        project: whose.
        carried: keys that tables, names and texts hold.

    """
    texts: _Texts = {}
    dropped: list[Dropped] = []
    for file in project.files:
        try:
            node, body = _document(tree.source(file.path))
        except PolicyError:
            continue  # a finding of the project, if it matters
        if not isinstance(node, Document):
            continue
        name, description = (_text(node.get(key)) for key in ("name", "description"))
        if name:
            texts.setdefault(name, (description, body or _text(node.get("prompt"))))
        dropped += (Dropped(f"`{key}` of {file.path}", name) for key in _keys(node, carried))
    return texts, dropped


def _document(source: Source) -> tuple[Node | None, str]:
    name = source.name.lower()
    if name.endswith(".json"):
        return read_json(source, byte_order_mark=True), ""
    if name.endswith((".yaml", ".yml")):
        return read_yaml(source), ""
    if name.endswith(".md"):
        front = split_front_matter(source)
        if front is not None and front.kind is HeaderLanguage.YAML:
            node = read_yaml(source, front.header.start, front.header.end)
            return node, front.body.text.strip()
    return None, ""


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else ""


def _keys(node: Document, carried: frozenset[str]) -> Iterator[str]:
    """Yield the keys that nothing carries over; of a mapping that is carried, those within."""
    for entry in node.entries:
        if entry.name not in carried:
            yield entry.name
        elif isinstance(entry.value, Document):
            inner = (one.name for one in entry.value.entries)
            yield from (
                f"{entry.name}.{name}" for name in inner if f"{entry.name}.{name}" not in carried
            )


def _agent(table: Table, name: str) -> PortableAgent:
    """Return what *table*, in common words, says of every tool that it can tell apart."""
    sets = [part.rules for part in table.use.parts]
    named, _ = representatives(sets)
    internal = internal_tools(rules.dialect for rules in sets)
    written = {*COMMON.arguments}.union(*(rules.names for rules in sets))
    return PortableAgent(
        name,
        {tool: _said(table.lookup(tool)) for tool in sorted(written - internal - {SPAWN_TOOL})},
        _said(table.lookup(OTHER_TOOL)).least,
        _globs(sets, [tool for tool in named if tool not in written], table),
        starting=tuple(dict.fromkeys(_starting(table))),
        bounds=table.bounds,
    )


def _starting(table: Table) -> Iterator[PortableLine]:
    """Yield what takes from calls that start agents, by what they say beside the agent."""
    for row, _ in table.lookup(SPAWN_TOOL).rows:
        for entry in row.entries:
            beside = bool(entry.field) and entry.field not in row.argument.fields
            takes = entry.effect is not Effect.ALLOW and entry.reason is not Reason.MALFORMED
            if entry.pattern is not None and beside and takes:
                yield PortableLine(entry.effect, entry.pattern, entry.field)


def _globs(sets: list[RuleSet], others: list[str], table: Table) -> dict[str, Effect]:
    """Return what tools get by their names alone; where they differ, the least."""
    found: dict[str, Effect] = {}
    for rules in sets:
        for glob in rules.globs:
            if not glob.startswith("=") and glob != "*":
                matching = [name for name in others if glob_pattern(glob).matches(name)]
                effects = [_said(table.lookup(name)).least for name in matching]
                found[glob] = min(effects, default=Effect.DENY)
    return found


# Combinations of lines of several lists that are written out.
_COMBINATIONS: Final = 4_000


def _said(lookup: Lookup) -> ToolRules:
    constant = lookup.constant
    rows = [row for row, _ in lookup.rows]
    if constant is not None or not rows:
        return ToolRules(constant.effect if constant is not None else lookup.floor)
    floor, kind = lookup.floor, rows[0].argument.kind
    if len(rows) == 1:
        lines = [
            PortableLine(entry.effect & floor, entry.pattern, entry.field, entry.place is not None)
            for entry in _entries(rows[0])
            if entry.pattern is not None
        ]
        return ToolRules(rows[0].default.effect & floor, tuple(lines), kind)
    return ToolRules(
        min(row.default.effect for row in rows) & floor, tuple(_met(rows, floor)), kind
    )


def _entries(row: Row) -> Iterator[Entry]:
    """Yield the lines of a row, one for each choice of alternatives: few languages have these."""
    for entry in row.entries:
        for pattern in entry.pattern.spelled_out if entry.pattern is not None else (None,):
            yield entry if pattern is entry.pattern else values.evolve(entry, pattern=pattern)


def _met(rows: list[Row], floor: Effect) -> Iterator[PortableLine]:
    """Yield lines that grant no more than all of several lists do.

    What one denies is denied, and so is what one asks for unless all others grant
    as much; then come what all allow, and what all grant, as far as one pattern is
    within the others.
    """
    for row in rows:
        for entry in _entries(row):
            if entry.effect is Effect.DENY and entry.pattern is not None:
                yield PortableLine(Effect.DENY, entry.pattern, entry.field)
    for row in rows:
        others = [other for other in rows if other is not row]
        for entry in _entries(row):
            if entry.effect is Effect.ASK and entry.pattern is not None:
                is_granted = all(_grants(other, entry.pattern, entry.field) for other in others)
                effect = Effect.ASK if is_granted else Effect.DENY
                yield PortableLine(effect & floor, entry.pattern, entry.field)
    granted: list[PortableLine] = []
    asked: list[PortableLine] = []
    for chosen in islice(product(*map(_granting, rows)), _COMBINATIONS):
        effect = min(effect for _, effect in chosen) & floor
        smallest = _smallest([pattern for pattern, _ in chosen if pattern is not None])
        if smallest is not None and effect is not Effect.DENY:
            (granted if effect is Effect.ALLOW else asked).append(PortableLine(effect, smallest))
    yield from (*granted, *asked)


def _granting(row: Row) -> Iterator[tuple[Pattern | None, Effect]]:
    """Yield the patterns of what *row* allows, then None with its default."""
    for entry in _entries(row):
        if entry.effect is Effect.ALLOW and not entry.field and entry.pattern is not None:
            yield entry.pattern, entry.effect
    if row.default.effect is not Effect.DENY:
        yield None, row.default.effect


def _grants(row: Row, pattern: Pattern, field: str) -> bool:
    if row.default.effect is not Effect.DENY:
        return True
    granting = (e.pattern for e in row.entries if e.effect is not Effect.DENY and e.field == field)
    return covers(pattern, [one for one in granting if one is not None])


def _smallest(patterns: Sequence[Pattern]) -> Pattern | None:
    """Return the one of *patterns* that is within all others, if there is one."""
    smallest = (p for p in patterns if all(covers(p, [other]) for other in patterns))
    return next(smallest, None)


def _portable(project: Project, words: CommonWords, texts: _Texts) -> Portable:
    """Return what the agents of *project* may do as its host has it."""
    found = reach(project, project.enforced)
    lengths = (len(chain.links) for chains in found.chains.values() for chain in chains)
    deepest = max(lengths, default=1) - 1
    depth = None
    agents = []
    for name in dict.fromkeys((*project.starts, *found.chains)):
        chains = found.chains.get(name, ())
        if not chains:
            continue
        table = reduce(
            and_, (Table(chain.table.use, bounds=chain.table.bounds) for chain in chains)
        )
        agent = _agent(words.table(table), name)
        started = {}
        for other in found.edges.get(name, ()):
            decisions = [_start(chain, other) for chain in chains]
            least = [each.effect for each in decisions if each.reason is not Reason.DEPTH]
            started[other] = min(least, default=Effect.DENY)
            depth = deepest if len(least) < len(decisions) else depth
        description, prompt = texts.get(name, ("", ""))
        agents.append(values.evolve(agent, starts=started, description=description, prompt=prompt))
    starts = tuple(agent.name for agent in agents if agent.name in project.starts)
    if not starts:
        raise PolicyError("no agent starts a chain", file=project.root)
    return Portable(project.title, project.root, tuple(agents), starts, depth)


def _start(chain: Chain, agent: str) -> Decision:
    """Return what the call gets that starts *agent* and says no more."""
    try:
        chain.spawn(agent)
    except SpawnDenied as denied:
        return denied.decision
    return chain.spawning(agent)


def _weakened(portable: Portable, losses: Iterable[Loss]) -> Portable:
    """Return *portable* with less said where *losses* show that more came of it.

    What matches the call of a loss gets no more than the source has that call get.
    Where nothing matches it, this holds for all of the tool.

    Args:
        portable: what was written.
        losses: those that are looser.

    """
    written = {agent.name: agent for agent in portable.agents}
    agents = dict(written)
    for loss in losses:
        effect = loss.before.effect
        for name in dict.fromkeys(chain[-1] for chain in (loss.chain, *loss.also)):
            if name not in agents:
                continue
            is_named = loss.tool in (SPAWN_TOOL, *agents[name].tools)
            if is_named or _others(written[name], effect) == written[name]:
                agents[name] = _weaker(agents[name], loss)
            else:
                agents[name] = _others(agents[name], effect)
    return values.evolve(portable, agents=tuple(agents.values()))


def _others(agent: PortableAgent, effect: Effect) -> PortableAgent:
    """Return *agent* with no more than *effect* for tools that it does not name."""
    globs = {glob: one & effect for glob, one in agent.globs.items()}
    return values.evolve(agent, globs=globs, otherwise=agent.otherwise & effect)


def _weaker(agent: PortableAgent, loss: Loss) -> PortableAgent:
    """Return *agent* with no more for the call of *loss*, by what it says of its tool.

    To some hosts the name of a server, or of a tool of it, stands for all names that begin so.
    """
    effect, starts, tools = loss.before.effect, {**agent.starts}, {**agent.tools}
    if loss.tool == SPAWN_TOOL:
        started = str(loss.call.get("subagent_type"))
        starts |= {one: e & effect for one, e in starts.items() if one == started}
    elif loss.tool in tools:
        tools[loss.tool] = _less(tools[loss.tool], _texts(loss.tool, loss.call), effect)
    else:
        begun = (name for name in agent.tools if loss.tool.startswith(name))
        tools |= {name: _less(tools[name], (), effect) for name in begun}
    return values.evolve(agent, starts=starts, tools=tools)


def _texts(tool: str, call: Mapping[str, object]) -> list[str]:
    argument = COMMON.argument(tool)
    try:
        text = argument_text(argument, COMMON, call)
    except Unreadable:
        return []
    if argument.kind is not ArgumentKind.COMMAND:
        return [text]
    parts = read_command(text, COMMON.shell).parts
    return [
        text,
        *(
            known
            for part in parts
            for known in (part.text, *part.match_texts, *part.possible_texts)
        ),
    ]


def _less(said: ToolRules, texts: Iterable[str], effect: Effect) -> ToolRules:
    """Return *said* with no more than *effect* for the lines that match one of *texts*."""
    texts = list(texts)
    lines = tuple(
        values.evolve(line, effect=line.effect & effect)
        if any(line.pattern.matches(text) for text in texts)
        else line
        for line in said.lines
    )
    if lines != said.lines:
        return values.evolve(said, lines=lines)
    every = tuple(values.evolve(line, effect=line.effect & effect) for line in said.lines)
    return ToolRules(said.default & effect, every, said.kind)


@values.frozen
class Conversion:
    """A project as another host's files.

    Attributes:
        source: the title of the project.
        host: the other host.
        files: path -> text, below the folder of the tree.
        losses: calls that are decided differently as the hosts enforce it, looser first.
        unproven: where it was not proven that nothing else gets looser.
        dropped: what no file of the other host says.
        names: agent -> what the other host's files call it, where that differs.
        tools: tools without a counterpart, which keep their names.

    """

    source: str
    host: str
    files: Mapping[str, str] = values.field(hash=False)
    losses: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]
    dropped: tuple[Dropped, ...]
    names: Mapping[str, str] = values.field(factory=dict, hash=False)
    tools: tuple[str, ...] = ()

    @property
    def looser(self) -> tuple[Loss, ...]:
        """The losses by which more is granted."""
        return tuple(loss for loss in self.losses if loss.looser)

    def refusal(self, *, looser: bool = False, unproven: bool = False) -> str:
        """Return why the files must not be used, or "".

        Args:
            looser: whether more may be granted.
            unproven: whether it need not be proven that no more is.

        """
        title = f"{self.source} -> {self.host}"
        if self.looser and not looser:
            return f"refused: {title} would grant more; allow that with --allow-looser"
        if self.unproven and not unproven and not looser:
            tools = ", ".join(one.tool for one in self.unproven)
            return (
                f"refused: {title} is not proven to grant no more by {tools}, which both hosts read"
                " in different ways; no call that was tried gets more, so --allow-unproven converts"
            )
        return ""

    @property
    def stricter(self) -> tuple[Loss, ...]:
        """The losses by which less is granted."""
        return tuple(loss for loss in self.losses if not loss.looser)


def convert(
    path: Tree | str | Path,
    to: str,
    *,
    source: str = "",
    allow_looser: bool = False,
    front_ends: Iterable[FrontEnd] = FRONT_ENDS,
) -> tuple[Conversion, ...]:
    """Return every project at *path* as files of the host *to*.

    Projects of that host itself are left out. Nothing is written.

    Args:
        path: a folder, a file or a git revision, or a tree of files.
        to: a host.
        source: convert the projects of this host alone.
        allow_looser: leave a rule as it is where the other host grants more by it;
            else it is made to grant less, as long as that helps.
        front_ends: who reads and writes.

    Raises:
        PolicyError: there is no such host or no project, a file of a project cannot
            be read, or two projects come to the same file.

    """
    tree = path if isinstance(path, Tree) else open_tree(str(path))
    ends = {front_end.HOST: front_end for front_end in front_ends}
    projects = _projects(tree, ends, to, source)
    found = tuple(
        _conversion(tree, project, ends[project.host], ends[to], allow_looser=allow_looser)
        for project in steps(projects, f"converting to {to}")
    )
    _check_apart(found)
    return found


def _projects(tree: Tree, ends: Mapping[str, FrontEnd], to: str, source: str) -> list[Project]:
    """Return the projects to convert, of the host *source* or, where that is "", of any other."""
    for name in filter(None, (to, source)):
        if name not in ends:
            msg = f"there is no host `{name}`"
            raise PolicyError(msg, help="known are " + ", ".join(f"`{h}`" for h in sorted(ends)))
    workspace = load_tree(tree, front_ends=ends.values())
    projects = [p for p in workspace.projects if p.host != to and source in ("", p.host)]
    if not projects:
        msg = f"no project of {source or 'another host'} to convert"
        raise PolicyError(msg, file=tree.label, help="`policy fmt` prints canonical files")
    for project in projects:
        _check(project)
    return projects


def _check_apart(conversions: Iterable[Conversion]) -> None:
    """Raise where two projects come to the same file."""
    files: dict[str, str] = {}
    for conversion in conversions:
        for name in conversion.files:
            if name in files:
                msg = f"`{files[name]}` and `{conversion.source}` both come to this file"
                raise PolicyError(msg, file=name, help="convert one host at a time, with `--from`")
            files[name] = conversion.source


def _conversion(
    tree: Tree, project: Project, reader: FrontEnd, writer: FrontEnd, *, allow_looser: bool
) -> Conversion:
    texts, left = _about(tree, project, writer_of(reader).carried)
    words = CommonWords(writer_of(reader).counterparts)
    portable = _portable(project, words, texts)
    known = Comparisons(words, CommonWords(writer_of(writer).counterparts))
    for _ in range(_ROUNDS):
        written = writer_of(writer).write(portable)
        target = _read_back(written, writer, project)
        sides = ConversionSide(project), ConversionSide(target, written.names, written.above)
        lost, unproven = losses(*sides, portable.starts, known, fixed=written.fixed)
        weaker = _weakened(portable, (loss for loss in lost if loss.looser))
        if allow_looser or weaker == portable:
            break
        portable = weaker
    folder = project.root
    if project.host == notation.HOST:
        folder = folder.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    claims = len(project.claims)
    left += [Dropped(f"{claims} `test` and `never` statements")] if claims else []
    return Conversion(
        project.title,
        writer.HOST,
        {prefix + path: text for path, text in written.files.items()},
        lost,
        unproven,
        (*left, *written.dropped, *_bounds(portable, target, written)),
        {old: new for old, new in written.names.items() if old != new},
        tuple(_without_counterpart(portable, writer, written)),
    )


# Times that what came out looser is said with less.
_ROUNDS: Final = 12


def _check(project: Project) -> None:
    """Raise where a file of the project was not understood: what it says would be lost."""
    for finding in project.findings:
        if is_unreadable(finding):
            msg = f"{finding.message} [{finding.code}]"
            raise PolicyError(msg, finding.span, help=finding.help, file=finding.place.file)


def _read_back(written: WrittenFiles, writer: FrontEnd, source: Project) -> Project:
    projects = [p for p in writer.load(Memory(dict(written.files))) if p.host == writer.HOST]
    if len(projects) > 1:
        projects = [p for p in projects if p.root == source.root]
    if len(projects) != 1:
        msg = f"what was written is not read back as one project of {writer.HOST}"
        raise PolicyError(msg, file=source.title)
    _check(projects[0])
    return projects[0]


def _bounds(portable: Portable, target: Project, written: WrittenFiles) -> Iterator[Dropped]:
    for agent in portable.agents:
        entry = target.agents.get(written.names.get(agent.name, ""))
        kept = entry.declared.bounds if entry is not None else None
        for name in ("turns", "trust"):
            bound = getattr(agent.bounds, name)
            if bound is not None and getattr(kept, name, None) != bound:
                yield Dropped(
                    f"`{name} {bound}`" if name == "trust" else f"`limit {name} {bound}`",
                    agent.name,
                )


def _without_counterpart(
    portable: Portable, writer: FrontEnd, written: WrittenFiles
) -> Iterator[str]:
    text = "\n".join(written.files.values())
    granted = {
        tool
        for agent in portable.agents
        for tool, one in agent.tools.items()
        if one.constant is not Effect.DENY and agent.otherwise is Effect.DENY
    }
    yield from sorted(t for t in granted if t in text and not writer_of(writer).knows(t))
