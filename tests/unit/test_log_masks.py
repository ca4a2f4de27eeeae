"""Masks of the decision log: what is masked is nowhere in a line, however the model sent it."""

from __future__ import annotations

import json
import time
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import callgate
from callgate.engine.decided import decided
from callgate.engine.logline import LineWriter, take

SCHEMA = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "password": {"type": "string"}, "rows": {"type": "array"}},
    "required": ["user"],
}
RULES = 'tool login { alias /password from pwd; deny "no root" when /user == "root" }'
SECRET = 'hun"ter2'


def line(arguments: Any, *mask: str, values: bool = True, text: bool = False) -> dict[str, Any]:
    engine = callgate.compile(RULES, tools={"login": SCHEMA})
    verdict = (engine.check_text if text else engine.check)("login", arguments)
    call = decided(verdict, sent="login", before=arguments, micros=1.0, text=text)
    written = LineWriter(values=values, mask=mask, value_bytes=65_536).line(take(call))
    found: dict[str, Any] = json.loads(written)
    return found


def test_a_masked_place_is_three_stars_and_the_rest_is_there() -> None:
    call = {"user": "u", "password": SECRET, "rows": [{"key": "k1", "x": 1}, {"key": "k2"}]}
    assert line(call, "/password", "/rows/*/key")["before"] == {
        "user": "u",
        "password": "***",
        "rows": [{"key": "***", "x": 1}, {"key": "***"}],
    }


def test_a_mask_that_fits_no_place_changes_nothing() -> None:
    call = {"user": "u", "password": SECRET}
    assert line(call, "/nothing/*/here")["before"] == call


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        {"user": "u", "pwd": SECRET},  # an alias moved it
        {"arguments": {"user": "u", "password": SECRET}},
        {"arguments": json.dumps({"user": "u", "password": SECRET})},
        {"arguments": json.dumps({"user": "u", "pwd": SECRET})},
        {"arguments": {"user": 7, "password": SECRET}},  # unrepairable: nothing says where it belongs
        {"user": "root", "password": SECRET},
        {"user": f"u:{SECRET}", "password": SECRET},
        {"user": "u", "password": SECRET, f"x{SECRET}": 1},
        {"user": "u", "password": {"deep": [SECRET]}},
        [{"user": "u", "password": SECRET}],
        json.dumps({"user": "u", "password": SECRET}),
        json.dumps({"user": "u", "password": SECRET})[:-1],
        f"user=u password={SECRET}",
        f"{{'user': 'u', 'pwd': '{SECRET}'}}",
        {"user": "u</parameter><parameter=password>" + SECRET},
        {"user": 7, "password": SECRET},
    ],
)
def test_a_masked_value_is_nowhere_in_the_line(call: Any, values: bool) -> None:
    for text in (False, True) if type(call) is str else (False,):
        found = json.dumps(line(call, "/password", values=values, text=text), ensure_ascii=False)
        assert "hun" not in found
        assert "ter2" not in found


def test_a_digest_is_of_what_may_be_seen_so_nobody_can_guess_a_masked_value_by_it() -> None:
    one, other = (
        line({"user": "u", "password": word}, "/password", values=False) for word in ("a1b2", "9999")
    )
    assert one["before_digest"] == other["before_digest"]
    shown = msgspec.json.encode({"password": "***", "user": "u"}, order="sorted")
    assert one["before_digest"] == blake2b(shown, digest_size=16).hexdigest()
    plain = [
        line({"user": "u", "password": word}, values=False)["before_digest"] for word in ("a1b2", "9999")
    ]
    assert plain[0] != plain[1]


def test_a_number_that_is_masked_is_masked_elsewhere_too_and_true_false_and_null_are_not() -> None:
    call = {"user": "u", "password": "x", "pin": 4711, "same": "4711", "n": 4711, "flag": True, "ok": True}
    found = line(call, "/pin", "/flag")["before"]
    assert (found["pin"], found["same"], found["n"]) == ("***", "***", "***")
    assert (found["flag"], found["ok"]) == ("***", True)


