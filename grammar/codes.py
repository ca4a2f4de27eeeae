"""Every diagnostic code: its severity, its title, and the page that `callgate explain CODE` shows.

G0 text and shape, G1 names, G2 clauses and values, G3 conditions, G4 tests, G5 packs and files,
G6 palettes and grounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from .diagnostics import Severity


class Code(Struct, frozen=True):
    """`explanation`: what it means, an example that gives it, and the fix; a few sentences of Markdown."""

    title: str
    explanation: str
    severity: Severity = Severity.ERROR


CODES: Mapping[str, Code] = MappingProxyType(
    {
        "G001": Code(
            "unexpected character",
            "A character that begins nothing in the language, such as `@` or a no-break space: `tool "
            'my@tool`. Names and segments of selectors with other characters are quoted: `tool "my@tool"`, '
            '`/"a:b"`.',
        ),
        "G002": Code(
            "control character",
            "A character that no editor shows, such as NUL, stands in the file. Remove it; in a text between "
            r'double quotes write it as an escape, `"\u0000"`.',
        ),
        "G003": Code(
            "tab in the indentation",
            "Indentation says where a statement goes on, and how wide a tab is depends on who looks. "
            "Indent with two blanks for each level; `callgate fmt` does.",
        ),
        "G004": Code(
            "text not closed",
            'A quoted text ends on the line that it begins on: `note "Send an array`. Add the quote; a line '
            r"end inside a text between double quotes is `\n`.",
        ),
        "G005": Code(
            "block not closed",
            "A `{` has no `}`. The indentation tells which one is meant, so write the `}` under the "
            "beginning of the line that opens the block.",
        ),
        "G006": Code(
            "bracket not closed",
            "A `(`, `[` or the `{` of a JSON value is never closed: `when (/a == 1 or /b == 2`. Add what "
            "closes it.",
        ),
        "G007": Code(
            "bracket that closes nothing",
            "A `)`, `]` or `}` has nothing to close, or closes something else: `in [1, 2)`. Remove or "
            "correct it.",
        ),
        "G008": Code(
            "characters of a text",
            r'Between double quotes stand the escapes of JSON only: `"C:\dir"` is `"C:\\dir"` or `'
            r"'C:\dir'`. "
            r"Half of a character (`\ud800` alone) and raw control characters are refused.",
        ),
        "G009": Code(
            "backslash in a pattern",
            r'A pattern between double quotes is unescaped twice, by JSON and as an expression: `"\bfoo"` '
            r"would be a backspace. Write it raw: `matches '\bfoo'`. A quote in a raw pattern is `\x27`.",
        ),
        "G010": Code(
            "number",
            "Numbers are those of JSON and are kept exactly: `007`, `+1`, `1e999` and more digits than a "
            "double keeps are refused, as are integers of more than 640 digits. A name that begins with a "
            'digit is quoted: `tool "7zip"`.',
        ),
        "G011": Code("day", "There is no such day: `until 2026-02-30`. Days are written `YYYY-MM-DD`."),
        "G012": Code(
            "selector",
            'A selector cannot be read. `/` alone may mean the whole value, `""`, or the field with the '
            'empty name, `/""`; an empty segment inside is written `/a/""/b`. `~` is `~0`, `/` in a key '
            "`~1`.",
        ),
        "G013": Code(
            "name",
            "A bare name is made of `A-Z a-z 0-9 _ - .`, begins with a letter or `_` and ends with one or a "
            'digit. Every other name is quoted: `"search_*"`, `"größe"`.',
        ),
        "G014": Code(
            "word of the language as a name",
            "`for when unless note named from and or not in any every present missing after true false null` "
            'are no bare names: `offer after`. Quoted they are names like others: `offer "after"`.',
        ),
        "G015": Code(
            "duplicate key",
            'A JSON object has a key twice: `{"a": 1, "a": 2}`. Readers differ in which one they keep. '
            "Remove one.",
        ),
        "G016": Code(
            "not JSON",
            "Values in brackets are JSON: texts in double quotes, no comma before `]` or `}`, no `NaN`, no "
            'names: `["a", "b"]`, `{"a": 1}`.',
        ),
        "G017": Code(
            "nested too deep",
            "Blocks, JSON values and conditions nest at most 64 levels deep. What needs more is better said "
            "in parts.",
        ),
        "G018": Code(
            "no statement",
            "A statement begins with its word: `alias`, `tool`. A line that belongs to the statement above, "
            "such as one with its `when`, is indented deeper than that statement's first line.",
        ),
        "G019": Code(
            "statement indented deeper",
            "A line that begins with a statement word begins a statement, even where its indentation looks "
            "as if the one above went on. Give both the same indentation; `callgate fmt` does.",
            Severity.WARNING,
        ),
        "G020": Code(
            "something after a block",
            'After its block a statement has suffixes only: `} note "…"`, `} named x`. Begin the next '
            "statement on a line of its own, or after `;`.",
        ),
        "G021": Code(
            "suffix twice",
            "`for`, `when` or `unless`, `note`, `named` and the block stand at most once on a statement. "
            "Two conditions are joined with `and`; two families with a comma.",
        ),
        "G022": Code(
            "unexpected",
            "Something cannot stand where it does, or is missing: `present 5`, `alias /a from,`. The message "
            "says what could. Clauses stand before the suffixes.",
        ),
        "G029": Code(
            "more findings",
            "Of what is wrong with the form of a file (`G0…`) at most 100 findings are shown; the last one "
            "counts the rest. Most of them often have one cause.",
        ),
        "G031": Code(
            "`and` mixed with `or`",
            "`a or b and c` means `a or (b and c)`, and is often meant otherwise. Write the parentheses.",
            Severity.WARNING,
        ),
        "G032": Code(
            "unknown operator",
            "Tests are written with `==` `!=` `<` `<=` `>` `>=` `in` `is` `matches` `fullmatches` `under` "
            "`starts-with` `ends-with` `contains`; `not` may stand before those that are words. "
            '`/a = 1` is `/a == 1`, `/a startswith "x"` is `/a starts-with "x"`.',
        ),
        "G033": Code(
            "selector after `under`",
            "`under` takes a path, which is quoted, or the name of a `let`: `/path under /repo` would "
            'compare with the field `repo`. Write `/path under "/repo"`.',
        ),
        "G034": Code(
            "quoted selector in a condition",
            'In conditions quoted text is always a value: `present "/a"` is `present /a`. '
            'A segment with other characters is quoted alone: `present /"my key"`.',
        ),
        "G101": Code(
            "unknown kind",
            "No kind of rule has this name. The rule is inert: it changes nothing and claims nothing. "
            "Within two edits of `allow`, `ask`, `deny`, `bound`, `root` or `rename`, or written "
            "`forbid`, `block`, `reject`, `permit`, `confirm` or `require`, it is an error everywhere: "
            "somebody counts on it. Correct the word, or say with `requires callgate` which version knows"
            " it.",
        ),
        "G102": Code(
            "statement out of place",
            "The word begins no statement at this place: `pack` inside a `tool` block, `alias` outside "
            "one, or a word that the language does not have. Move it to where it stands, or correct it.",
        ),
        "G103": Code(
            "items of a statement",
            "What follows the word of a statement is not what it wants: `pack kimi` without a version, "
            "`use` with two names. The help shows how it is written.",
        ),
        "G104": Code(
            "unknown field",
            "A selector names a field that the tool's schema does not have. Write the field as the schema "
            "spells it; the nearest one is proposed. Where the schema is open on purpose, declare the field. "
            "A text or a number has no fields, and an array only items: `*` stands for each of them, as in "
            '`any /edits/*/path == "x"`.',
        ),
        "G110": Code(
            "not in force yet",
            "The statement is read and its form is checked, but it has no effect in this version. Nothing"
            " needs to be done.",
            Severity.NOTE,
        ),
        "G201": Code(
            "unknown clause",
            "The kind has no clause of this name, as in `alias /path form a` for `from`. Correct the "
            "word; `callgate explain` and the docs list the clauses of each kind. A name that is meant as"
            " a value is quoted.",
        ),
        "G202": Code(
            "clause twice",
            "A clause stands twice in one rule. Join the values with commas, or write two rules.",
        ),
        "G203": Code(
            "selector",
            "The rule lacks its selector, has one where its kind takes none, or has more than one. Write "
            '`/field`, a quoted whole pointer such as `"/my key/x"`, or `""` for the whole value.',
        ),
        "G204": Code(
            "clause missing",
            "The kind cannot work without this clause: `alias /path` does not say which names to move. "
            "Add it as the help shows.",
        ),
        "G205": Code(
            "value of a clause",
            "The value of a clause is not of the type, or not one of the words, that it takes: `scalar /x"
            " as date`. The help lists what it takes.",
        ),
        "G206": Code(
            "title",
            "The quoted text in front is missing, empty, or stands where none belongs: `structural` needs"
            " an ID, `default deny` a reason.",
        ),
        "G207": Code(
            "something left over",
            "A rule has more items than its kind takes. Take them away, or quote a name with a blank in it.",
        ),
        "G208": Code(
            "never fires",
            "The kind works only for the models that `for` names, and the rule names none. Add `for "
            "FAMILY, …` with families or quoted regular expressions.",
            Severity.WARNING,
        ),
        "G209": Code(
            "regular expression",
            "The expression does not compile. Rule files use RE2, which runs in linear time: look-around "
            "and back-references do not exist in it, and repetitions are at most 1,000.",
        ),
        "G210": Code(
            "suffix out of place",
            "The statement takes no `for`, `when`, `note`, `named` or `shadow`: `let x = 1 when tool == "
            '"t"`. A rule about names or settings takes no condition, since there are no arguments to '
            "test yet.",
        ),
        "G211": Code(
            "block",
            "A block `{ … }` is missing, or stands where the statement has none.",
        ),
        "G220": Code(
            "alias",
            "An alias that cannot work: the canonical name among its own aliases, or one listed twice.",
        ),
        "G221": Code(
            "alias of a declared field",
            "A listed name is a property of its own in the tool's schema. It means something else there "
            "and is never moved. Leave it out of `from`.",
            Severity.WARNING,
        ),
        "G222": Code(
            "step",
            "A step of a `structural` block that can never be applied, or is not written as a step is: "
            "`move /a to /b`, `set /a JSON`, `wrap /a`. The whole rule does nothing where one step cannot"
            " be applied.",
        ),
        "G223": Code(
            "unknown function",
            "`structural … call NAME` names a function that the owner of the engine did not register. The"
            " rule does nothing until it is. A command that loads a deployment runs no test that needs one.",
            Severity.WARNING,
        ),
        "G224": Code(
            "bound",
            "A bound admits an integer (`integer LOW..HIGH`) or a boolean (`boolean`, or `boolean "
            "lowercase`), and one of them only.",
        ),
        "G225": Code(
            "selector that the kind cannot use",
            "The selector points at the whole value, or at every item of an array, where the kind needs "
            "one field.",
        ),
        "G226": Code(
            "not what the schema says",
            "The schema does not take at this place what the rule is for, so the rule can do nothing "
            "useful: `scalar /x as number` on a text. Take the rule away, or name the right type.",
            Severity.WARNING,
        ),
        "G227": Code(
            "names of a rename",
            "A name in `rename from` fits every name, stands twice, or is longer than 256 characters.",
        ),
        "G228": Code(
            "schema file",
            "The file of a `schema` rule is named relative to the rule file, inside the folder of its "
            "pack: no absolute path, no drive, no `..`.",
        ),
        "G401": Code(
            "test",
            "A test holds `call JSON` and after it `expect …`; `model`, `policy`, `context`, `tools` and "
            "`stop` stand at most once.",
        ),
        "G402": Code(
            "test that fails",
            "What became of the call is not what the `expect` below it says: the message names the first "
            "difference, and the lines below show what came out. Mend the rules or the test; a pack whose "
            "tests fail is not put in force. An `expect` that is not written as it should be has this code "
            "too: `expect valid` takes nothing more, `expect repaired JSON [by RULE, …]` the arguments, "
            "`unrepairable`, `denied` and `asked` a quoted part of the message.",
        ),
        "G501": Code(
            "version",
            "The version of a pack is a whole semantic version, such as `1.2.0` or `2.0.0-rc.1`.",
        ),
        "G502": Code(
            "version range",
            "A range of versions is written as in `>=1.0,<2`, `^1.2` or `==1.4.0`.",
        ),
        "G301": Code(
            "many places where one is meant",
            "A selector with `*` is many places, so a test on it needs `any` (one is enough) or "
            '`every` (all must): `deny "…" when any /edits/*/path under "/etc"`.',
        ),
        "G302": Code(
            "nothing to be relative to",
            "`./x` is relative to the item that `any` or `every` looks at, and stands only inside "
            'their parentheses: `any /edits/* (./path under "/etc")`. Elsewhere write the place from '
            "the root, `/x`.",
        ),
        "G303": Code(
            "`any` or `every` without `*`",
            '`any` and `every` visit what a `*` stands for. Write `any /tags/* == "x"` for the items '
            "of the array at `/tags`; for a test on the array itself leave the word out: `/tags "
            'contains "x"`.',
        ),
        "G304": Code(
            "unknown name in a condition",
            "The name is none of the language's and no `let` gives it. A text needs quotes; what the "
            "host gives is `context.NAME`.",
        ),
        "G305": Code(
            "unknown function, or other arguments",
            'The functions are `count(SEL)`, `length(SEL)`, `turn.calls(TOOL)` and `runs(SEL, "PROGRAM")`.',
        ),
        "G306": Code(
            "unknown type",
            "After `is` stands a JSON type, without quotes: `string`, `number`, `integer`, `boolean`, "
            "`array`, `object` or `null`. `1.0` is an integer, `true` is no number.",
        ),
        "G307": Code(
            "`in` takes a list",
            'Write the values in brackets, `/mode in ["fast", "safe"]`, or name a `let` that is a '
            'list. To look into an array of the call, turn the test round: `/tags contains "x"`.',
        ),
        "G308": Code(
            "a pattern that cannot be used",
            "Patterns are RE2, which matches in linear time; look-around and back-references are not "
            "in it. Split such a pattern into two tests: `/x matches 'a' and /x not matches 'b'`.",
        ),
        "G309": Code(
            "no path after `under`",
            '`under` takes a quoted path or a `let` that is one: `/path under "/repo"`. The path '
            "itself must be plain: no scheme, no `~`, no encoded dot or slash, no name that Windows "
            "reads in its own way.",
        ),
        "G310": Code(
            "a test that types decide",
            "What is compared can never be equal, has no order, or is not what the test is for, so "
            "the answer is the same for every call that fits the schema. Compare with a value of the "
            "type that the schema gives the place, or with one that it lists.",
            Severity.WARNING,
        ),
        "G311": Code(
            "an `allow` with an open pattern",
            "`matches` finds its pattern anywhere in the text, so what stands around it is allowed "
            "too: `'git status'` also fits `git status; rm -rf /`. Use `fullmatches`, or anchor both "
            "ends of each side.",
            Severity.WARNING,
        ),
        "G312": Code(
            "unknown test",
            "The tests are `==` `!=` `<` `<=` `>` `>=`, `in`, `contains`, `is`, `starts-with`, "
            "`ends-with`, `matches`, `fullmatches` and `under`.",
        ),
        "G313": Code(
            "a text is wanted",
            "`starts-with`, `ends-with`, `matches`, `fullmatches` and `contains` do not take a "
            'selector: text is quoted, `/path starts-with "/etc"`, or the name of a `let`.',
        ),
        "G314": Code(
            "a result where there is none",
            "`result.…` is known where a `signal` of a `ground` block asks for it. In a rule of a tool "
            "the call has not run yet, so the test is unknown in every call. A `deny` or an `ask` takes "
            "effect on unknown: where the test decides, it fires on every call. An `allow`, and every "
            "rule that repairs, takes effect on true alone: there it never fires. Take the test away.",
            Severity.WARNING,
        ),
        "G315": Code(
            "no call to look at",
            "The condition of a `palette`, of a `force` in it, or of a `require` is asked while there is "
            "no call: no arguments, no tool and no result yet. It can look at `context.…`, `model`, "
            "`turn.step`, `turn.calls(TOOL)` and `after TOOL`.",
        ),
        "G601": Code(
            "a palette that cannot be honoured",
            "A tool is forced and, by a `hard` filter, never offered; or two tools are forced at once. Every "
            "request would be refused before the model is asked. Give one of the two a `when`, or take it "
            "away.",
        ),
        "G602": Code(
            "two `offer` in one palette",
            "Each `offer` narrows what the one before left: `offer a` and below it `offer b` offers nothing. "
            "To offer both write `offer a, b`.",
            Severity.WARNING,
        ),
        "G603": Code(
            "a `force` that says no one thing",
            "`force TOOL [once | until success] [at most N] [soft]` names one tool by its whole name, no "
            "glob; `once` and `until success` exclude each other; `N` is a whole number from 1 to 100.",
        ),
        "G604": Code(
            "a word of the language as a tool's name",
            "`exclude a, hard` drops two tools, one of which is called `hard`. What makes a filter hard "
            'stands without a comma: `exclude a hard`. A tool of this name is quoted: `exclude a, "hard"`.',
            Severity.WARNING,
        ),
        "G605": Code(
            "a preset that cannot hold",
            "`preset NAME { cap 6 refill 2 strict }` says how many steps of thinking there are without "
            "looking (`cap`) and how many a look gives back (`refill`): whole numbers with 1 <= refill < "
            "cap.",
        ),
        "G606": Code(
            "a signal that nothing gives",
            "`require NAME before completion` needs a `signal NAME from TOOL`, or no completion is ever let "
            "out. The signals of all files and packs are looked through, and the nearest name is proposed.",
            Severity.WARNING,
        ),
        "G607": Code(
            "a signal that looks at two things at once",
            "The condition of a `signal` is asked in two parts: what looks at the call when it is made, "
            "and what looks at the result when it comes. Join them with `and`; each part looks at one of "
            "the two.",
        ),
        "G608": Code(
            "more signals than can be kept",
            "A session has room for 64 `signal` statements with names of up to 64 letters, so that its state "
            "stays small. Say with `or` in one condition what several statements of one name say.",
        ),
        "G701": Code(
            "no settings",
            "A deployment file is a YAML mapping of settings, each once. Correct the place that is shown.",
        ),
        "G702": Code(
            "unknown setting",
            "A deployment file has a setting that there is not; the nearest one is proposed, and "
            "`docs/deployments.md` lists them.",
        ),
        "G703": Code(
            "setting missing",
            "A deployment states its `default`: what becomes of calls that no `allow` and no `ask` fits. "
            "A `log` says where it goes, in `to`.",
        ),
        "G704": Code(
            "wrong value of a setting",
            "The setting wants a value of another type, or one from a list. The message says which.",
        ),
        "G705": Code(
            "environment variable",
            "`${NAME}` needs a variable of this name in the environment; `${NAME:-default}` does not. "
            "Nothing else is expanded, and values alone are: names are written as they are meant.",
        ),
        "G706": Code(
            "a file of a deployment",
            "A deployment file, or a file or pattern that it names, is not there or cannot be read. Paths in "
            "it are relative to its folder.",
        ),
        "G105": Code(
            "said twice",
            "A name is given twice in one file: two `family`, `let` or `default` statements for the "
            "same thing. Keep one.",
        ),
        "G106": Code(
            "unknown family",
            "`for` names a family that the file does not define: `for kimi` without `family kimi "
            "matches '…'`. Define it, write `pack/family` for the one of a used pack, or quote a "
            "regular expression.",
        ),
        "G107": Code(
            "disable names no rule",
            '`disable NAME because "…"` fits no rule that it may switch off. At file level it reaches '
            "the rules of used packs and the built-in ones (`repair.…`, `envelope.…`); in a tool block "
            "also the file's own rules for that tool. A rule of the file itself is taken away instead.",
        ),
        "G108": Code(
            "expired disable",
            "The day of `disable … until DATE` is past (UTC). `check` fails, and a running engine keeps"
            " the rule off and says so. Take the statement away, or give a later day and say why.",
        ),
        "G109": Code(
            "disable ends soon",
            "The day of `disable … until DATE` is less than 14 days ahead.",
            Severity.WARNING,
        ),
        "G111": Code(
            "unknown tool",
            "A tool block, a palette or a `ground` block names a tool that is not among the tools given, so "
            "what is said of it never applies. The nearest name is proposed.",
            Severity.WARNING,
        ),
        "G403": Code(
            "unusable test",
            "A test cannot be run: no tool is named, or its `tools` file cannot be used. In a block of "
            "one tool `call {…}` is enough; elsewhere write `call TOOL {…}`.",
        ),
        "G503": Code(
            "pack stands first",
            '`pack NAME "VERSION"` is the first statement of a file, and stands once. In a folder of '
            "packs, and in a folder that becomes a wheel, every file has it.",
        ),
        "G504": Code(
            "only at the top",
            "`policy` and `default` belong to the deployment or to the top rule file: a pack that is "
            "used cannot set them.",
        ),
        "G505": Code(
            "unreadable file",
            "A file that a rule names cannot be read. Files are looked up relative to the rule file and"
            " never outside its folder.",
        ),
        "G506": Code(
            "unusable schema",
            "The document is no JSON Schema that can be used: it does not fit the draft, or a `$ref` "
            "leads outside it. Nothing is fetched or read.",
        ),
        "G507": Code("other version", '`requires callgate "SPEC"` does not admit this version.'),
        "G508": Code(
            "loop of packs", "Packs `use` each other in a loop, which the message shows. Take one `use` away."
        ),
        "G509": Code(
            "no such pack",
            "There is no pack of this name among those that the caller named, in the folder of the file "
            "that uses it, installed, or shipped. The help names the nearest one. A path (`./kimi.gate`, "
            "`./packs`) has a `/` in it or ends in `.gate`; all else is a name.",
        ),
        "G510": Code(
            "version out of range",
            'The pack that `use NAME "SPEC"` or `NAME@SPEC` finds has another version. The message says '
            "which is there and which is wanted, the help where it is. The first pack of a name that is "
            "found counts; no other is looked for because of its version.",
        ),
        "G511": Code(
            "two packs of one name",
            "One name leads to two packs with different texts: two installed distributions offer it, two "
            "named folders hold it, or rule files in two folders each have one beside them. Which one "
            "counted would be chance. Keep one, rename one, or name the one that is meant by its path; "
            "packs that are named come before all others.",
        ),
        "G512": Code(
            "pack of another name",
            "A file is found under one name and says another: `kimi.gate` begins with `pack kimi-k2 …`. A"
            " pack is called what its file is called. Rename the one or the other.",
        ),
        "G513": Code(
            "changed since it was locked",
            "The bytes of a file are not those that `callgate.lock` holds. Look at what changed; if it is"
            " meant, run `callgate lock`.",
        ),
        "G514": Code(
            "not in the lock",
            "A file is to be read that `callgate.lock` does not hold: it came after the lock was written,"
            " or is found before the one that was locked. Take it away, or run `callgate lock` if it is "
            "meant.",
        ),
        "G515": Code(
            "in the lock and not read",
            "`callgate.lock` holds a file that is not read any more: it is gone, or nothing names it. Put"
            " it back, or run `callgate lock` if it is meant.",
        ),
        "G516": Code(
            "other version than locked",
            "A pack has another name or version than `callgate.lock` holds. Put the locked version back, "
            "or run `callgate lock` if the change is meant.",
        ),
        "G517": Code(
            "unusable lock",
            "`callgate.lock` cannot be read: it is not there, is damaged, or was written by a newer "
            "callgate; or an older one wrote it, and did not say which files are no rule files. "
            "`callgate lock` writes it anew.",
        ),
        "G112": Code(
            "pattern without linear time",
            "A `pattern` in the tool's schema has look-around or back-references, which the linear engine "
            "does not run. A bounded engine runs it; a text that takes it too many steps counts as invalid.",
            Severity.WARNING,
        ),
        "G113": Code(
            "rename of a registered tool",
            "`rename from NAME` names a tool that is registered. A registered name always means itself, so "
            "the rule never applies to it. Leave the name out.",
            Severity.WARNING,
        ),
        "G114": Code(
            "value without a `let`",
            "The host gives a value for a name that no `let` of the files has, so nothing would use it. "
            "Write `let NAME = …` in the rule file, or correct the name.",
        ),
    }
)
