"""From the files of one host to those of another, with every loss and a witness for it.

A project is read into common words (`policy.hosts.portable.Portable`): what each table says of a
tool becomes one list, of which the first line that matches decides, and where a meet of lists
cannot be written out, less is granted. The other host writes that and reads it back. What then
differs, for any chain and call, is a loss (`policy.analysis.conversion.losses`). Where the other
host would grant more, it is made to say less, round by round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import islice, product
from operator import and_
from pathlib import Path
from typing import Final

from policy.analysis.conversion.losses import (
    COMMON,
    CommonWords,
    ConversionSide,
    Loss,
    Unproven,
    losses,
)
from policy.analysis.reach.worklist import reach
from policy.commands.reader import read_command
from policy.compare.compare import Known
from policy.compare.tables import OTHER_TOOL, glob_pattern, internal_tools, representatives
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import A_PATH, PolicyError, expect
from policy.core.progress import steps
from policy.core.source import Source, quoted
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode as Document
from policy.files.nodes import Node, ScalarNode
from policy.files.opening import is_unreadable, open_tree
from policy.files.trees import Memory, Tree
from policy.files.yaml_nodes import read_yaml
from policy.hosts import notation
from policy.hosts.front_ends import FRONT_ENDS, writer_of
from policy.hosts.portable import (
    Dropped,
    Portable,
    PortableAgent,
    PortableLine,
    ToolRules,
    Writer,
    WrittenFiles,
    covers,
)
from policy.hosts.project import FrontEnd, Project
from policy.hosts.workspace import load_tree
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, argument_text
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import ArgumentKind
from policy.tables.row import Row
from policy.tables.table import SPAWN_TOOL, Lookup, Table

# Agent -> what it is for, and its prompt.
_Texts = dict[str, tuple[str, str]]


def _about(tree: Tree, project: Project, carried: frozenset[str]) -> tuple[_Texts, list[Dropped]]:
    """Return the texts of agents, and the keys of files but those that are *carried* over.

    Of a mapping that is carried, the keys within count too.
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
        keys: list[str] = []
        for entry in node.entries:
            if entry.name in carried and isinstance(entry.value, Document):
                keys += (f"{entry.name}.{inner.name}" for inner in entry.value.entries)
            else:
                keys.append(entry.name)
        lost = (key for key in keys if key not in carried)
        dropped += (Dropped(f"`{key}` of {file.path}", name) for key in lost)
    return texts, dropped


def _document(source: Source) -> tuple[Node | None, str]:
    """Return what a file says as data, and the text below that."""
    name = source.name.lower()
    if name.endswith(".json"):
        return read_json(source, byte_order_mark=True), ""
    if name.endswith((".yaml", ".yml")):
        return read_yaml(source), ""
    front = split_front_matter(source) if name.endswith(".md") else None
    if front is None or front.kind is not HeaderLanguage.YAML:
        return None, ""
    return read_yaml(source, front.header.start, front.header.end), front.body.text.strip()


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else ""


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
        tables = (Table(chain.table.use, bounds=chain.table.bounds) for chain in chains)
        agent = _agent(words.table(reduce(and_, tables)), name)
        started = {}
        for other in found.edges.get(name, ()):
            decisions = [_starting(chain, other) for chain in chains]
            effects = [each.effect for each in decisions if each.reason is not Reason.DEPTH]
            started[other] = min(effects, default=Effect.DENY)
            depth = deepest if len(effects) < len(decisions) else depth
        description, prompt = texts.get(name, ("", ""))
        agents.append(values.evolve(agent, starts=started, description=description, prompt=prompt))
    starts = tuple(agent.name for agent in agents if agent.name in project.starts)
    if not starts:
        raise PolicyError("no agent starts a chain", file=project.root)
    return Portable(project.title, project.root, tuple(agents), starts, depth)


def _starting(chain: Chain, agent: str) -> Decision:
    """Return what the call gets that starts *agent* and says no more."""
    try:
        chain.spawn(agent)
    except SpawnDenied as denied:
        return denied.decision
    return chain.spawning(agent)


