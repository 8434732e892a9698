"""Exactly which calls two tables decide differently, with a witness for each.

Read in this order: first the text of one argument, then commands, then whole tables.

Both sides decide each reported difference, however it was found. That there is no other difference
is proven by a search through all texts (marked =), or by trying at least one text of each kind
that lines and the host distinguish (marked ~). Where not all kinds are tried, the answer says why
it is not exact. The law tests check that none is missed: they draw rules and try all calls of a
small universe (`tests/law/test_every_call.py`, `tests/law/test_every_edit.py`).

- `lists`: rows as lists of patterns, two lists side by side, and which lines may decide a text
  together: one of these is a changed line.
- `witness`: the call with a text, the decisions of both sides on it, and a call that people would
  make in its place.
- `pair`: a text that given lines decide, and the calls of a tool with this text. =
- `paths`: paths in other letters than a folder's own = and rules of another form ~.

Commands differ in more than their written text:

- `auto_allowed`: commands that a host runs where no rule applies to them. ~
- `prefixes`: wrapped forms, and words in quotes.
- `commands`: the commands of one tool, by their text; and auto-allowed ones.
- `opening`: redirections, and commands that open files which both sides decide differently. ~
- `samples`: commands that rules match by other texts as well, behind `sudo`, in quotes, joined or
  in scripts. For each changed line there is a list of texts, which both sides decide until all
  changes that the line may cause are shown; a change that no text shows makes the answer inexact,
  unless `simple` decides it. ~
- `simple`: all commands of plain words by all their texts, where only the names of wrappers are
  known, as in our notation. =

All together:

- `compare`: the calls of one tool, case by case; known witnesses are asked where lines meet again.
- `tables`: all tools: special tools one by one, and all others at once.
- `dead_rules`: which rules of a table decide anything.
"""
