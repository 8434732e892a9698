"""Values are what attrs makes of the same class."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import attrs
import pytest

import policy
from policy.core import values


def declared(lib):
    """Return classes of one text, made by one library."""
    frozen, field, define = lib.frozen, lib.field, lib.define
    # Ours have no slots.
    open_to_more = {"slots": False} if lib is attrs else {}

    @frozen
    class Place:
        file: str
        line: int = 1

    @frozen(cache_hash=True)
    class Because:
        rule: str
        place: Place | None = field(default=None, eq=False, repr=False)
        _asked: object = field(default="", alias="table", eq=False, repr=False)
        words: dict[str, str] = field(factory=dict, hash=False)

    @frozen(**open_to_more)
    class Base:
        name: str
        more: tuple[str, ...] = field(default=(), kw_only=True)

        def __attrs_post_init__(self) -> None:
            object.__setattr__(self, "made", self.name.upper())

        @cached_property
        def length(self) -> int:
            return len(self.name)

    @frozen(**open_to_more)
    class Derived(Base):
        other: str = "o"

    @define
    class Word:
        raw: str
        parts: list[str] = field(factory=list)
        own: str = "own"

    @frozen(order=True)
    class Made:
        first: tuple[str, ...] = field(converter=tuple)
        second: str = "second"
        third: list[str] = field(factory=list)

    @define(eq=False, repr=False)
    class Later:
        folder: str
        _tree: str = ""

        def __attrs_post_init__(self) -> None:
            self._tree = self.folder.upper()

        def __repr__(self) -> str:
            return f"{self.folder} {self._tree}"

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other) and repr(self) == repr(other)

        def __hash__(self) -> int:
            return hash(self.folder)

    return {e.__name__: e for e in (Place, Because, Base, Derived, Word, Made, Later)}


OURS = declared(values)
THEIRS = declared(attrs)
MADE = [
    ("Place", lambda cls: cls("f", line=2)),
    ("Place", lambda cls: cls("f")),
    ("Because", lambda cls: cls("r", None, "t", {"a": "b"})),
    ("Because", lambda cls: cls(rule="r", table="t")),
    ("Base", lambda cls: cls("n", more=("a",))),
    ("Derived", lambda cls: cls("n", "p", more=("a",))),
    ("Word", lambda cls: cls("w", ["p"])),
    ("Word", lambda cls: cls("w")),
    ("Made", lambda cls: cls(["a", "b"])),
    ("Made", lambda cls: cls("ab", "c", ["d"])),
    ("Later", lambda cls: cls("f")),
]


@pytest.fixture(params=[1, 100], ids=["called first", "called often"])
def often(request):
    return request.param


@pytest.mark.parametrize("number", range(len(MADE)))
def test_a_value_prints_and_compares_as_that_of_attrs(number, often) -> None:
    name, make = MADE[number]
    for _ in range(often):
        ours, theirs = make(OURS[name]), make(THEIRS[name])
        assert repr(ours).rpartition(".")[2] == repr(theirs).rpartition(".")[2]
        assert ours == make(OURS[name])
        assert (ours == theirs, ours != make(OURS[name])) == (False, False)
        stored = {name: getattr(ours, name) for name in values.attributes(OURS[name])}
        assert stored == attrs.asdict(theirs)
        if name == "Word":
            with pytest.raises(TypeError):
                hash(ours)
        elif name != "Made" and (name != "Because" or not ours.words):
            assert hash(ours) == hash(make(OURS[name]))


def test_what_is_ordered_is_ordered_as_that_of_attrs(often) -> None:
    for made in (OURS["Made"], THEIRS["Made"]):
        for _ in range(often):
            one, two = made("a", "b"), made("ab", "a")
            assert sorted([two, one]) == [one, two]
            assert (one < two, one > two) == (True, False)


def test_what_does_not_count_is_not_compared(often) -> None:
    made = OURS["Because"]
    for _ in range(often):
        one, two = made("r", OURS["Place"]("f")), made("r", words={})
        assert one == two
        assert hash(one) == hash(two) == hash(made("r", words={"other": ""}))
        assert made("r", table=1) == made("r", table=2)


@pytest.mark.parametrize("call", [(), ("a", 1, 2), ("a",)])
def test_wrong_arguments_are_refused(call, often) -> None:
    named = {"nobody": 1} if call == ("a",) else {}
    for _ in range(often):
        with pytest.raises(TypeError):
            OURS["Place"](*call, **named)


def test_a_value_is_evolved_and_never_changed() -> None:
    one = OURS["Derived"]("n", more=("a",))
    two = values.evolve(one, name="m")
    assert (two.name, two.other, two.more, two.made) == ("m", "o", ("a",), "M")
    for name in ("name", "unknown"):
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(one, name, "x")
    assert (one.length, one.name) == (1, "n")
    because = OURS["Because"]("r", table="t")
    assert values.evolve(because, table="u")._asked == "u"


def test_values_are_copied_and_pickled() -> None:
    one = policy.Effect.ALLOW
    because = policy.Because("r", one, "l")
    hash(because)
    for made in (because, policy.core.source.Place("f", 2)):
        assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301


def test_importing_them_imports_no_attrs() -> None:
    code = "import sys, policy.tables.chain; print('attr' in sys.modules, 'typing' in sys.modules)"
    root = Path(policy.__file__).parents[1]
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(root)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "False False\n"
