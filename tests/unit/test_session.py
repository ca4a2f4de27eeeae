"""Sessions: the palette that calls are held against, what conditions see, and what is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import callgate
from callgate import InputError
from callgate.engine import state as memory

TOOLS: dict[str, Any] = {
    "read": {"type": "object", "properties": {"path": {"type": "string"}}},
    "bash": {"type": "object", "properties": {"command": {"type": "string"}}},
    "edit": None,
}


def session(rules: str = "", **options: Any) -> callgate.Session:
    return callgate.compile(rules, tools=TOOLS).session(**options)


def outcome(here: callgate.Session, tool: str, arguments: Any, call_id: str) -> str:
    return here.call(tool, arguments, call_id=call_id).outcome.value


# The palette


def test_a_tool_that_was_not_offered_is_denied() -> None:
    here = session("palette p { offer read }")
    here.offer()
    verdict = here.call("bash", {"command": "ls"}, call_id="1")
    assert (verdict.outcome, verdict.code, verdict.decided_by) == ("denied", "not_offered", ("palette",))
    assert verdict.reason == "`bash` is not offered in this request"
    assert "`read`" in (verdict.retry_message or "")
    assert verdict.fingerprint
    assert here.call("read", {}, call_id="2").allowed


def test_a_misspelt_name_is_settled_before_it_is_held_against_the_palette() -> None:
    here = session("palette p { offer read }")
    here.offer()
    assert here.call("functions.read", {}, call_id="1").tool == "read"
    assert here.call("functions.bash", {}, call_id="2").code == "not_offered"
    assert here.call("nothing", {}, call_id="3").code == "unknown-tool"


def test_a_palette_holds_until_the_next_request() -> None:
    here = session("palette p when turn.step == 1 { offer read }")
    here.offer()
    assert outcome(here, "bash", {}, "1") == "denied"
    here.offer()
    assert outcome(here, "bash", {}, "2") == "valid"


def test_a_call_before_any_request_is_held_against_what_the_rules_let_through() -> None:
    here = session("palette p { exclude bash hard }")
    assert here.call("bash", {}, call_id="1").code == "not_offered"
    assert here.call("read", {}, call_id="2").allowed
    here.user()
    assert here.call("bash", {}, call_id="1").code == "not_offered"
    refused = session("palette p { force edit when turn.step > 0; exclude edit hard }")
    assert refused.call("read", {}, call_id="1").code == "not_offered"


def test_other_tools_from_now_on() -> None:
    here = session("palette p { exclude bash }")
    palette = here.offer([{"name": "bash"}, {"name": "list"}])
    assert palette.names == ("list",)
    assert here.call("read", {}, call_id="1").code == "unknown-tool"
    assert here.call("list", {}, call_id="2").allowed


def test_sessions_with_equal_tools_share_an_engine() -> None:
    engine = callgate.compile("")
    first, second = (engine.session(tools=[{"name": "a"}]) for _ in range(2))
    assert first.engine is second.engine
    assert engine.session(tools=[{"name": "b"}]).engine is not first.engine


def test_palettes_need_tools() -> None:
    here = callgate.compile("palette p { offer a }").session()
    with pytest.raises(InputError, match="needs the tools"):
        here.offer()
    assert callgate.compile("").session().offer().names is None


# What conditions see


def test_counting_calls_and_repeats() -> None:
    rules = """
    tool bash { deny "too many" when turn.calls(bash) >= 3 }
    tool read { deny "again" when turn.repeats >= 2 }
    """
    here = session(rules)
    assert [outcome(here, "bash", {"command": str(n)}, str(n)) for n in range(4)] == ["valid"] * 3 + [
        "denied"
    ]
    same = [{"path": "a"}, '{"path":"a"}', {"path": "a"}]
    assert [outcome(here, "read", each, f"r{n}") for n, each in enumerate(same)] == [
        "valid",
        "repaired",
        "denied",
    ]
    assert outcome(here, "read", {"path": "b"}, "r9") == "valid"
    here.user()
    assert outcome(here, "read", {"path": "a"}, "1") == "valid"
    assert outcome(here, "bash", {}, "2") == "valid"


def test_denied_calls_are_repeats_and_are_not_counted() -> None:
    rules = """tool bash {
      deny "no" when /command == "x"
      ask "often" when turn.repeats > 0 or turn.calls(bash) > 0
    }"""
    here = session(rules)
    assert [outcome(here, "bash", {"command": "x"}, str(n)) for n in range(2)] == ["denied"] * 2
    assert outcome(here, "bash", {"command": "y"}, "3") == "valid"
    assert outcome(here, "bash", {"command": "z"}, "4") == "asked"


def test_numbers_are_told_apart_as_they_are_written() -> None:
    here = session('tool edit { deny "again" when turn.repeats > 0 }')
    sent = [{"n": 1}, {"n": 1.0}, {"n": True}, {"n": "1"}, {"n": 2**70}, {"a": 1, "b": 2}]
    assert [outcome(here, "edit", each, str(n)) for n, each in enumerate(sent)] == ["valid"] * len(sent)
    assert outcome(here, "edit", {"b": 2, "a": 1}, "again") == "denied"


def test_after_is_a_good_result_of_an_admitted_call() -> None:
    rules = """
    tool edit { allow when after read; deny "read first" unless after read }
    tool bash { deny "read in this turn" unless after read in turn }
    tool read { deny "secret" when /path == "x" }
    """
    here = session(rules)
    assert outcome(here, "edit", {}, "1") == "denied"
    here.call("read", {"path": "x"}, call_id="2")
    here.result("2", "refused")
    here.call("read", {"path": "a"}, call_id="3")
    here.result("3", "no such file", ok=False)
    here.call("read", {"path": "b"}, call_id="4")
    here.result("4", {"isError": True, "content": []})
    assert outcome(here, "edit", {}, "5") == "denied"
    here.call("read", {"path": "c"}, call_id="6")
    here.result("6", "text")
    assert outcome(here, "edit", {}, "7") == "valid"
    assert outcome(here, "bash", {}, "8") == "valid"
    here.user()
    assert outcome(here, "edit", {}, "9") == "valid"
    assert outcome(here, "bash", {}, "10") == "denied"


def test_without_a_session_they_are_unknown() -> None:
    engine = callgate.compile('tool read { deny "x" when turn.calls(read) > 5 or after edit }', tools=TOOLS)
    assert engine.check("read", {}).outcome == "denied"
    assert engine.session().call("read", {}, call_id="1").allowed


def test_the_context_is_the_sessions_and_may_change_with_a_turn() -> None:
    here = session('tool read { deny "guest" unless context.role == "admin" }', context={"role": "admin"})
    assert outcome(here, "read", {}, "1") == "valid"
    here.user(context={"role": "guest"})
    assert outcome(here, "read", {}, "1") == "denied"


def test_steps_are_requests() -> None:
    here = session('tool read { deny "late" when turn.step > 1 }')
    here.offer()
    assert outcome(here, "read", {}, "1") == "valid"
    here.offer()
    assert outcome(here, "read", {"path": "b"}, "2") == "denied"


# Ids, and what is told twice


def test_the_same_call_again_is_the_same_call() -> None:
    here = session('tool read { deny "again" when turn.repeats > 0 or turn.calls(read) > 1 }')
    assert outcome(here, "read", {"path": "a"}, "1") == "valid"
    assert outcome(here, "read", {"path": "a"}, "1") == "valid"
    assert outcome(here, "read", {"path": "a"}, "2") == "denied"


def test_an_id_belongs_to_one_call() -> None:
    here = session()
    here.call("read", {"path": "a"}, call_id="1")
    for tool, arguments in (("read", {"path": "b"}), ("bash", {"path": "a"})):
        with pytest.raises(InputError, match="another call"):
            here.call(tool, arguments, call_id="1")


def test_the_first_result_counts() -> None:
    here = session('tool edit { deny "read first" unless after read }')
    here.call("read", {}, call_id="1")
    here.result("1", ok=False)
    here.result("1", ok=True)
    assert outcome(here, "edit", {}, "2") == "denied"


@pytest.mark.parametrize("call_id", ["", 1, None, "x" * 257, "\ud800"])
def test_ids_are_short_texts(call_id: Any) -> None:
    with pytest.raises(InputError):
        session().call("read", {}, call_id=call_id)
    with pytest.raises(InputError):
        session().result(call_id)


@pytest.mark.parametrize(
    "use",
    [
        lambda here: here.call(1, {}, call_id="1"),
        lambda here: here.call("read", {1: 2}, call_id="1"),
        lambda here: here.call("read", object(), call_id="1"),
        lambda here: here.call_text("read", {}, call_id="1"),
        lambda here: here.call("read", {}, call_id="1", stop_reason=1),
        lambda here: here.result("nobody"),
        lambda here: here.result("nobody", ok="yes"),
        lambda here: here.user(1),
        lambda here: here.user(context=[1]),
        lambda here: here.user(context={"a": object()}),
        lambda here: here.offer(provider="nobody"),
        lambda here: here.offer(provider=1),
        lambda here: here.offer(thinking="hard"),
        lambda here: here.offer(thinking=["off"]),
        lambda here: here.engine.session(1),
        lambda here: here.engine.session(model=1),
        lambda here: here.engine.session(context=1),
        lambda here: here.engine.session(state=b"{"),
        lambda here: here.engine.session(state="[]"),
        lambda here: here.engine.session(state='{"version": 1, "turn": 7}'),
        lambda here: here.engine.session(state='{"version": 2}'),
    ],
)
def test_what_is_no_argument_is_an_input_error_and_changes_nothing(use: Any) -> None:
    here = session("palette p { force read soft }")
    before = here.dump()
    with pytest.raises(InputError):
        use(here)
    assert here.dump() == before


def test_a_bad_tools_list_is_a_schema_error() -> None:
    with pytest.raises(callgate.SchemaError):
        session().offer([1])  # type: ignore[list-item]


def test_text_arguments_are_read_as_they_came() -> None:
    here = session()
    assert here.call_text("read", '{"path": "a"}', call_id="1").outcome == "valid"
    assert here.call("read", '{"path": "a"}', call_id="2").outcome == "repaired"
    assert here.call_text("read", '{"path": "a', call_id="3", stop_reason="length").code == "truncated"


# What is remembered


def test_a_session_goes_on_from_its_state_in_another_process() -> None:
    rules = """
    palette p { force read at most 3 }
    tool edit { deny "again" when turn.repeats > 0 or not after read }
    """
    here = session(rules)
    here.user("x")
    here.offer()
    here.call("read", {}, call_id="1")
    here.result("1")
    here.call("edit", {"b": 1, "a": [2.5, "ü"]}, call_id="2")
    script = f"""
