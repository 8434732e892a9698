"""Which calls two tables decide differently, with a witness for each.

Both sides decide every witness, whatever found it. That no other call differs is proven by a search
through all texts, for star lists, paths, names, hosts and parameters. Commands are compared exactly
by their text; what depends on more than that is tried on samples, and where a change is possible
that no sample shows, the comparison is not exact and says why.

Read in this order:

- `view`, `sides`, `pair`: rows as lists of patterns, and the search for a text that they decide
  differently.
- `witness`, `tool_pair`: the call that a text stands for, and the calls of one tool.
- `strangers`: paths that hosts with and without case know by other letters.
- `reads`, `manners`: commands as they are read, and which rows read calls alike.
- `commands`: commands, by their text and on samples.
- `known`, `compare`, `names`, `meets`: what was found so far, one tool, all others, two chains.
- `deduplicate`, `overlap`, `dead_rules`: each difference once, which rules share calls, and which
  rules decide nothing.
"""