def _agent(table: Table, name: str) -> PortableAgent:
    """Return what *table*, in common words, says of every tool that it can tell apart."""
    sets = [part.rules for part in table.use.parts]
    internal = internal_tools(rules.dialect for rules in sets)
    written = {*COMMON.arguments}.union(*(rules.names for rules in sets))
    others = [tool for tool in representatives(sets)[0] if tool not in written]
    globs: dict[str, Effect] = {}
    for glob in dict.fromkeys(glob for rules in sets for glob in rules.globs):
        if not glob.startswith("=") and glob != "*":
            # By their names alone; where they differ, the least.
            matching = (tool for tool in others if glob_pattern(glob).matches(tool))
            effects = (_said(table.lookup(tool)).least for tool in matching)
            globs[glob] = min(effects, default=Effect.DENY)
    # What takes from calls that start agents, by what they say beside the agent.
    starting = [
        PortableLine(entry.effect, entry.pattern, entry.field)
        for row, _ in table.lookup(SPAWN_TOOL).rows
        for entry in row.entries
        if entry.pattern is not None
        and entry.field not in ("", *row.argument.fields)
        and entry.effect is not Effect.ALLOW
        and entry.reason is not Reason.MALFORMED
    ]
    return PortableAgent(
        name,
        {tool: _said(table.lookup(tool)) for tool in sorted(written - internal - {SPAWN_TOOL})},
        _said(table.lookup(OTHER_TOOL)).least,
        globs,
        starting=tuple(dict.fromkeys(starting)),
        bounds=table.bounds,
    )


def _said(lookup: Lookup) -> ToolRules:
    constant = lookup.constant
    rows = [row for row, _ in lookup.rows]
    if constant is not None or not rows:
        return ToolRules(constant.effect if constant is not None else lookup.floor)
    floor = lookup.floor
    default = min(row.default.effect for row in rows) & floor
    lines = _met(rows) if len(rows) > 1 else _lines(rows[0])
    least = tuple(values.evolve(line, effect=line.effect & floor) for line in lines)
    return ToolRules(default, least, rows[0].argument.kind)


def _lines(row: Row) -> Iterator[PortableLine]:
    """Yield the lines of a row, one for each choice of alternatives: few languages have these."""
    for entry in row.entries:
        for pattern in entry.pattern.spelled_out if entry.pattern is not None else ():
            yield PortableLine(entry.effect, pattern, entry.field, entry.place is not None)


# Combinations of lines of several lists that are written out.
_COMBINATIONS: Final = 4_000


def _met(rows: list[Row]) -> Iterator[PortableLine]:
    """Yield lines that grant no more than all of several lists do.

    What one denies is denied, and so is what one asks for unless all others grant as much. Then
    comes what all allow, and what all grant, as far as one pattern is within the others.
    """
    lists = [[*_lines(row)] for row in rows]
    defaults = [row.default.effect for row in rows]
    for effect in (Effect.DENY, Effect.ASK):
        for line in (line for lines in lists for line in lines if line.effect is effect):
            is_granted = effect is Effect.ASK and all(
                default is not Effect.DENY or _grants(lines, line)
                for default, lines in zip(defaults, lists, strict=True)
            )
            yield PortableLine(effect if is_granted else Effect.DENY, line.pattern, line.field)
    # What each list grants: patterns that it allows, and then the rest.
    granting: list[list[tuple[Pattern | None, Effect]]] = []
    for default, lines in zip(defaults, lists, strict=True):
        allowed = (one for one in lines if one.effect is Effect.ALLOW and not one.field)
        rest = [] if default is Effect.DENY else [(None, default)]
        granting.append([*((line.pattern, line.effect) for line in allowed), *rest])
    found = []
    for chosen in islice(product(*granting), _COMBINATIONS):
        patterns = [pattern for pattern, _ in chosen if pattern is not None]
        within = (one for one in patterns if all(covers(one, [other]) for other in patterns))
        smallest = next(within, None)
        if smallest is not None:
            found.append(PortableLine(min(effect for _, effect in chosen), smallest))
    yield from sorted(found, key=lambda line: line.effect, reverse=True)


def _grants(lines: list[PortableLine], asked: PortableLine) -> bool:
    """Return whether a line is known to grant what another one asks for."""
    granting = (o for o in lines if o.effect is not Effect.DENY and o.field == asked.field)
    return covers(asked.pattern, (one.pattern for one in granting))