import callgate
engine = callgate.compile({rules!r}, tools=dict.fromkeys(["read", "bash", "edit"]))
here = engine.session(state={here.dump()!r})
print(here.call("edit", {{"a": [2.5, "ü"], "b": 1}}, call_id="3").reason)
print(here.call("edit", {{"a": 0}}, call_id="4").outcome.value)
print(here.offer().forced, here.dump() == engine.session(state=here.dump()).dump())
"""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": ":".join(sys.path)},
        )
        assert done.stdout.split() == ["again", "valid", "None", "True"]


def test_a_newer_state_is_refused_with_what_to_do() -> None:
    state = json.loads(session().dump()) | {"version": 9}
    with pytest.raises(InputError, match="version 9; this callgate knows up to 1: update it"):
        session(state=json.dumps(state))


def test_the_state_stays_small() -> None:
    here = session('tool read { deny "again" when turn.repeats > 0 }')
    here.user()
    for number in range(5_000):
        here.call("read", {"path": str(number)}, call_id=f"call-{number:0250}")
        here.call(f"unknown-{number}", {}, call_id=f"other-{number}")
    assert len(here.dump()) < 64 * 1024
    # Whether this one was made before cannot be known any more: unknown, which is enough for a deny.
    assert outcome(here, "read", {"path": "4999"}, "again") == "denied"


def test_repeats_saturate() -> None:
    here = session('tool read { deny "stop" when turn.repeats > 64 }')
    for number in range(200):
        here.call("read", {}, call_id=str(number))
    assert json.loads(here.dump())["turn"]["repeats"].popitem()[1] == memory.REPEATS


def test_two_threads_lose_nothing() -> None:
    here = session("palette p { force read at most 100 when turn.calls(bash) < 0 }")
    here.user()

    def work(worker: int) -> None:
        for number in range(200):
            here.offer()
            here.call("read", {"path": "a"}, call_id=f"{worker}-{number}")
            here.result(f"{worker}-{number}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    turn = json.loads(here.dump())["turn"]
    assert (turn["step"], turn["counts"]) == (400, {"read": 400})


def test_a_stage_may_look_at_its_session() -> None:
    here: callgate.Session

    def look(names: tuple[str, ...], _asked: Any) -> list[str]:
        return [names[0]] if here.dump() else []

    here = session(stages=[callgate.Stage("look", look)])
    assert here.offer().names == ("read",)


# What was found by attacking it


def test_palettes_of_an_engine_without_tools_are_not_passed_over() -> None:
    here = callgate.compile("palette p { exclude shell hard }").session()
    for use in (here.offer, lambda: here.call("shell", {}, call_id="1")):
        with pytest.raises(InputError, match="needs the tools"):
            use()


@pytest.mark.parametrize("options", [{}, {"provider": "ollama"}, {"provider": "bogus"}])
def test_a_refused_offer_registers_no_tools(options: dict[str, Any]) -> None:
    forced = "read at most 9" if options else "ghost"
    rules = f"palette p {{ force {forced} when turn.step >= 2 }}"
    here = callgate.compile(rules).session(tools={"read": None})
    here.offer()
    before = here.dump()
    with pytest.raises(callgate.CallgateError):
        here.offer(tools={"read": None, "bash": None}, **options)
    assert here.dump() == before
    assert here.call("bash", {}, call_id="1").code == "unknown-tool"


def test_a_stage_that_stops_the_process_leaves_the_session_as_it_was() -> None:
    def stop(_names: tuple[str, ...], _asked: Any) -> list[str]:
        raise KeyboardInterrupt

    here = session(stages=[callgate.Stage("stop", stop)])
    before = here.dump()
    with pytest.raises(KeyboardInterrupt):
        here.offer([{"name": "other"}])
    assert here.dump() == before
    here.user()


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
def test_what_was_offered_of_other_tools_is_not_offered_of_these() -> None:
    rules = 'palette p { exclude "x*" }'
    one = callgate.compile(rules, tools={"a": None}).session()
    one.offer()
    here = callgate.compile(rules, tools={"a": None, "xb": None}).session(state=one.dump())
    assert here.call("a", {}, call_id="1").allowed
    assert here.call("xb", {}, call_id="2").code == "not_offered"


def test_a_tool_that_is_not_counted_any_more_is_unknown() -> None:
    here = callgate.compile('tool shell { deny "enough" when turn.calls(shell) >= 3 }').session()
    here.user()
    for number in range(256):
        here.call(f"x{number}", {}, call_id=str(number))
    assert here.call("shell", {}, call_id="s0").allowed  # nothing was left out yet
    assert here.call("shell", {}, call_id="s1").outcome == "denied"  # now it was


def test_long_names_are_told_apart() -> None:
    long = "t" * 256
    tools = {long: None, long + "x": None, "edit": None}
    here = callgate.compile(f'tool edit {{ deny "first" unless after "{long}" }}', tools=tools).session()
    here.call(long + "x", {}, call_id="1")
    here.result("1")
    assert outcome(here, "edit", {}, "2") == "denied"
    here.call(long, {}, call_id="3")
    here.result("3")
    assert outcome(here, "edit", {}, "4") == "valid"
    forcing = callgate.compile(f'palette p {{ force "{long}" at most 9 }}', tools=tools).session()
    forcing.offer()
    forcing.call(long + "junk", {}, call_id="1")
    forcing.result("1")
    assert forcing.offer().forced == long


def test_a_call_told_again_may_be_let_through_then() -> None:
    rules = 'palette p when turn.step == 1 { exclude bash }\ntool read { deny "first" unless after bash }'
    here = session(rules)
    here.offer()
    assert outcome(here, "bash", {}, "1") == "denied"
    here.offer()
    assert outcome(here, "bash", {}, "1") == "valid"
    here.result("1")
    assert outcome(here, "read", {}, "2") == "valid"


def test_what_came_after_a_call_plays_no_part_when_it_is_told_again() -> None:
    here = session('tool read { deny "again" when turn.repeats >= 1 or turn.calls(read) >= 2 }')
    told = [outcome(here, "read", {"path": "a"}, each) for each in ("1", "2", "1")]
    assert told == ["valid", "denied", "valid"]
    assert outcome(here, "read", {"path": "b"}, "3") == "valid"
    assert outcome(here, "read", {"path": "b"}, "3") == "valid"


def test_calls_that_cannot_be_compared_are_never_the_same() -> None:
    deep: Any = 1
    for _ in range(3_000):
        deep = [deep]
    here = session()
    here.call("edit", {"a": deep}, call_id="1")
    with pytest.raises(InputError, match="another call"):
        here.call("edit", {"a": deep}, call_id="1")


def test_a_result_that_comes_too_late_is_told_so() -> None:
    here = session()
    for number in range(memory.CALLS + 1):
        here.call("read", {"path": str(number)}, call_id=f"c{number}")
    with pytest.raises(InputError, match="not among the last 128"):
        here.result("c0")


def test_after_holds_without_registered_tools_too() -> None:
    here = callgate.compile('tool edit { deny "read first" unless after read }').session()
    assert outcome(here, "edit", {}, "1") == "denied"
    here.call("read", {}, call_id="2")
    here.result("2")
    assert outcome(here, "edit", {}, "3") == "valid"


def test_names_in_conditions_may_be_globs() -> None:
    tools = dict.fromkeys(["read_a", "read_b", "edit"])
    rules = 'tool edit { deny "x" unless after "read_*"; deny "y" when turn.calls("read_?") > 1 }'
    here = callgate.compile(rules, tools=tools).session()
    assert here.call("edit", {}, call_id="1").reason == "x"
    here.call("read_b", {}, call_id="2")
    here.result("2")
    assert outcome(here, "edit", {}, "3") == "valid"
    here.call("read_a", {}, call_id="4")
    assert here.call("edit", {}, call_id="5").reason == "y"


def test_engines_over_the_same_tools_are_one_also_from_session_to_session() -> None:
    here = session()
    tools = [{"name": "a"}]
    here.offer(tools)
    first = here.engine
    here.offer([{"name": "b"}])
    here.offer(list(tools))
    assert here.engine is first


def test_tools_that_only_look_alike_as_json_are_told_apart() -> None:
    engine = callgate.compile("")
    engine.session(tools={"a": {"enum": [1]}})
    with pytest.raises(callgate.CallgateError):
        engine.session(tools={"a": {"enum": (1,)}})


def test_no_name_of_a_model_breaks_the_state() -> None:
    here = session('tool read { deny "no" when turn.calls(read) > 9 }')
    for number, name in enumerate(["a\ud800", "😀" * 250, "x" * 5_000, "\0", ""]):
        here.call(name, {}, call_id=f"{number}-{'é' * 200}")
        here.result(f"{number}-{'é' * 200}")
    assert memory.encode(memory.decode(here.dump())) == here.dump()
    assert len(here.dump()) < 2_500


def test_the_state_stays_small_whatever_the_names_and_the_tools() -> None:
    tools = {f"tool-{number:0240}": None for number in range(3_000)}
    here = callgate.compile('palette p { offer "tool-*" }', tools=tools).session()
    here.offer()
    for number, name in enumerate(list(tools)[:1_000]):
        here.call(name, {"n": number}, call_id=f"{number:0250}")
        here.call("😀" * 250 + str(number), {}, call_id=f"x{number:0249}")
        here.result(f"{number:0250}", "ok")
    assert len(here.dump()) < 64 * 1024


@pytest.mark.parametrize("state", [5, {}, int, '{"version":1,"zz":' + "[" * 200_000, '{"version": -5}'])
def test_a_state_that_is_none(state: Any) -> None:
    with pytest.raises(InputError):
        session(state=state)


def test_negative_counts_are_no_state() -> None:
    broken = json.loads(session().dump())
    broken["turn"]["step"] = -1
    with pytest.raises(InputError):
        session(state=json.dumps(broken))


class Hostile(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("boo")


@pytest.mark.parametrize("arguments", [Hostile(a=1), {"a": Hostile(a=1)}, [{1, 2}], {"a": float("nan")}])
def test_odd_arguments_are_judged_as_without_a_session(arguments: Any) -> None:
    here = session()

    def said(use: Any) -> str:
        try:
            return str(use().outcome)
        except InputError as error:
            return str(error)

    plain = said(lambda: here.engine.check("edit", arguments))
    assert said(lambda: here.call("edit", arguments, call_id="1")) == plain


def test_what_runs_inside_of_a_verb_cannot_use_the_session() -> None:
    found: list[str] = []

    def nosy(names: tuple[str, ...], _asked: Any) -> list[str]:
        for use in (here.user, here.offer, lambda: here.call("read", {}, call_id="1")):
            with pytest.raises(InputError, match="inside"):
                use()
        found.append("asked")
        return list(names)

    here = session(stages=[callgate.Stage("nosy", nosy)])
    here.offer()
    assert (found, json.loads(here.dump())["turn"]["step"]) == (["asked"], 1)


def test_the_context_is_the_sessions_own() -> None:
    given = {"role": {"name": "guest"}}
    here = session('tool read { deny "guest" when context.role.name == "guest" }', context=given)
    given["role"]["name"] = "admin"
    assert outcome(here, "read", {}, "1") == "denied"


def test_a_palette_knows_the_model_of_its_session() -> None:
    palette = session("palette p { force read }", model="claude-opus-5-5").offer()
    with pytest.raises(callgate.ContractViolation):
        palette.to("anthropic")
    assert palette.to("anthropic", model="claude-opus-5").guarantee == "exact"


@pytest.mark.parametrize(
    ("provider", "tool", "code"),
    [("openai-agents", "mcp", "reserved_tool_name"), ("gemini", "7zip", "tool_name_syntax")],
)
def test_an_offer_to_a_provider_is_refused_for_what_the_request_would_be(
    provider: str, tool: str, code: str
) -> None:
    here = callgate.compile(f'palette p {{ force "{tool}" }}', tools={tool: None, "a": None}).session()
    with pytest.raises(callgate.ContractViolation) as caught:
        here.offer(provider=provider)
    assert caught.value.code == code


def test_no_message_tells_of_tools_that_are_not_offered() -> None:
    here = session("palette p { exclude bash hard }")
    here.offer()
    for name in ("nonsense", "bahs", "functions.nothing"):
        said = here.call(name, {}, call_id=name).retry_message or ""
        assert "There is no tool" in said
        assert "`bash`" not in said
    assert "`read`" in (here.call("nonsense", {}, call_id="again").retry_message or "")


FORKS = """
import os, signal, threading
import callgate

entered, leave = threading.Event(), threading.Event()

def prepare(*given, **named):
    entered.set()
    leave.wait(20)

session = callgate.compile("tool read { allow }", prepare={"read": prepare}).session()
session.user()
thread = threading.Thread(target=session.call, args=("read", {}), kwargs={"call_id": "0"})
thread.start()
entered.wait(20)
child = os.fork()
if child == 0:
    signal.alarm(20)
    leave.set()
    session.call("write", {}, call_id="1")
    session.dump()
    os._exit(0)
_, status = os.waitpid(child, 0)
leave.set()
thread.join()
print(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_that_forks_during_a_verb_goes_on_with_its_session() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
