"""Which entries have a shape, which others have the same, and what of a call forbids to use it."""

from __future__ import annotations

from typing import Any

import pytest

import callgate
from callgate import Outcome, Verdict
from callgate.engine.shapes import Shape, shape_of
from callgate.engine.texts import Refused

# An entry with the comma after it, and its JSON.
PLAIN = ('{"a": "x", n: 1},', '{"a":"x","n":1}')
FAR = 10_000


def learnt(entry: str, written: str) -> Shape:
    found = shape_of(entry, written)
    assert found is not None
    return found


def taken(shape: Shape, text: str, ahead: int = FAR, most: int = FAR) -> tuple[int, str, str] | None:
    """How many entries are taken, their JSON, and what is left."""
    found = shape.take(text, 0, ahead, most, lambda kind: None)
    return None if found is None else (found.count, found.written, text[found.end :])


WITH_SHAPE = [
    PLAIN,
    ('{a: 1,, b: -1.5e3,},', '{"a":1,"b":-1.5e3}'),
    ("{'a': 'x', “b”: “y”},", '{"a":"x","b":"y"}'),
    ('{a": "x", "b: "y"},', '{"a":"x","b":"y"}'),
    (r'{"a": "\d"},', r'{"a":"\\d"}'),
    (r'{"a": "C:\Users"},', r'{"a":"C:\\Users"}'),
    ('{"a": "x\ty"},', '{"a":"x\ty"}'),
    ('{"a": True, "b": null, "c": 1},', '{"a":true,"b":null,"c":1}'),
    ('{"a": fast},', '{"a":"fast"}'),
    ("{Nonesuch: 1, b: true_},", '{"Nonesuch":1,"b":"true_"}'),
    (' // one\n {/* two */ "a": # three\n 1 },', '{"a":1}'),
    ('\\n {\\n"a": 1\\n} /* x */ ,', '{"a":1}'),
    ('{"%s": 1, b: 2},', '{"%s":1,"b":2}'),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "written"), WITH_SHAPE)
def test_an_entry_has_a_shape_and_is_of_it(entry: str, written: str) -> None:
    shape = learnt(entry, written)
    assert taken(shape, entry * 3) == (2, f",{written}" * 2, entry)


# Each is what would be remembered of an entry where another may be read otherwise.
NO_SHAPE = [
    # a text, a number or a quote in a comment: what is said there is no scalar, or may end a text
    ('{/* "b" */ a: 5},', '{"a":5}'),
    ("{// 5\n a: 5},", '{"a":5}'),
    ("{// it's\n \"a\": 5},", '{"a":5}'),
    ('{# "\n "a": 5},', '{"a":5}'),
    # a comment may go on in what follows
    ('{"a": 5 // x},', '{"a":5}'),
    # whose key it is hangs on what the text says
    ('{"a"\\n: 5},', '{"a":5}'),
    ('{"a\n: 5},', '{"a":5}'),
    ('{"a\\d": 5},', '{"a\\\\d":5}'),
    # something in it, or nothing
    ('{"a": {"b": 5}},', '{"a":{"b":5}}'),
    ('{"a": [5]},', '{"a":[5]}'),
    ("{},", "{}"),
    ('{a: fast},', '{"a":"fast"}'),
    ('"a",', '"a"'),
    ("5,", "5"),
    # marks of ours in the text itself
    ('{\x01: 5, "a": 6},', '{"a":5,"b":6}'),
    ('{/* \x01 */"a": 5},', '{"a":5}'),
    ('{"a": \x02},', '{"a":1}'),
    # more than one entry, or no whole one
    ('{"a": 5}, {"a": 5},', '{"a":5}'),
    ('{"a": 5}', '{"a":5}'),
    ('{"a": 5}, // x,', '{"a":5}'),
    # quotes in quotes, and what is no scalar at all
    ("{'a': 'say \"x\"'},", '{"a":"say \\"x\\""}'),
    ('{true": 5},', '{"true":5}'),
    ('{"a": 01},', '{"a":1}'),
    # more scalars than are looked at
    ("{" + ", ".join(f'"a{number}": {number}' for number in range(40)) + "},",
     "{" + ",".join(f'"a{number}":{number}' for number in range(40)) + "}"),
    # what was written is not what stands there
    ('{"a": 5},', '{"a":6}'),
    ('{"a": 5},', '{"b":5}'),
    ('{"a": 5},', '{"a":5,"b":6}'),
    (r'{"a": "\d"},', r'{"a":"\d"}'),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "written"), NO_SHAPE)
