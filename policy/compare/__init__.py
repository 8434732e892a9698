"""Exactly which calls two tables decide differently, with a witness for each.

Read in this order: first the text of one argument, then commands, then whole tables.

A difference that is reported was decided on both sides, whatever it was found by. That there is no
other is proven by a search through all texts (marked =), or by trying at least one text of each
kind that lines and the host tell apart (marked ~). Where the kinds are not all tried, the answer
says why it is not exact; that none is missed is what the laws draw rules for, against all calls
of a small universe (`tests/law/test_every_call.py`, `tests/law/test_every_edit.py`).

- `lists`: rows as lists of patterns, two lists side by side, and which lines may decide a text
  together: one of these is a changed line.
- `witness`: the call that a text stands for, what both sides make of it, and the call that people
  would make in its place.
- `pair`: a text for lines that decide it, and the calls of a tool that it stands for. =
- `paths`: paths in other letters than a folder's own = and rules of another form ~.

Of commands more is told apart than the text that is written:

- `auto_allowed`: commands that a host runs where no rule applies to them. ~
- `prefixes`: wrapped forms, and words in quotes.
- `commands`: the commands of one tool, by their text; and auto-allowed ones.
- `opening`: redirections, and commands that open files, of which both sides say different things. ~
- `samples`: commands that rules know by other texts as well, behind `sudo`, in quotes, joined or in
  scripts. For each changed line there is a list of texts, which both sides are asked about until
  the changes that may come of it are shown; one that none shows makes the answer inexact, unless
  `simple` decides it. ~
- `simple`: all commands of plain words by all their texts, where of wrappers no more is known than
  their names, as in our notation. =

All together:

- `compare`: the calls of one tool, case by case; what was found is asked where lines meet again.
- `tables`: all tools: one by one, and those that are like any other at once.
- `dead_rules`: which rules of a table decide anything.
"""
