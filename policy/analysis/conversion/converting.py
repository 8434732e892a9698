"""Converts the files of one host to those of another, and reports each loss with a witness.

1. A project becomes a `policy.hosts.portable.Portable`, in common words: one list of lines for each
   agent and tool, of which the first match decides. A meet of rule sets that has no exact list
   becomes a narrower one.
2. The writer of the other host writes its files, and its front end reads them back.
3. Each call that the two projects decide differently is a loss
   (`policy.analysis.conversion.losses`).
4. While the files grant more than the project, the portable form is narrowed and written again.
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
from policy.analysis.inputs import read
from policy.analysis.reach.worklist import reach
from policy.commands.reader import read_command
from policy.compare.compare import Known
from policy.compare.tables import OTHER_TOOL, glob_pattern, internal_tools, representatives
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import A_PATH, PolicyError, expect
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
    WrittenFiles,
    covers,
)
from policy.hosts.project import FrontEnd, Project
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, argument_text
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import ArgumentKind
from policy.tables.row import Row
from policy.tables.table import SPAWN_TOOL, Lookup, Table

# Agent -> its description and its prompt.
_Texts = dict[str, tuple[str, str]]


def _about(tree: Tree, project: Project, carried: frozenset[str]) -> tuple[_Texts, list[Dropped]]:
    """Return the texts of agents, and the keys of files that are not *carried* over.

    Of a mapping that is carried, each key within must be carried as well: ``tools.allow``.
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
    """Return the data of a file or its front matter, and the text below front matter."""
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
    """Return the agents of *project* in common words, as enforced."""
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
            decisions = [_spawn_decision(chain, other) for chain in chains]
            effects = [each.effect for each in decisions if each.reason is not Reason.DEPTH]
            started[other] = min(effects, default=Effect.DENY)
            depth = deepest if len(effects) < len(decisions) else depth
        description, prompt = texts.get(name, ("", ""))
        agents.append(values.evolve(agent, starts=started, description=description, prompt=prompt))
    starts = tuple(agent.name for agent in agents if agent.name in project.starts)
    if not starts:
        raise PolicyError("no agent starts a chain", file=project.root)
    return Portable(project.title, project.root, tuple(agents), starts, depth)


def _spawn_decision(chain: Chain, agent: str) -> Decision:
    """Return the decision on the call by which *chain* starts *agent*."""
    try:
        chain.spawn(agent)
    except SpawnDenied as denied:
        return denied.decision
    return chain.spawning(agent)


def _agent(table: Table, name: str) -> PortableAgent:
    """Return an agent with the rules of *table*, which is in common words, by tool."""
    sets = [part.rules for part in table.use.parts]
    internal = internal_tools(rules.dialect for rules in sets)
    written = {*COMMON.arguments}.union(*(rules.names for rules in sets))
    others = [tool for tool in representatives(sets)[0] if tool not in written]
    globs: dict[str, Effect] = {}
    for glob in dict.fromkeys(glob for rules in sets for glob in rules.globs):
        if not glob.startswith("=") and glob != "*":
            # A glob stands for tools that no rule names, with the least of their effects.
            matching = (tool for tool in others if glob_pattern(glob).matches(tool))
            effects = (_tool_rules(table.lookup(tool)).least for tool in matching)
            globs[glob] = min(effects, default=Effect.DENY)
    return PortableAgent(
        name,
        {
            tool: _tool_rules(table.lookup(tool))
            for tool in sorted(written - internal - {SPAWN_TOOL})
        },
        _tool_rules(table.lookup(OTHER_TOOL)).least,
        globs,
        bounds=table.bounds,
    )


def _tool_rules(lookup: Lookup) -> ToolRules:
    constant = lookup.constant
    rows = [row for row, _ in lookup.rows]
    if constant is not None or not rows:
        return ToolRules(constant.effect if constant is not None else lookup.floor)
    floor = lookup.floor
    default = min(row.default.effect for row in rows) & floor
    lines = _met_lines(rows) if len(rows) > 1 else _lines(rows[0])
    least = tuple(values.evolve(line, effect=line.effect & floor) for line in lines)
    return ToolRules(default, least, rows[0].argument.kind)


def _lines(row: Row) -> Iterator[PortableLine]:
    """Yield the entries of a row as lines, alternatives in a pattern spelled out."""
    for entry in row.entries:
        for pattern in entry.pattern.spelled_out if entry.pattern is not None else ():
            yield PortableLine(entry.effect, pattern, entry.field, entry.place is not None)


# The most combinations of lines of several rows.
_COMBINATIONS: Final = 4_000


def _met_lines(rows: list[Row]) -> Iterator[PortableLine]:
    """Yield lines that grant no more than the meet of *rows*.

    Each deny line of a row stays. So does an ask line if every other row surely grants its calls;
    else it denies. Lines that grant follow: of each combination of one granting pattern a row, the
    pattern that lies within all others, if there is one.
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
    # For each row its allowed patterns, and None for its default.
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
    """Return whether *lines* surely grant what *asked* asks for."""
    granting = (o for o in lines if o.effect is not Effect.DENY and o.field == asked.field)
    return covers(asked.pattern, (one.pattern for one in granting))


def _weakened(portable: Portable, looser: Iterable[Loss]) -> Portable:
    """Return *portable*, narrowed so that the calls of *looser* get no more than in the source.

    Lines that match such a call are narrowed. If none does, the whole tool is; and if the agent
    does not name the tool, all tools that it does not name.
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
                agents[name] = _weakened_agent(agent, loss)
    return values.evolve(portable, agents=tuple(agents.values()))