def test_places_below_a_masked_one_are_not_named() -> None:
    schema = {
        "type": "object",
        "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    engine = callgate.compile("", tools={"run": schema})
    marks = set()
    for key in ("TOKEN_A", "TOKEN_B"):
        call = {"env": {key: {"x": 1}}}
        verdict = engine.check("run", call)
        assert [each.path for each in verdict.issues] == [f"/env/{key}"]
        told = take(decided(verdict, sent="run", before=call, micros=1.0))
        found = json.loads(LineWriter(values=True, mask=("/env",), value_bytes=1000).line(told))
        assert found["paths"] == ["/env"]
        assert "TOKEN" not in json.dumps(found)
        marks.add(found["fingerprint"])
    assert len(marks) == 1


def test_the_mask_of_the_root_leaves_nothing() -> None:
    found = line({"user": "u", "pwd": SECRET}, "")
    assert (found["before"], found["after"], found["paths"]) == ("***", "***", [""])


def test_masking_changes_nothing_that_the_caller_has() -> None:
    for call in ({"user": "u", "password": SECRET}, {"user": "u", "password": {"x": [SECRET]}}):
        kept = json.dumps(call)
        line(call, "/password")
        assert json.dumps(call) == kept


WORDS = st.sampled_from(["a", "b", "password", "pwd"])
VALUES = st.recursive(
    st.integers(0, 3) | st.text("xyz", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from(["dict", "list", "text", "wrapped", "alias"]))
def test_a_masked_value_does_not_leak_through_any_shape(rest: Any, shape: str) -> None:
    call: Any = {"user": "u", "password": "S3CRET!", "x": rest}
    if shape == "list":
        call = [rest, call]
    elif shape == "text":
        call = json.dumps(call)
    elif shape == "wrapped":
        call = {"arguments": json.dumps(call)}
    elif shape == "alias":
        call = {"user": "u", "pwd": "S3CRET!", "x": ["S3CRET!", rest]}
    found = line(call, "/password", "/pwd")
    assert "S3CRET" not in json.dumps(found)


@pytest.mark.parametrize(
    ("pin", "other"),
    [
        (123456, "my pin is 123456"),
        (123456, 123456.0),
        (123456.0, 123456),
        (123456, "123456.0"),
        (-123456, "it was 123456"),
        (1e16, "10000000000000000"),
        ([{"x": 4111111111111111}], "card 4111111111111111"),
        (12.34, "12.34 and more"),
        ("4111", 4111),
        ("123456", 91234567),
        (7, "7"),
    ],
)
def test_a_masked_number_is_looked_for_as_text_and_text_as_a_number(pin: Any, other: Any) -> None:
    found = line({"user": "u", "pin": pin, "note": other, "rest": [8, 1.5, True]}, "/pin")["before"]
    assert found == {"user": "u", "pin": "***", "note": "***", "rest": [8, 1.5, True]}


def test_a_masked_number_of_more_digits_than_python_writes_costs_no_line() -> None:
    found = line({"user": "u", "pin": 10**5000, "note": "x"}, "/pin")["before_json"]
    assert json.loads(found) == {"user": "u", "pin": "***", "note": "x"}


def test_a_mask_that_names_no_key_hides_no_text() -> None:
    call = {"user": "u", "note": ["-", "a: b", '"c"'], "rows": [1]}
    assert line(call, "/rows/*")["before"] == {**call, "rows": ["***"]}


def test_a_number_of_few_digits_is_masked_as_a_whole_value_only() -> None:
    found = line({"user": "u12", "pin": 12, "rest": [1234, 12, 12.0, "12"]}, "/pin")["before"]
    assert found == {"user": "u12", "pin": "***", "rest": [1234, "***", "***", "***"]}


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2",
        "Password : hunter2",
        "- password: hunter2",
        "**password**: hunter2",
        "password=hunter2",
        "PASSWORD=hunter2 run",
        "curl https://h/?u=a&password=hunter2",
        "curl https://h/?password=hunter2&u=a",
        "user[password]=hunter2",
        "mysql --password=hunter2",
        "mysql --password hunter2",
        "mysql -password hunter2",
        "'password' : 'hunter2'",
        "<password>hunter2</password>",
        "first\npassword: |\n  hunter2",
        "u=a;password:=hunter2",
    ],
)
def test_text_in_which_a_masked_name_stands_as_a_key_is_masked(text: str) -> None:
    assert line({"user": "u", "note": text}, "/password")["before"] == {"user": "u", "note": "***"}


@pytest.mark.parametrize("text", ["run --api-key k1", "api_key: k1", "api-key=k1", "API_KEY=k1"])
def test_a_key_of_several_words_is_known_by_a_dash_and_an_underscore(text: str) -> None:
    for mask in ("/api_key", "/api-key"):
        assert line({"user": "u", "note": text}, mask)["before"] == {"user": "u", "note": "***"}


def test_a_key_in_another_spelling_is_masked_and_no_place_below_it_is_named() -> None:
    schema = {"type": "object", "additionalProperties": {"additionalProperties": {"type": "string"}}}
    call = {"API-Key": {"hunter2": 1}, "api_keys": {"x": "y"}}
    verdict = callgate.compile("", tools={"t": schema}).check("t", call)
    told = take(decided(verdict, sent="t", before=call, micros=1.0))
    found = json.loads(LineWriter(values=True, mask=("/api_key",), value_bytes=1000).line(told))
    assert (found["before"], found["paths"]) == ({"API-Key": "***", "api_keys": {"x": "y"}}, ["/API-Key"])


def test_an_item_behind_an_option_is_masked_and_so_is_its_value_elsewhere() -> None:
    argv = ["mysql", "--password", "hunter2", "db"]
    call = {"user": "u", "argv": argv, "note": "it is hunter2", "n": ["--password"]}
    assert line(call, "/password")["before"] == {
        "user": "u",
        "argv": ["mysql", "***", "***", "db"],
        "note": "***",
        "n": ["***"],
    }


def test_text_that_only_mentions_a_masked_name_is_shown() -> None:
    call = {"user": "u", "note": "reset my password", "n": "passwords: none", "m": "a password is short"}
    assert line(call, "/password")["before"] == call


def test_masking_a_long_text_takes_no_long_time() -> None:
    for text in ("password" + " " * 200_000, "password " * 50_000, '"' + " " * 200_000, "-" * 200_000):
        began = time.monotonic()
        line({"user": "u", "note": text}, "/password", values=False)
        assert time.monotonic() - began < 2