def _weakened(portable: Portable, looser: Iterable[Loss]) -> Portable:
    """Return *portable* with less said where losses show that more came of it.

    What matches the call of a loss gets no more than the source has that call get. Where nothing
    matches it, this holds for all of the tool, or for all tools that the agent does not name.
    """
    written = {agent.name: agent for agent in portable.agents}
    agents = dict(written)
    for loss in looser:
        effect = loss.before.effect
        for name in dict.fromkeys(chain[-1] for chain in (loss.chain, *loss.also)):
            if name not in agents:
                continue
            agent = agents[name]
            granted = (written[name].otherwise, *written[name].globs.values())
            if loss.tool not in (SPAWN_TOOL, *agent.tools) and max(granted) > effect:
                globs = {glob: one & effect for glob, one in agent.globs.items()}
                agents[name] = values.evolve(agent, globs=globs, otherwise=agent.otherwise & effect)
            else:
                agents[name] = _weaker(agent, loss)
    return values.evolve(portable, agents=tuple(agents.values()))


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
        tools |= {name: _less(tools[name], [], effect) for name in begun}
    return values.evolve(agent, starts=starts, tools=tools)


def _texts(tool: str, call: Mapping[str, object]) -> list[str]:
    """Return the texts by which rules may know a call in common words."""
    argument = COMMON.argument(tool)
    try:
        text = argument_text(argument, COMMON, call)
    except Unreadable:
        return []
    texts = [text]
    if argument.kind is ArgumentKind.COMMAND:
        for part in read_command(text, COMMON.shell).parts:
            texts += (part.text, *part.match_texts, *part.possible_texts)
    return texts


def _less(said: ToolRules, texts: list[str], effect: Effect) -> ToolRules:
    """Return *said* with no more than *effect* for the lines that match one of *texts*."""
    less = tuple(values.evolve(line, effect=line.effect & effect) for line in said.lines)
    lines = tuple(
        weak if any(line.pattern.matches(text) for text in texts) else line
        for line, weak in zip(said.lines, less, strict=True)
    )
    if lines != said.lines:
        return values.evolve(said, lines=lines)
    return ToolRules(said.default & effect, less, said.kind)


@values.frozen
class Conversion:
    """A project as another host's files."""

    source: str  # the title of the project
    host: str  # the other host
    # Path -> text, below the folder of the tree.
    files: Mapping[str, str] = values.field(hash=False)
    # Calls that are decided differently as the hosts enforce it, looser first.
    losses: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]  # where it was not proven that nothing else gets looser
    dropped: tuple[Dropped, ...]  # what no file of the other host says
    # Agent -> what the other host's files call it, where that differs.
    names: Mapping[str, str] = values.field(factory=dict, hash=False)
    tools: tuple[str, ...] = ()  # tools without a counterpart, which keep their names

    @property
    def looser(self) -> tuple[Loss, ...]:
        """The losses by which more is granted."""
        return tuple(loss for loss in self.losses if loss.looser)

    @property
    def stricter(self) -> tuple[Loss, ...]:
        """The losses by which less is granted."""
        return tuple(loss for loss in self.losses if not loss.looser)

    def refusal(self, *, looser: bool = False, unproven: bool = False) -> str:
        """Return why the files must not be used, or ""; *looser* and *unproven* permit those."""
        title = f"{self.source} -> {self.host}"
        if self.looser and not looser:
            return f"refused: {title} would grant more; allow that with --allow-looser"
        if self.unproven and not unproven and not looser:
            rules = list(dict.fromkeys(rule for one in self.unproven for rule in one.rules))
            by = quoted(rules, 6) or ", ".join(one.tool for one in self.unproven)
            return (
                f"refused: {title} is not proven to grant no more by {by}; no call that was tried"
                " gets more, and --allow-unproven converts"
            )
        return ""


