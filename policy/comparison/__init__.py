"""Exactly which calls two tables decide differently, with a witness for each.

Read in this order; each module asks only those that are told before it, but for `compare`.

Lists over one text, whatever it is of:

- `vouched`: which of two hosts runs no more commands unasked.
- `view`: a row as a list of patterns, with an index over them.
- `alignment`: two lists side by side, and which lines they share.
- `sides`: the lists of both sides, and which lines may decide a text together.
- `together`: all lists searched at once, where lines overlap in too many ways.
- `effects`: what a call gets of both sides: each pair that some call shows is told.
- `pair`: a text for lines that decide it, and the call it is of: the search itself.

Calls of one tool:

- `witness`: the texts that calls can have, and the call that a text stands for.
- `policy.rows.parameters`: what calls say beside the argument that rules speak of, case by case.
- `rows`, `manners`, `tools`: what rows of a host say without a rule, which read calls alike,
  and which tools have to be told apart.
- `tool_pair`: the calls of one tool, by their one text.
- `strangers`, `stranger_pair`: paths that hosts with and without case know by other letters.

Of commands more is told apart than the text that is written:

- `reads`: commands that are written here, as hosts read them.
- `harmless`, `unasked`: what a host runs where no rule speaks of it, as a language to search in.
- `opening`: commands that open files of which both sides say different things.
- `command_pair`: the commands of one tool, where a text of some lines shows not what these say.
- `unasked_pair`: those that a host runs where no rule speaks of them.
- `overlap`, `prefixes`, `disguise`, `disguised_pair`: commands that rules know by other texts as
  well, behind `sudo` or in quotes. Members of what lines share are tried, a prefix taken off; a
  change that no command can show is not looked for (`CommandPair.unheard`, and what may come of
  each line).
- `words`, `texts`, `simple`, `simple_pair`: all commands of plain words by all their texts, where
  of wrappers no more is known than their names; searched for every change that may come of lines
  and that none of the commands shows which were tried.

All together:

- `compare`: the calls of one tool, case by case; what was found for lines is remembered.
- `names`: all tools that are like any other, at once.
"""