def test_what_hangs_on_more_than_the_gaps_has_no_shape(entry: str, written: str) -> None:
    assert shape_of(entry, written) is None


@pytest.mark.parametrize(
    ("entry", "written", "other"),
    [
        (*PLAIN, '{"a": 2, n: 1},'),
        (*PLAIN, '{"a": "x", n: "y"},'),
        (*PLAIN, '{"a": "x", m: 1},'),
        (*PLAIN, '{"a": "x", n: 01},'),
        (*PLAIN, '{"a": "x", n : 1},'),
        (*PLAIN, '{"a": "x", n: 1,},'),
        (*PLAIN, '{"a": "x", n: 1, o: 2},'),
        (*PLAIN, '{"a": "\\d", n: 1},'),
        (*PLAIN, "{'a': \"x\", n: 1},"),
        (*PLAIN, '{"a: "x", n: 1},'),
        (*PLAIN, '{"a": /* c */"x", n: 1},'),
        ('{"a": /* c */"x"},', '{"a":"x"}', '{"a": /* d */"x"},'),
        ("{'a': 1},", '{"a":1}', "{“a”: 1},"),
        ('{a": 1},', '{"a":1}', '{"a: 1},'),
        ('{"a": "\\d"},', '{"a":"\\\\d"}', "{\"a\": 'x'},"),
        ('{"a": 1},', '{"a":1}', '{x "a": 1},'),
        ('{"a": 1},', '{"a":1}', ' {"a": 1},'),
        # a word was looked up under this key
        ('{"a": True},', '{"a":true}', '{"b": True},'),
        ('{"a": fast, "b": 1},', '{"a":"fast","b":1}', '{"b": fast, "b": 1},'),
    ],
)
def test_an_entry_that_differs_in_more_than_its_scalars_is_not_taken(
    entry: str, written: str, other: str
) -> None:
    shape, text = learnt(entry, written), entry * 3 + other + entry * 2
    found = taken(shape, text)
    assert found is not None
    count, done, left = found
    # The third may be left too: the gap after its last scalar goes on into the next entry.
    assert count in (2, 3)
    assert (done, entry * count + left) == (f",{written}" * count, text)
    assert taken(shape, other + entry * 3) is None


