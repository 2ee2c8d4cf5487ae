"""The arguments line as a mapping: read, never evaluated."""

from __future__ import annotations

import json
import time as wall
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logphase.arguments import MOST, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)
NAMES = st.from_regex(r"\A[a-z_][a-z0-9_]{0,15}\Z")


@given(st.dictionaries(NAMES, VALUES, max_size=8))
@settings(max_examples=150, deadline=None)
def test_both_forms(arguments: dict[str, object]) -> None:
    """What Python prints of a mapping or of an object's fields is read back, and what follows is left."""
    fields = ", ".join(f"{name}={value!r}" for name, value in arguments.items())

    assert arguments == parse(f"server_args=ServerArgs({fields})")
    assert arguments == parse(f"Namespace({fields}) x=1, (y=2)")
    assert arguments == parse(f"non-default args: {arguments!r}")


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.integers(0, 200))
@settings(max_examples=150, deadline=None)
def test_a_cut_line(arguments: dict[str, object], size: int) -> None:
    """Of a line that was cut, what is whole is read and nothing is invented."""
    text = "ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in arguments.items()) + ")"
    found = parse(text[:size])

    assert found.items() <= arguments.items() if all(map(hashable, arguments.values())) else found.keys() <= arguments.keys()


def hashable(value: object) -> bool:
    return not isinstance(value, list | dict | tuple)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ServerArgs(a=1, b='x, y=2', c=[1, (2, 3)], d={'k': 'v'})", {"a": 1, "b": "x, y=2", "c": [1, (2, 3)], "d": {"k": "v"}}),
        ("ServerArgs(mode=<Mode.AUTO: 'auto'>, after=3)", {"mode": "<Mode.AUTO: 'auto'>", "after": 3}),
        ("ServerArgs(f=<function f at 0x7f00>, g=functools.partial(<bound method A.b of A(x=1, y=[2])>), after=3)",
         {"f": "<function f at 0x7f00>", "g": "functools.partial(<bound method A.b of A(x=1, y=[2])>)", "after": 3}),
        ("ServerArgs(timeout=inf, low=-inf, none=None, yes=True, neg=-1.5)",
         {"timeout": "inf", "low": "-inf", "none": None, "yes": True, "neg": -1.5}),
        ('ServerArgs(host="don\'t", b=\'say "a"\', c=\'it\\\'s\', d=1)', {"host": "don't", "b": 'say "a"', "c": "it's", "d": 1}),
        ("{'host': '::', 'url': 'http://a:1', 'n': {'a:b': 1}}", {"host": "::", "url": "http://a:1", "n": {"a:b": 1}}),
        ("ServerArgs(a=1, b='cut he", {"a": 1}),
        ("ServerArgs(a=1, b=2", {"a": 1}),
        ("ServerArgs(a=[1, 2", {}),
        ("ServerArgs()", {}),
        ("no brackets", {}),
        ("", {}),
        ("ServerArgs(a=__import__('os').system('false'), b=open('/etc/passwd'))",
         {"a": "__import__('os').system('false')", "b": "open('/etc/passwd')"}),
        ("ServerArgs(a={1, 2}, b=b'x', c=1e999, d=[...], e=1+2j)", {"a": "{1, 2}", "b": "b'x'", "c": "1e999", "d": "[...]", "e": "1+2j"}),
        ("ServerArgs(not a name=1, 1a=2, b==3, =4, c)", {"b": "=3"}),
    ],
)  # fmt: skip
def test_values(text: str, expected: dict[str, object]) -> None:
    """Literals become values, everything else stays text."""
    assert expected == parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "ServerArgs(a=" + "(" * 100_000,
        "ServerArgs(a=" + "[" * 50_000 + "]" * 50_000 + ", b=1)",
        "ServerArgs(a=" + "-" * 60_000 + "1, b=1)",
        "ServerArgs(a=" + "1+" * 30_000 + "1, b=1)",
        "ServerArgs(a=" + "not " * 15_000 + "1, b=1)",
        "ServerArgs(a=" + "{1:" * 20_000 + ", b=1)",
        "ServerArgs(a=" + "9" * 60_000 + ", b=1)",
        "ServerArgs(a=0x" + "f" * 60_000 + ", b=1)",
        "ServerArgs(a='" + "\\d" * 30_000 + "', b=1)",
        "ServerArgs(a=1e999, b=nan, c=b'x', d={1, 2}, e=..., f=1+2j, g=1 is 2, h=0_0)",
        "ServerArgs(" + "a=1," * 16_000,
        ")" * 65_000,
        "{" * 65_000,
        "ServerArgs(a='\ud800', b=1)",
        "ServerArgs(a={[]: 1}, b={{}}, c=1)",
    ],
    ids=range(15),
)
def test_hostile(text: str) -> None:
    """Nothing hangs, recurses, warns or yields what JSON has no word for."""
    begun = wall.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parse(text)

    json.dumps(found, allow_nan=False)
    assert all(len(str(value)) <= len(text) for value in found.values())
    assert wall.perf_counter() - begun < 2.0


def test_most() -> None:
    """The number of names is bounded."""
    assert MOST == len(parse("ServerArgs(" + ", ".join(f"a{number}=1" for number in range(MOST + 50)) + ")"))
