"""The pages of what has none of its own: built-in rules, codes of refused calls, the words of rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# What changes a call without being written in a rule file; `docs/pipeline.md` has them in their order.
BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "envelope.empty": "Blank text or null becomes `{}`, where `{}` passes the schema.",
        "envelope.decode-json": (
            "JSON text inside JSON text is read: three readings at most, one change for each. The "
            "model sent the arguments in quotes."
        ),
        "envelope.duplicate-key": (
            "A key that stands twice with equal values counts once. With two values the call is "
            "refused (`duplicate-key`)."
        ),
        "envelope.control-characters": (
            "Raw line ends and tabs inside a JSON string are read as what they are; a line end that is "
            "written as `\\n` between two tokens counts as white space."
        ),
        "envelope.fence": "The marks of a code fence, and its language word, around the arguments go.",
        "envelope.surroundings": (
            "Special tokens, closing tags and words of a short list (`done`, `Here is the call:`) before "
            "or after exactly one object go. `surroundings` statements add to the list. Other words mean "
            "that the call is refused."
        ),
        "envelope.commas": "A comma before a closing bracket goes, and of two in a row one.",
        "envelope.literals": "`True`, `False` and `None` are `true`, `false` and `null`.",
        "envelope.quotes": (
            "Single and typographic quotes, and tokens that a `quote-token` statement names, are double "
            "quotes, where the end of the text is certain."
        ),
        "envelope.keys": "A key without quotes, or with one of them lost, is a key.",
        "envelope.bare-value": (
            "A word without quotes that equals one of the values that the schema lists for its place is "
            "that value."
        ),
        "envelope.braces": "A second pair of braces around the object goes, or one closing brace too many.",
        "envelope.comments": "Comments inside the object go.",
        "envelope.repeated": (
            "The same object again counts once. Different objects are several calls, and refused "
            "(`several-calls`)."
        ),
        "envelope.escapes": (
            "A backslash that begins no escape of JSON is a backslash; in a text that begins as a drive "
            "or UNC path and has such a one, every backslash is."
        ),
        "envelope.xml": "XML elements, one for each property of the schema, are the object of their texts.",
        "envelope.complete": (
            "Text that was cut right after a complete value is closed, if the whole then passes the "
            "schema. Not under `policy conservative`, nor when the answer stopped in a way that is "
            "not known as normal."
        ),
        "envelope.unwrap-array": "A list around one object goes, where an object is wanted.",
        "envelope.unwrap-object": (
            "`arguments`, `parameters`, `input`, `args`, `params` or `result` around the arguments "
            "goes, if it is no field of the schema and what is inside passes. So does a whole call "
            "with this tool's name."
        ),
        "repair.alias": (
            "A required field is missing, and an `alias` rule of the tool reaches it: the key is moved there."
        ),
        "repair.drop-null": (
            "Null, or the words `null`, `None` or empty text, at a field that is optional and "
            "refuses it: the field is left out. Text is not left out on a tool that is known to "
            "change things, `droppable` fields aside, and a key of a free map never is."
        ),
        "repair.drop-empty-object": ("`{}` at an optional field that wants a list: the field is left out."),
        "repair.parse-json": ("Text where a list or an object is wanted, which is JSON for one, is read."),
        "repair.parse-scalar": (
            'Text that is canonical JSON for the one scalar type that is wanted (`"5"`, `"true"`; '
            '`True`, `False` and `None` too) becomes that value. `"5.7"` is no integer, and `+7`, '
            "`07` and `1e3` are left alone."
        ),
        "repair.scalar-to-text": (
            "An integer or a boolean where only text is wanted becomes its JSON text. Floats do "
            "not. Not under `policy conservative`."
        ),
        "repair.wrap-array": (
            "One line of text, or an object, where a list of such is wanted becomes a list of one. "
            "Text that looks like JSON, a list or markup is left alone."
        ),
        "repair.unwrap-array": (
            'A list of one, or `{"item": …}`, where its item or a list is wanted becomes the item, '
            "or the list."
        ),
        "repair.enum-case": (
            "Text that is exactly one allowed value but for case and the space around it becomes "
            "that value. Not under `policy conservative`."
        ),
        "repair.wrap-root": (
            "Bare text that is no JSON, for a tool with a `root` rule, goes where that rule says."
        ),
        "name.trim": "White space and quotes around the tool's name go.",
        "name.cut": (
            "What follows `<|`, `</`, `[ARGS]` or `[TOOL_CALLS]` in the name goes, unless arguments "
            "stand there."
        ),
        "name.prefix": "A leading `functions.`, `tools.` or `default_api.` goes.",
        "name.index": "A trailing `:0` goes, with any number.",
        "name.twice": "A name that is written twice in a row is one name.",
        "name.server": (
            "`mcp__SERVER__` in front goes if the rest is a registered name, or is added if one "
            "registered name then fits. Another server's tool is another tool."
        ),
        "name.spelling": ("Case, `-`, `_` and CamelCase do not count, if one registered name then fits."),
        "prepare": "The function of the tool's owner that the host registered changed the arguments.",
    }
)

# The codes of `unrepairable`; `docs/verdict.md` lists them.
CODES_OF_CALLS: Mapping[str, str] = MappingProxyType(
    {
        "schema": (
            "The call does not fit the tool's schema, or is no object. The verdict's `issues` say where."
        ),
        "not-json": "The arguments are text that is no JSON.",
        "truncated": (
            "The arguments were cut off before their end. Half a command is another command, so "
            "only what was cut right after a complete value is completed (`envelope.complete`)."
        ),
        "several-calls": (
            "The arguments are several objects: several calls. The model should send one call for each."
        ),
        "duplicate-key": "A key stands twice with two values, and it cannot be told which was meant.",
        "number": (
            "A number is not finite, or cannot be kept exactly: `NaN`, `1e999`, more digits than a "
            "double keeps."
        ),
        "surrogate": "A text or a name holds half of a surrogate pair, which is no text.",
        "swallowed-parameter": (
            "A field's value holds the markup of another field, which would be lost if the value "
            "were taken as text."
        ),
        "lost-arguments": (
            "The tool's name holds arguments or their markup, or a value is nothing but markup: "
            "what the model sent is not where it belongs."
        ),
        "not_offered": (
            "The call is for a tool that the request of its session did not offer. `docs/palettes.md` says "
            "how palettes are made."
        ),
        "unknown-tool": (
            "No registered tool has this name. The nearest name is proposed to the model and never taken."
        ),
        "limit": (
            "The arguments are too large, nested too deep, or encoded too often. "
            "`docs/limits-and-refusals.md` has the numbers."
        ),
        "hook": "A function of the tool's owner failed, so nothing was changed.",
        "not-settled": (
            "A changed call runs through the rules once more and must come out unchanged; the rule "
            "that the message names would change it again. Such a rule is a mistake, or the value "
            "was encoded twice."
        ),
    }
)

# The words that may follow a rule, and those of its conditions; `docs/language.md`, `docs/conditions.md`.
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "shadow": (
            "`shadow RULE`: the rule is judged and reported, and nothing comes of it. The verdict's "
            "observations say what it would have done."
        ),
        "for": "`RULE for FAMILY, …`: only for these models, by the family's name or a quoted pattern.",
        "when": "`RULE when CONDITION`: only for the calls of which the condition is true.",
        "unless": "`RULE unless CONDITION`: the same as `when not (CONDITION)`.",
        "note": '`RULE note "TEXT"`: what the model is told, instead of the kind\'s own words.',
        "named": "`RULE named NAME`: the rule's name in verdicts, instead of the one that is made.",
        "from": "The clause of a kind that names where something comes from: `alias /path from file_path`.",
        "and": "`A and B`: both are true. It binds tighter than `or`.",
        "or": "`A or B`: one of them is true.",
        "not": "`not A`; before `in`, `matches` and the other words it is the same as `not (…)`.",
        "in": '`A in [1, "x"]`, `A in NAME`: A equals one of the values. `in turn`: see `after`.',
        "any": "`any /a/* == 1`: the test is true of one item.",
        "every": "`every /a/* is string`: the test is true of every item.",
        "present": "`present /a`: the place is there; `null` is there.",
        "missing": "`missing /a`: the place is not there.",
        "after": (
            "`after TOOL [in turn]`: a call of the tool was let through and a good result came, in this "
            "session or in this turn. Unknown without a session."
        ),
        "true": "The value of JSON.",
        "false": "The value of JSON.",
        "null": "The value of JSON.",
        "contains": "`A contains B`: the text A has the text B in it, or the array A has an item equal to B.",
        "starts-with": '`A starts-with "x"`: the text A begins so.',
        "ends-with": '`A ends-with "x"`: the text A ends so.',
        "matches": "`A matches RE`: the pattern is found in the text A.",
        "fullmatches": "`A fullmatches RE`: the pattern is the whole text A.",
        "under": '`A under "/repo"`: the path A is that folder or inside it. The disk is not looked at.',
        "is": "`A is TYPE`: of `string number integer boolean array object null`.",
        "count": "`count(/a)`: how many items or keys the array or object has.",
        "length": "`length(/a)`: how many code points the text has.",
        "runs": (
            '`runs(/command, "PROGRAM")`: the text is one simple shell command that runs the program. False '
            "for another one, unknown where the text cannot be read; `docs/shell.md` says more."
        ),
        "tool": "In a condition: the name of the tool that is called.",
        "model": "In a condition: the id of the model; unknown where the host gave none.",
        "context": "In a condition `context.NAME`: what the host gave under that name; else unknown.",
        "turn.step": "Requests so far in this turn, with this one. Unknown without a session.",
        "turn.calls": (
            "`turn.calls(TOOL)`: calls of the tool in this turn that were let through or asked about. "
            "Unknown without a session."
        ),
        "turn.repeats": (
            "Calls before this one in this turn with the same name and arguments. Unknown without a session."
        ),
        "result.ok": "In a `signal`: whether the result is good.",
        "result.text": "In a `signal`: the text of the result.",
        "result.exit_code": "In a `signal`: the whole number under `exit_code` in the result.",
    }
)
