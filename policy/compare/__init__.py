"""Exactly which calls two tables decide differently, with a witness for each.

Read in this order; each module asks only those that are told before it, but for `compare`.

A difference that is told was decided on both sides, whatever it was found by. That there is no
other is proven by a search through all texts (marked =), or by trying at least one text of each
kind that lines and the host tell apart (marked ~). Where the kinds are not all tried, the answer
says why it is not exact; that none is forgotten is what the laws draw rules for, against all calls
of a small universe (`tests/law/test_every_call.py`, `tests/law/test_every_edit.py`).

Lists over one text, whatever it is of:

- `vouched`: which of two hosts runs no more commands unasked.
- `view`: a row as a list of patterns, with an index over them.
- `alignment`, `edited`: two lists side by side, which lines they share, and which one of both has.
- `near`: lines that may share a text with a pattern.
- `sides`: the lists of both sides, and which lines may decide a text together.
- `together`: all lists searched at once, where lines overlap in too many ways. =
- `effects`: what a call gets of both sides: each pair that some call shows is told.
- `pair`: a text for lines that decide it, and the call it is of: the search itself. =

Calls of one tool:

- `witness`: the texts that calls can have, and the call that a text stands for.
- `policy.tables.parameters`: what calls say beside the argument that rules speak of, case by case.
- `rows`, `manners`, `tools`: what rows of a host say without a rule, which read calls alike,
  and which tools have to be told apart.
- `tool_pair`: the calls of one tool, by their one text. =
- `strangers`, `stranger_pair`: paths that hosts with and without case know by other letters. =
- `formed`: rules that match the same and say it in another form. ~

Of commands more is told apart than the text that is written:

- `reads`: commands that are written here, as hosts read them.
- `forms`, `harmless`, `places`, `unasked`: what a host runs where no rule speaks of it, as a
  language to search in.
- `scripts`, `opening`: commands that open files of which both sides say different things, in a
  script in an argument too. ~
- `command_pair`: the commands of one tool, where a text of some lines shows not what these say.
- `unasked_pair`: those that a host runs where no rule speaks of them. =
- `overlap`, `prefixes`, `odd`, `odd_changes`, `disguise`, `disguised_pair`: commands that rules
  know by other texts as well, behind `sudo` or in quotes. Members of what lines share are tried, a
  prefix taken off; a change that no command can show is not looked for (`CommandPair.unheard`,
  and what may come of each line). ~
- `joined`: several commands that a rule with a star knows all at once. ~
- `words`, `texts`, `simple`, `simple_pair`: all commands of plain words by all their texts, where
  of wrappers no more is known than their names; searched for every change that may come of lines
  and that none of the commands shows which were tried. =

All together:

- `known`: what was found for lines, so that calls are asked where they meet again.
- `compare`: the calls of one tool, case by case.
- `names`: all tools that are like any other, at once.
- `meets`: two chains, tool by tool.
"""