def test_a_text_that_is_cut_off_is_never_taken_for_a_whole_one() -> None:
    entry, written = (
        '{"a": "x 5, \\"y\\" }, {", n: -12.5e3, b: \'z\'},',
        '{"a":"x 5, \\"y\\" }, {","n":-12.5e3,"b":"z"}',
    )
    shape = learnt(entry, written)
    for ahead in range(len(entry) * 5):
        found = taken(shape, entry * 5, ahead)
        count = found[0] if found is not None else 0
        assert count == max(0, (ahead - len('{"a": "')) // len(entry)) or ahead % len(entry) < 45
        assert found is None or found == (count, f",{written}" * count, entry * (5 - count))


def test_no_more_are_taken_than_are_asked_for_and_whether_all_fitted_is_said() -> None:
    shape = learnt(*PLAIN)
    assert taken(shape, PLAIN[0] * 9, most=4) == (4, f",{PLAIN[1]}" * 4, PLAIN[0] * 5)
    assert taken(shape, PLAIN[0] * 9, most=0) is None
    for text, wanted in ((PLAIN[0] * 9, True), (PLAIN[0] * 5 + "5," + PLAIN[0] * 3, False)):
        found = shape.take(text, 0, FAR, FAR, str)
        assert found is not None
        assert found.all is wanted


def test_what_was_put_right_is_told_in_the_order_of_the_text() -> None:
    shape = learnt(r'{"a": "\d", "b": "\w"},', r'{"a":"\\d","b":"\\w"}')
    told: list[str] = []
    shape.take('{"a": "x\ty", "b": "\\d"},' * 3, 0, FAR, FAR, told.append)
    assert list(dict.fromkeys(told)) == ["control-characters", "escapes"]
    shape = learnt(r'{"a": “x”, "b": "\d"},', r'{"a":"x","b":"\\d"}')
    told.clear()
    shape.take('{"a": “x”, "b": "x\ty"},{"a": “\\d”, "b": "x\ty"},' * 2, 0, FAR, FAR, told.append)
    assert list(dict.fromkeys(told)) == ["quotes", "control-characters", "escapes"]


def test_a_scalar_that_can_be_read_in_two_ways_is_refused() -> None:
    shape = learnt(r'{"a": "\d"},', r'{"a":"\\d"}')
    with pytest.raises(Refused):
        taken(shape, r'{"a": "\d"},{"a": "\x41"},{"a": "\d"},')


# What is around the entries -----------------------------------------------------------------------


def sent(items: dict[str, Any], text: str, rules: str = "") -> Verdict:
    schema = {"type": "object", "properties": {"edits": {"type": "array", **items}}}
    return callgate.compile(rules, tools={"t": schema}).check_text("t", f'{{"edits": [{text}]}}')


WORD = {"type": "object", "properties": {"w": {"enum": ["True"]}}}
VALUE = {"type": "object", "properties": {"w": {"type": "boolean"}}}
TEXT = {"type": "object", "properties": {"w": {"type": "string"}}}


@pytest.mark.parametrize("at", [3, 4, 5, 12, 100, 254])
def test_a_word_is_what_the_schema_says_of_its_own_item(at: int) -> None:
    text = ", ".join(['{w: True, "n": 1}'] * 300)

    def words(items: dict[str, Any]) -> list[Any]:
        return [each["w"] for each in sent(items, text).arguments["edits"]]

    one = [True] * at + ["True"] + [True] * (299 - at)
    assert words({"prefixItems": [VALUE] * at + [WORD], "items": VALUE}) == one
    assert words({"items": {"properties": {"n": {}}}, "properties": {str(at): WORD}}) == one
    assert words({"prefixItems": [VALUE] * at, "items": WORD}) == [True] * at + ["True"] * (300 - at)
    assert sent({"prefixItems": [VALUE] * at + [TEXT], "items": VALUE}, text).code == "not-json"


def test_a_word_under_another_key_is_looked_up_again() -> None:
    items = {"items": {"properties": {"w": {"enum": ["True"]}, "v": {"type": "boolean"}}}}
    verdict = sent(items, ", ".join(['{"w": True}'] * 5 + ['{"v": True}'] * 5 + ['{"w": True}'] * 5))
    assert verdict.arguments["edits"] == [{"w": "True"}] * 5 + [{"v": True}] * 5 + [{"w": "True"}] * 5


def test_a_literal_is_taken_where_it_was_met_before() -> None:
    yes, no = learnt('{"a": True},', '{"a":true}'), learnt('{"a": False},', '{"a":false}')
    text = '{"a": True},{"a": True},{"a": False},{"a": True},{"a": None},{"a": True},'
    assert taken(yes, text) == (2, ',{"a":true},{"a":true}', text[24:])
    yes.learn(learnt('{"b": False},', '{"b":"False"}'))
    yes.learn(learnt('{"a": False },', '{"a":"False"}'))
    yes.learn(learnt('{"a": 1},', '{"a":1}'))
    assert taken(yes, text) == (2, ',{"a":true},{"a":true}', text[24:])
    yes.learn(no)
    one, other = (
        learnt("{a: True, b: 1},", '{"a":true,"b":1}'),
        learnt("{a: 1, b: True},", '{"a":1,"b":true}'),
    )
    one.learn(other)
    assert taken(one, "{a: 1, b: True}," * 3) is None
    assert taken(yes, text) == (4, ',{"a":true},{"a":true},{"a":false},{"a":true}', text[49:])


def test_what_a_literal_is_for_one_item_is_not_what_it_is_for_another() -> None:
    words = ["True", "True", "False", "True", "False", "true", "True", "null", "False", "False"] * 4
    text = ", ".join(f'{{w: {word}, "n": 1}}' for word in words)
    found = {"True": True, "False": False, "true": True, "null": None}
    wanted = [found[word] for word in words]
    assert [each["w"] for each in sent({}, text).arguments["edits"]] == wanted
    for at in (2, 3, 13, 20):
        listed = {"enum": [words[at]]} if words[at] in ("True", "False") else {}
        items = {"items": {"properties": {"n": {}}}, "properties": {str(at): {"properties": {"w": listed}}}}
        said = [*wanted[:at], words[at] if listed else wanted[at], *wanted[at + 1 :]]
        assert [each["w"] for each in sent(items, text).arguments["edits"]] == said


def test_where_a_token_for_a_quote_stands_each_entry_is_looked_at() -> None:
    # It begins with a scalar, so that the gaps do not show it.
    numbers = [6, 6, 6, 6, 6, 5, 5, 6, 6, 6]
    text = ", ".join(f'{{"a": /* c */ {number}, "b": 1}}' for number in numbers)
    assert sent({}, text, "quote-token '5, \"b\"'").code == "not-json"
    assert sent({}, text, "quote-token '5, \"c\"'").outcome is Outcome.REPAIRED


def test_a_shape_is_of_one_array_whose_entries_may_be_as_deep_as_they_are() -> None:
    text = '{"edits": [{a: 1}, {a: 2}, {a: 3}, {a: 4}], "x": [[1, {a: 1}, {a: 2}, {a: 3}]]}'
    for depth, code in ((4, None), (3, "limit")):
        engine = callgate.compile("", limits=callgate.Limits(depth=depth))
        assert engine.check_text("t", text).code == code


ENTRY = '{a: "x"}, '


@pytest.mark.parametrize(
    ("end", "code"),
    [
        # a comment that may be the rest of a text, and one that is none
        ('{a: "x"} // say "x"\n', "not-json"),
        ('{a: "x"\n} // it\'s\n', None),
        # the first fault is the one that is told
        ("{a b}", "not-json"),
        ('{a: "x', "not-json"),
        ('{a: "x" "y"}', "not-json"),
        ("{a: NaN}", "number"),
    ],
)
def test_a_fault_after_entries_that_were_read_at_once_is_the_one_that_each_alone_has(
    end: str, code: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ENTRY * 9 + end
    verdict = sent({}, text)
    assert verdict.code == code
    monkeypatch.setattr("callgate.engine.damage.shape_of", lambda *_: None)
    assert sent({}, text) == verdict


def test_how_far_is_looked_is_bounded_by_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # A long entry after which short ones never fit for long.
    long = '{a: "' + "x" * 20_000 + '"}, '
    texts = [
        long * 2 + "{a: 1}, {a: 'x'}, {b: 1}, " * 2_000,
        long * 2 + (ENTRY * 3 + "1, ") * 2_000,
        (ENTRY * 40 + "{b: 1}, ") * 100,
        "[{a: 1}, {a: 2}, {a: 3}], " * 2_000,
    ]
    looked = 0
    take = Shape.take

    def counted(self: Shape, text: str, at: int, ahead: int, *rest: Any) -> Any:
        nonlocal looked
        looked += min(ahead, len(text) - at)
        return take(self, text, at, ahead, *rest)

    monkeypatch.setattr(Shape, "take", counted)
    for text in texts:
        looked = 0
        assert sent({}, text + "1").outcome is Outcome.REPAIRED
        assert looked < 12 * len(text)


@pytest.mark.parametrize("end", ['{"c": 1, "d\n: 2}', '{"c":\n[5] // "x"\n}'])
def test_what_hangs_on_how_often_was_looked_is_decided_as_each_alone_is(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whole pairs and objects are looked for ever more seldom, and these two are read otherwise where one is.
    texts = ["{b: 2}, " * count + end for count in range(3, 80)]
    here = [sent({}, text) for text in texts]
    assert len({verdict.outcome for verdict in here}) == 2
    monkeypatch.setattr("callgate.engine.damage.shape_of", lambda *_: None)
    assert here == [sent({}, text) for text in texts]