def _weakened_agent(agent: PortableAgent, loss: Loss) -> PortableAgent:
    """Return *agent* with its rules for the tool of *loss* narrowed.

    If it does not name the tool, each name that the tool begins with is narrowed: some hosts read
    the name of a server as all names that begin so.
    """
    effect, starts, tools = loss.before.effect, {**agent.starts}, {**agent.tools}
    if loss.tool == SPAWN_TOOL:
        started = str(loss.call.get("subagent_type"))
        starts |= {one: e & effect for one, e in starts.items() if one == started}
    elif loss.tool in tools:
        tools[loss.tool] = _narrowed(tools[loss.tool], _texts(loss.tool, loss.call), effect)
    else:
        begun = (name for name in agent.tools if loss.tool.startswith(name))
        tools |= {name: _narrowed(tools[name], [], effect) for name in begun}
    return values.evolve(agent, starts=starts, tools=tools)


def _texts(tool: str, call: Mapping[str, object]) -> list[str]:
    """Return the texts of a call, in common words, that rules may match."""
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


def _narrowed(rules: ToolRules, texts: list[str], effect: Effect) -> ToolRules:
    """Return *rules* with at most *effect* in lines that match one of *texts*, or else in all."""
    narrowed = tuple(values.evolve(line, effect=line.effect & effect) for line in rules.lines)
    lines = tuple(
        narrow if any(line.pattern.matches(text) for text in texts) else line
        for line, narrow in zip(rules.lines, narrowed, strict=True)
    )
    if lines != rules.lines:
        return values.evolve(rules, lines=lines)
    return ToolRules(rules.default & effect, narrowed, rules.kind)


@values.frozen
class Conversion:
    """A project as files of another host, with what that loses."""

    source: str  # the title of the project
    host: str  # the other host
    # Path below the folder of the tree -> text.
    files: Mapping[str, str] = values.field(hash=False)
    # Calls that the two hosts decide differently in the enforced reading; looser ones first.
    losses: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]  # tools for which further looser calls are not ruled out
    dropped: tuple[Dropped, ...]  # settings that the files of the other host do not have
    # Agent -> its name in the files of the other host, if that differs.
    names: Mapping[str, str] = values.field(factory=dict, hash=False)

    @property
    def looser(self) -> tuple[Loss, ...]:
        """The losses that grant more."""
        return tuple(loss for loss in self.losses if loss.looser)

    @property
    def stricter(self) -> tuple[Loss, ...]:
        """The losses that grant less."""
        return tuple(loss for loss in self.losses if not loss.looser)

    def refusal(self, *, looser: bool = False, unproven: bool = False) -> str:
        """Return why the files are refused, or "". *looser* and *unproven* permit such losses."""
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
    """Return the conversion of every project at *path* that is not of the host *to*.

    No file is written.

    Args:
        path: a folder, a file or a git revision, or a tree of files.
        to: the host of the new files.
        source: convert only projects of this host, or of any host if "".
        allow_looser: keep a rule by which the other host grants more; else such rules are
            narrowed, for at most a dozen rounds.

    Raises:
        PolicyError: there is no such host or no project, a file of a project cannot
            be read, or two projects would write the same file.
    """
    expect(A_PATH, "path", path, (str, Path, Tree))
    tree = path if isinstance(path, Tree) else open_tree(str(path))
    ends: dict[str, FrontEnd] = {front_end.HOST: front_end for front_end in FRONT_ENDS}
    for name in filter(None, (to, source)):
        if name not in ends:
            msg = f"there is no host `{name}`"
            raise PolicyError(msg, help="known are " + ", ".join(f"`{h}`" for h in sorted(ends)))
    projects = [p for p in read(tree).workspace.projects if p.host != to and source in ("", p.host)]
    if not projects:
        msg = f"no project of {source or 'another host'} to convert"
        raise PolicyError(msg, file=tree.label, help="`policy fmt` prints canonical files")
    for project in projects:
        _check(project)
    found: list[Conversion] = []
    files: dict[str, str] = {}
    for project in projects:
        made = _conversion(tree, project, ends, to, allow_looser=allow_looser)
        for name in made.files:
            if name in files:
                msg = f"`{files[name]}` and `{made.source}` both come to this file"
                raise PolicyError(msg, file=name, help="convert one host at a time, with `--from`")
            files[name] = made.source
        found.append(made)
    return tuple(found)


# The most rounds of narrowing.
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
        narrower = _weakened(portable, (loss for loss in lost if loss.looser))
        if allow_looser or narrower == portable:
            break
        portable = narrower
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
    )


def _check(project: Project) -> None:
    """Raise PolicyError if a file of *project* is unreadable, since its rules would be lost."""
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
