"""Which calls two tables decide differently, with a witness for each.

Both sides decide every witness, whatever found it. That no other call differs is proven by a search
through all texts, for star lists, paths, names, hosts and parameters. Commands are compared exactly
by their text, and simple ones by all of their match texts where a host knows wrappers only. What
depends on more than that is tried on samples, and where a change is possible that no sample shows,
the comparison is not exact and says why.

Read in this order:

- `witness`, `lists`: the call that a text stands for; rows as lists of patterns, and the search for
  a text that they decide differently.
- `calls`, `paths`: the calls of one tool, and what was found of them; paths that hosts with and
  without case know by other letters.
- `overlap`, `simple`, `commands`: which rules share calls; simple commands of plain words, which
  are searched where a host knows the names of wrappers only; all commands.
- `compare`, `names`, `tables`: one tool, all others, two tables.
- `dead_rules`: which rules decide nothing.
"""
