"""Rules for commands, in the shapes that people write and in some that they should not."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.live import vocabulary as words

__all__ = ["command_rule", "spelled_oddly"]


def command_rule(chance: Random, programs: Sequence[str], named: Sequence[str]) -> str:
    """Return a rule of `Bash` in any of its shapes."""
    if chance.random() < 0.25:
        return _named_rule(chance, named)
    if chance.random() < 0.06:
        dash = chance.choice(words.DASHES)
        return (
            f"Bash({chance.choice((dash, f'{dash} *', f'{dash[:-2]}:*', f'{dash.split()[0]} *'))})"
        )
    name = chance.choice(programs)
    operands = chance.choice(words.PROGRAMS[name])
    command = f"{name} {operands}".strip()
    if chance.random() < 0.2:
        command = chance.choice((*words.READ_ONLY, *(f"git {each}" for each in words.GIT)))
        name = command.split()[0]
    first = " ".join(command.split()[:2])
    shapes = (
        *(f"Bash({name} *)", f"Bash({name}:*)", f"Bash({first} *)", f"Bash({first}:*)"),
        *(f"Bash({command})", f"Bash({command})", f"Bash({name})", f"Bash({name}*)"),
        *(f"Bash({name} *)", f"Bash({first}:*)", f"Bash({command} *)", f"Bash({first}*)"),
        chance.choice(
            (
                *("Bash", "Bash", "Bash(*)", "Bash(* *)", f"Bash(* {operands})", "Bash(:*)"),
                *(f"Bash({name} *:*)", f"Bash( {name} *)", f"Bash({name} * x)", "Bash()"),
                *(f"bash({name} *)", f"Bash({name} **)", f"Bash({name}  *)", "Bash(x=1 *)"),
                *(
                    f"Bash(timeout 5 {name}:*)",
                    f"Bash({command} && ls)",
                    f"Bash(sudo {name} *)",
                ),
                *(f"Bash({name} * && *)", f"Bash(env {command})", f"Bash(*{name}*)"),
                *(f'Bash({name} "$HOME" *)', f"Bash({name} 'x' *)", f'Bash({name} "*)'),
                *("Bash(ls *)", "Bash(cat:*)", "Bash(cd *)", "Bash(echo *)", "Bash(git *)"),
                *(
                    "Bash(find *)",
                    "Bash(xargs *)",
                    "Bash(sed *)",
                    "Bash(tee *)",
                    "Bash(bash *)",
                ),
                *("Bash(timeout:5*)", "Bash(run_in_background:true)", "Bash(npm run:*)"),
            )
        ),
    )
    return chance.choice(shapes)


def _named_rule(chance: Random, named: Sequence[str]) -> str:
    """Return a rule that names a program of any kind, in the shapes that people write."""
    name = chance.choice(named)
    first = name.split()[0]
    shapes = (
        *(f"{name}:*", f"{name} *", f"{name}*", name, f"{first} *", f"{first}:*", f"*{name}*"),
        *(f"{name} x", f"{name} && ls", f"{name[:1]}*", f"{name} *x", f"* {name}", f"{name}**"),
    )
    return f"Bash({chance.choice(shapes)})"


def spelled_oddly(chance: Random, command: str, other: str) -> str:
    """Return a command with quotes, blanks, an assignment, or *other* behind an operator."""
    name, _, rest = command.partition(" ")
    begun, _, last = command.rpartition(" ")
    shapes = (
        *(f'"{name}" {rest}', f"'{name}' {rest}", f"{begun} '{last}'", f'{begun} "{last}"'),
        *(command.replace(" ", "  ", 1), f"{name}  {rest}", f"X=1 {command}", f"CI=1 {command}"),
        *(f"{command} {operator} {other}" for operator in ("&&", "||", ";", "|")),
    )
    return chance.choice(shapes).strip()