def convert(
    path: Tree | str | Path, to: str, *, source: str = "", allow_looser: bool = False
) -> tuple[Conversion, ...]:
    """Return every project at *path* as files of the host *to*.

    Projects of that host itself are left out. Nothing is written.

    Args:
        path: a folder, a file or a git revision, or a tree of files.
        to: a host.
        source: the one host whose projects are converted, or "".
        allow_looser: leave a rule as it is where the other host grants more by it;
            else it is made to grant less, as long as that helps.

    Raises:
        PolicyError: there is no such host or no project, a file of a project cannot
            be read, or two projects come to the same file.
    """
    expect(A_PATH, "path", path, (str, Path, Tree))
    tree = path if isinstance(path, Tree) else open_tree(str(path))
    ends: dict[str, FrontEnd] = {front_end.HOST: front_end for front_end in FRONT_ENDS}
    for name in filter(None, (to, source)):
        if name not in ends:
            msg = f"there is no host `{name}`"
            raise PolicyError(msg, help="known are " + ", ".join(f"`{h}`" for h in sorted(ends)))
    workspace = load_tree(tree)
    projects = [p for p in workspace.projects if p.host != to and source in ("", p.host)]
    if not projects:
        msg = f"no project of {source or 'another host'} to convert"
        raise PolicyError(msg, file=tree.label, help="`policy fmt` prints canonical files")
    for project in projects:
        _check(project)
    found: list[Conversion] = []
    files: dict[str, str] = {}
    for project in steps(projects, f"converting to {to}"):
        made = _conversion(tree, project, ends, to, allow_looser=allow_looser)
        for name in made.files:
            if name in files:
                msg = f"`{files[name]}` and `{made.source}` both come to this file"
                raise PolicyError(msg, file=name, help="convert one host at a time, with `--from`")
            files[name] = made.source
        found.append(made)
    return tuple(found)


# Times that what came out looser is said with less.
_ROUNDS: Final = 12


def _conversion(
    tree: Tree, project: Project, ends: Mapping[str, FrontEnd], to: str, *, allow_looser: bool
) -> Conversion:
    reader, writer = (writer_of(ends[host]) for host in (project.host, to))
    texts, left = _about(tree, project, reader.carried)
    words = CommonWords(reader.counterparts)
    side, others = ConversionSide(project, words), CommonWords(writer.counterparts)
    portable = _portable(project, words, texts)
    known: Known = {}
    for _ in range(_ROUNDS):
        written = writer.write(portable)
        target = _read_back(written, ends[to], project)
        other = ConversionSide(target, others, written.names, written.above)
        lost, unproven = losses(side, other, portable.starts, known, fixed=written.fixed)
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
        to,
        {prefix + path: text for path, text in written.files.items()},
        lost,
        unproven,
        (*left, *written.dropped, *_lost_bounds(portable, target, written)),
        {old: new for old, new in written.names.items() if old != new},
        tuple(_without_counterpart(portable, writer, written)),
    )


def _check(project: Project) -> None:
    """Raise where a file of the project was not understood: what it says would be lost."""
    for finding in project.findings:
        if is_unreadable(finding):
            msg = f"{finding.message} [{finding.code}]"
            raise PolicyError(msg, finding.span, help=finding.help, file=finding.place.file)


def _read_back(written: WrittenFiles, front_end: FrontEnd, source: Project) -> Project:
    projects = [p for p in front_end.load(Memory(dict(written.files))) if p.host == front_end.HOST]
    if len(projects) > 1:
        projects = [p for p in projects if p.root == source.root]
    if len(projects) != 1:
        msg = f"what was written is not read back as one project of {front_end.HOST}"
        raise PolicyError(msg, file=source.title)
    _check(projects[0])
    return projects[0]


def _lost_bounds(portable: Portable, target: Project, written: WrittenFiles) -> Iterator[Dropped]:
    for agent in portable.agents:
        entry = target.agents.get(written.names.get(agent.name, ""))
        kept = entry.declared.bounds if entry is not None else None
        for name, what in (("turns", "limit turns"), ("trust", "trust")):
            bound = getattr(agent.bounds, name)
            if bound is not None and getattr(kept, name, None) != bound:
                yield Dropped(f"`{what} {bound}`", agent.name)


def _without_counterpart(
    portable: Portable, writer: Writer, written: WrittenFiles
) -> Iterator[str]:
    text = "\n".join(written.files.values())
    granted = {
        tool
        for agent in portable.agents
        for tool, one in agent.tools.items()
        if one.constant is not Effect.DENY and agent.otherwise is Effect.DENY
    }
    yield from sorted(tool for tool in granted if tool in text and not writer.knows(tool))
