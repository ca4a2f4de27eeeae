"""The control set: well-formed calls of many tools and contents, which nothing may touch.

Every call is a tool, a place for a text in a call of it, and one of the texts below; the calls whose point
is their shape stand in `shapes`. A call is well-formed when a reasonable reader of the tool's schema would
say that the model meant exactly this.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

Json = Any

CODE = {
    "python": 'def greet(name: str) -> str:\n    """Say hello."""\n    return f"Hello, {name!r}\\n"\n',
    "python-dict": "settings = {'debug': True, 'level': None, \"path\": r'C:\\temp',}  # trailing comma\n",
    "javascript": "const f = (a, b = {x: 1,}) => `${a}\\n` + b?.x; // \"q\"\nexport {f, 'g': /^a$/gi};\n",
    "typescript": 'type Reply<T> = { ok: true; value: T } | { ok: false; why: "none" };\nlet x = <any>y!;\n',
    "jsx": '<List items={rows.map(r => <Row key={r.id} {...r} />)} title="a &amp; b">{`n = ${n}`}</List>\n',
    "go": 'func main() {\n\tif err := f(); err != nil {\n\t\tlog.Printf("%q\\n", err)\n\t}\n\tc <- 1\n}\n',
    "rust": 'fn main() { let v: Vec<&\'static str> = vec![r#"a"b"#]; println!("{:?} {{}}", v); }\n',
    "c": "#include <a.h>\nint main(void) { char c = '\\0'; printf(\"%d\\n\", c && 1 << 2); /* done */ }\n",
    "java": 'Map<String, List<Integer>> m = new HashMap<>();\nm.put("k", List.of(1, 2,3)); // ok\n',
    "ruby": 'h = { :a => 1, "b" => nil }\nputs "#{h[:a]} done" unless h.empty?\n',
    "perl": 'my %h = (a => undef); $s =~ s/^\\s+|\\s+$//g; print "$_\\n" for sort keys %h;\n',
    "php": "<?php if ($a <=> $b) { echo \"{$row['id']}\\n\"; } ?>\n",
    "haskell": 'main = mapM_ (\\x -> putStrLn $ "> " ++ x) ["a", "b"] -- {- not this -}\n',
    "css": 'a[href^="http"]::after { content: "\\201C"; color: #fff } /* ok */\n',
    "make": "all: a.o\n\t$(CC) -o $@ $^ && echo 'done'\n",
    "yaml": "on: [push]\nenv:\n  A: 'it''s'\n  B: \"x: y\"\n  C: ~\n",
    "toml": "[tool.x]\npaths = ['C:\\temp', \"a\\tb\"]\nn = 1_000\n",
    "dockerfile": 'FROM a:1 AS b\nRUN set -e; \\\n    make\nCMD ["sh", "-c", "echo $HOME"]\n',
    "assembly": "mov rax, [rbx+8] ; done\njmp .L1\n",
    "latex": "\\begin{tabular}{l|r} a & b \\\\ \\hline \\end{tabular} % 100\\%\n",
}

JSON_TEXTS = {
    "object": '{"a": 1, "b": [true, null, "x"]}',
    "array": '["a", "b"]',
    "number": "42",
    "float": "1.50",
    "leading-zeros": "007",
    "true": "true",
    "python-true": "True",
    "null": "null",
    "none": "None",
    "nan": "NaN",
    "undefined": "undefined",
    "quoted": '"quoted"',
    "single-quoted": "'quoted'",
    "typographic": "“quoted” and ‘so’",
    "encoded-twice": '"{\\"a\\": \\"b\\"}"',
    "lines": '{"a": 1}\n{"a": 2}\n',
    "trailing-comma": '{"a": 1, "b": [1, 2,],}',
    "single-quotes": "{'a': 'it\\'s', 'b': True}",
    "unquoted-keys": "{a: 1, b: 'x'}",
    "comments": '{"a": 1 /* one */, // two\n"b": 2}',
    "cut-string": '{"a": "b',
    "cut-array": '["a", "b"',
    "cut-key": '{"a": 1, "b',
    "surplus-brace": '{"a": 1}}',
    "lost-brace": '"a": 1}',
    "outer-braces": '{{"a": 1}}',
    "literals": '{"a": True, "b": None, "c": NaN}',
    "duplicate": '{"a": 1, "a": 2}',
    "bad-escape": '{"path": "C:\\dir\\new"}',
    "half-pair": '{"a": "\\ud800"}',
    "fenced": '```json\n{"a": 1}\n```',
    "surrounded": 'Here is the call:\n{"a": 1}\nDone.',
    "wrapped": '{"arguments": {"content": "x"}}',
    "envelope": '{"name": "write", "arguments": "{}"}',
    "lost-quote": '{"a": "b", c": "d"}',
    "empty-object": "{}",
    "empty-array": "[]",
    "brace": "{",
    "closing": "}",
    "braces-in-text": "a}{b",
    "huge-number": "1e999",
    "big-integer": "12345678901234567890123",
}  # fmt: skip

REGEX = {
    "anchored": "^foo$",
    "anchors": "^^a$$",
    "dollar": "cost$",
    "caret": "^import ",
    "class": "[^\"'\\s]+\\.(?:ts|js)x?$",
    "lookahead": '(?<!\\\\)"(?=[^>]*</a>)',
    "braces": "\\{\\{\\s*(\\w{1,3})\\s*\\}\\}",
    "escapes": "\\d+\\u0041\\x41\\/\\n",
    "alternation": "TODO|FIXME|&amp;|<br>",
    "unicode": "\\p{Han}+|[а-я]{2,}",
    "glob": "**/*.{ts,tsx}",
}

# What is sent as a command. These hold the same characters that a family may send by mistake.
SHELL = {
    "list": "ls -la",
    "chain": "cd /repo && make -j4 || echo 'failed' >&2",
    "pipe": "cat < in.txt | sort -u > out.txt 2>/dev/null &",
    "quotes": 'echo "it\'s" \'say "hi"\' $\'a\\tb\' \\"x\\"',
    "heredoc": "cat <<'EOF' > a.json\n{\n  'a': True,\n  \"b\": \"<x>&amp;</x>\",\n}\nEOF\n",
    "heredoc-tabs": 'python3 - <<-EOF\n\tprint("${HOME}")\n\tEOF',
    "json": 'curl -s -d \'{"a": [1,2]}\' -H "Content-Type: application/json" http://localhost:8080/x?a=1\\&b=2',
    "sed": "sed -i 's/&/\\&amp;/g; s/</\\&lt;/g' page.html",
    "grep-entity": "grep -rn '&nbsp;' --include='*.html' .",
    "awk": "awk '{ if ($1 > 5 && $2 < 3) print $0 }' f | tail -n +2",
    "perl": "perl -pe 's/^\\s+|\\s+$//g' <<< \" a \"",
    "jq": "jq '.items[] | {id, \"n\": .name}' < x.json",
    "find": "find . -name '*.py' -exec grep -l \"^def main\" {} \\; | xargs -0 -I{} echo '{}'",
    "subshell": "x=$(git rev-parse HEAD); (echo `date`; [[ $x =~ ^a.*z$ ]]) && echo ${x:0:7}",
    "powershell": "Get-ChildItem 'C:\\Program Files' | ? { $_.Length -gt 1kb } # done",
    "cmd": 'dir C:\\Users\\me\\new && type "C:\\temp\\a b.txt"',
    "python": "python -c \"import json; print(json.dumps({'a': None}))\"",
    "true": "true",
    "empty-text": "''",
    "anchors": "grep -E '^a$' f$",
    "fence": "echo '```json'",
    "tag": "grep -c '<tool_call>' log.txt",
    "cdata": "xmllint --xpath '//a[text()=\"<b>\"]' f.xml",
    "lines": "set -e\n\n# build\nmake all\n\n# done\necho ok\n",
}

MARKUP = {
    "html": '<!DOCTYPE html>\n<body class="a">\n<p>Fish &amp; chips &#39;x&#39; &copy;</p>\n</body>\n',
    "html-fragment": "<b>a</b> &amp; <i>b</i>",
    "html-entities": "Use &lt;div&gt; and &amp;amp; to write &quot;&lt;&quot;.",
    "html-attribute": '<a href="/x?a=1&amp;b=2" title=\'say "hi"\'>x</a>',
    "script": "<script>if (a < b && c > d) { document.write('<p>x<\\/p>'); }</script>",
    "empty-elements": "<div></div>",
    "xml": "<?xml version='1.0'?>\n<root a=\"1\"><!-- c --><b/>&#x41;</root>",
    "cdata": '<x><![CDATA[ a < b && "c" ]]></x>',
    "svg": '<svg viewBox="0 0 1 1"><path d="M0 0L1 1"/></svg>',
    "own-tag": "<content>the text</content>",
    "path-tag": "<path>/a</path>",
    "entity-alone": "&amp;",
    "double-encoded": "&amp;lt;b&amp;gt;",
    "ampersands": "a && b & c",
    "comparison": "if x<y and z>w then",
    "vue": '<template><Item v-for="i in items" :key="i.id" @click="go(i)">{{ i.name }}</Item></template>',
    "dangling": "a</p> b <br> c </div>",
}

MARKDOWN = {
    "fence": "# Title\n\n```python\nprint({'a': 1})\n```\n\nText.\n",
    "fence-only": "```\nls\n```",
    "tildes": '~~~json\n{"a": 1,}\n~~~\n',
    "inline": "Use `a` and ``b`c``.",
    "link": "See [docs](https://example.com/a_(b)) and [a.ts](http://a.ts).",
    "auto-link": "[index.ts](http://index.ts)",
    "table": "| a | b |\n|---|:-:|\n| 1 | `|` |\n",
    "list": "* one\n* two\n  1. three\n- [ ] todo\n- [x] done\n",
    "quote": "> quoted\n>> twice\n\n---\n",
    "done": "done",
    "ok": "ok",
    "here": "Here is the call:",
    "front-matter": '---\ntitle: "A: b"\ntags: [x, y]\n---\n\nBody\n',
    "image": '![alt "x"](a.png "title") <https://example.com>',
    "math": "$$\\frac{a}{b} \\leq \\text{x}$$ costs $5",
}

URLS = {
    "query": "https://example.com/a?b=1&c=%20d&e[]=f#g",
    "entity": "https://example.com/?a=1&amp=2&lt=3",
    "user": "ftp://user:p%40ss@host:21/path;type=i",
    "ipv6": "http://[::1]:8080/",
    "data": "data:text/html,<b>a&amp;b</b>",
    "file": "file:///C:/Users/me/a%20b.txt",
    "braces": "https://api.example.com/{id}/items{?page}",
    "unicode": "https://müller.example/straße?q=日本",
    "mail": "mailto:a@example.com?subject=x&body=y",
}

TEMPLATES = {
    "jinja": "{% for m in messages %}{{ m['role'] | upper }}{% endfor %}{# c #}",
    "handlebars": "{{#if a}}{{{raw}}}{{else}}{{> part}}{{/if}}",
    "python-format": "{0!r:>{width}} {{literal}} %s %(name)d",
    "shell": "${HOME:-/root} $(pwd) $1 $$",
    "erb": "<% if a %><%= b %><% end %>",
    "mustache-json": '{"name": {{name}}, "ids": [{{ids}}]}',
    "chat-template": "{{ '<|im_start|>' + role + '\\n' }}{% if t %}<tools>{{ t|tojson }}</tools>{% endif %}",
    "angle": "<placeholder>, <YOUR_NAME>, <...>",
}

# Documentation about the markup of calls is data. None of these ends or begins with markup of its own
# field, and none is nothing but tags.
TOKENS = {
    "tool-call": 'Hermes models write <tool_call>{"name": "f", "arguments": {}}</tool_call> around a call.',
    "im-end": "The token <|im_end|> ends a message, <|im_start|> begins one.",
    "arg-key": "GLM writes <arg_key>city</arg_key><arg_value>Paris</arg_value> for each argument, see below.",
    "parameter": "Write <parameter=city>Paris</parameter> inside <function=weather>; nothing else.",
    "invoke": 'An example: <invoke name="f"><parameter name="city">Paris</parameter></invoke> is one call.',
    "kimi": "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{} is how a call begins",
    "deepseek": "DeepSeek: <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f, then a fence",
    "mistral": 'Mistral: [TOOL_CALLS]f[ARGS]{"a": 1} (one line)',
    "llama": 'Llama: <|python_tag|>f.call(a=1)<|eom_id|> or <function=f>{"a": 1}</function> as text',
    "harmony": "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{} explained",
    "gemma": 'Gemma prints <|"|> for a quote, as in call:f{a:<|"|>b<|"|>} in its chat format',
    "phi": '<|tool_call|>[{"name": "f"}]<|/tool_call|> is what Phi writes',
    "minimax": '<minimax:tool_call><invoke name="f"></invoke></minimax:tool_call> around each, says the page',
    "think": "Reasoning stands in <think>so</think> and is cut before the answer.",
    "closing-only": "A stray </parameter> or </tool_call> in the middle of a text is data.",
    "react": 'Thought: look\nAction: search\nAction Input: {"q": "x"}\nObservation: none',
    "end-of-text": "split on <|endoftext|> and </s> first",
    "stop-token": "STOP = ['</tool_call>', '<|eot_id|>', '<end_of_turn>']\n",
    "repair-note": "The note stands inside <repair_note>x</repair_note> at the end of a result.",
}

DATA = {
    "sql": "SELECT \"a\", 'it''s' FROM t WHERE x <> 1 AND y LIKE '%\\_%' ESCAPE '\\'; -- done\n",
    "sql-json": "UPDATE t SET j = '{\"a\": 1}'::jsonb || E'\\n' WHERE id = $1 RETURNING *;",
    "csv": 'id,name,"note, long"\r\n1,"O""Brien",\r\n2,,\'x\'\r\n',
    "tsv": 'a\tb\t"c\n1\t2\t\n',
    "diff": "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a = {'b': 1}\n+a = {\"b\": 1}\n \n",
    "patch": "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    x\n+    y\n*** End Patch",
    "conflict": "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n",
    "base64": base64.b64encode(bytes(range(256))).decode(),
    "base64-url": "eyJhbGciOiJub25lIn0.eyJhIjoxfQ.",
    "pem": "-----BEGIN X-----\nAAAA/+==\n-----END X-----\n",
    "hex": "0xDEADBEEF \\xff \\0",
    "log": "2024-05-01T00:00:00Z [ERROR] {'code': 5} \\n at f(a.js:1:2)\n",
    "ini": '[a]\nb = "c" ; d\npath=C:\\x\\y\n',
    "env": "A=1\nB='x y'\nC=\"z\\n\"\n",
    "vtt": "00:00:01.000 --> 00:00:02.000\n- Hi.\n",
    "cron": "*/5 0 * * 1-5 /bin/true",
    "email": "From: A <a@example.com>\r\nSubject: =?utf-8?q?x?=\r\n\r\n> quoted\r\n",
    "literal-newlines": "first\\nsecond\\n\\tthird",
    "double-escaped": 'console.log(\\"hi\\")\\n',
    "backslashes": "\\\\server\\share \\\\ \\",
    "slashes": "a/b//c\\/d",
    "quotes": "\"\"\" ''' ``` “ ” ‘ ’ « » „",
    "percent": "100% %d %%",
}

SCRIPTS = {
    "arabic": "مرحبا بالعالم، كيف الحال؟",
    "hebrew": "שלום עולם \"ציטוט\"",
    "chinese": "你好，世界。“引号”「括号」",
    "japanese": "こんにちは、ｶﾀｶﾅと漢字\u3000空白",
    "korean": "안녕하세요 세계",
    "hindi": "नमस्ते दुनिया क्षत्रिय",
    "thai": "สวัสดีชาวโลก น้ำ",
    "russian": "Привет, мир — «цитата»",
    "greek": "Καλημέρα κόσμε",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ✅",
    "combining": "e\u0301 n\u0303 Z\u0351\u036b\u0343\u036a",
    "composed": "é ñ Å Å ﬁ",
    "right-to-left-marks": "a\u200fb\u200e \u202eabc\u202c \u2066x\u2069",
    "zero-width": "a\u200bb\u200cc\u200dd\ufeffe",
    "spaces": "a\u00a0b\u2003c\u2028d\u2029e\u0085f",
    "astral": "𝕳𝖊𝖑𝖑𝖔 𠜎 \U0010ffff",
    "private": "\ue000\uf8ff\ufffd\uffff",
    "fullwidth": "｛＂ａ＂：１｝",
    "turkish": "İstanbul ılık ẞ",
}  # fmt: skip

CONTROL = {
    "tab-newline": "a\tb\nc\r\nd\re",
    "bell": "\u0007\u0008\u000c\u001b[31mred\u001b[0m",
    "nul": "a\u0000b",
    "all": "".join(map(chr, range(32))) + "\u007f\u0080\u009f",
    "only-newline": "\n",
    "only-spaces": "   ",
    "empty": "",
    "leading": "  leading and trailing \n",
    "one": "x",
    "comma": ",",
    "colon": ":",
    "quote": '"',
    "apostrophe": "'",
    "backslash": "\\",
    "slash": "/",
}

PLAIN = {
    "sentence": "Fix the login bug, then run the tests.",
    "question": "What is 2 + 2?",
    "apostrophes": "it's the users' \"own\" choice",
    "digits": "0123456789",
    "long-line": "word " * 400,
    "long-text": 'A line with "quotes", {braces} and \\slashes\\.\n' * 200,
    "iso-date": "2024-02-29T23:59:59.999+05:30",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "version": "1.10.0-rc.1+build.5",
    "yes": "yes",
    "zero": "0",
    "minus": "-1",
    "exponent": "1e5",
    "plus": "+49 30 1234",
    "hex": "0x1F",
    "infinity": "Infinity",
}

TEXTS = {
    f"{group}.{name}": text
    for group, texts in {
        "code": CODE, "json": JSON_TEXTS, "regex": REGEX, "shell": SHELL, "markup": MARKUP,
        "markdown": MARKDOWN, "url": URLS, "template": TEMPLATES, "token": TOKENS, "data": DATA,
        "script": SCRIPTS, "control": CONTROL, "plain": PLAIN,
    }.items()
    for name, text in texts.items()
}  # fmt: skip

PATHS = (
    "/repo/src/main.py", "a.py", "./a", "../b/c.txt", "~/notes.md", "/", ".", "src/app/[id]/page.tsx",
    "app/(group)/[...slug]/page.tsx", "app/routes/users.$id.tsx", "app/routes/$.tsx", "src/$types",
    "C:\\Users\\me\\new\\test.txt", "C:/Users/me/a b.txt", "c:\\temp\\", "\\\\server\\share\\dir\\file.txt",
    "\\\\server\\C$", "\\\\?\\C:\\very\\long", "/mnt/c/Program Files (x86)/x", "/tmp/it's \"here\".txt",
    "/tmp/a&b/c;d.txt", "/tmp/a&amp;b.html", "docs/über/日本語.md", "/tmp/e\u0301.txt", "/tmp/tab\there",
    "notes/2024-01-01.md", "a/b/../c", "node_modules/@scope/pkg/index.d.ts", "Makefile", ".env.local",
    "/tmp/100%.txt", "/tmp/a%20b", "file.tar.gz", "**/*.py", "src/{a,b}/*.ts", "/tmp/<x>.txt", "/tmp/^old",
    "notes/[docs](draft).md", "[[wiki link]].md", "/tmp/`tick`", "dir with spaces/x", "/tmp/a:b", "-rf",
    "#tmp#", "file,with,commas", "null", "true", "5", "a\\ b", "/tmp/a\\nb",
)  # fmt: skip


def thing(required: str = "", *, closed: bool = True, **properties: Json) -> Json:
    """The schema of an object; `required` are names with spaces between, `closed` takes no other keys."""
    made: dict[str, Json] = {"type": "object", "properties": properties, "required": required.split()}
    return {**made, "additionalProperties": False} if closed else made


STRING, NUMBER, INTEGER, BOOLEAN = ({"type": name} for name in ("string", "number", "integer", "boolean"))
LIST = {"type": "array", "items": STRING}
ODD_KEYS = ("", "/", "~", "0", "__proto__", "a b", "$ref")
ROW = {"type": "array", "items": {"type": ["number", "null"]}}
MAP = {"type": "object", "additionalProperties": STRING}
PAIR = thing("oldText newText", oldText=STRING, newText=STRING)
PERSON = thing("name", name=STRING, email=STRING, notes={"type": ["string", "null"]})
NODE = thing("value", value={}, children={"type": "array", "items": {"$ref": "#/$defs/node"}})
TODO = thing(
    "content status", content=STRING, status={"enum": ["pending", "in_progress", "completed"]}, id=STRING
)

TOOLS: dict[str, Json] = {
    "read": thing("path", path=STRING, offset=INTEGER, limit={"type": ["integer", "null"]}),
    "Read": thing("file_path", file_path={"type": "string", "minLength": 1}, pages=STRING),
    "write": thing("path content", path=STRING, content=STRING, mode={"enum": ["create", "append"]}),
    "edit": thing(
        "file_path old_string new_string",
        file_path=STRING,
        old_string=STRING,
        new_string=STRING,
        replace_all={"type": "boolean", "default": False},
    ),
    "multi_edit": thing(
        "path edits",
        path=STRING,
        edits={"type": "array", "minItems": 1, "items": PAIR},
    ),
    "bash": thing("command", command=STRING, description=STRING, timeout=NUMBER, run_in_background=BOOLEAN),
    "exec": thing("cmd", cmd=STRING, env=MAP),
    "grep": thing(
        "pattern", closed=False, pattern=STRING, path=STRING, glob=STRING, ignore_case=BOOLEAN,
        output_mode={"type": "string", "enum": ["content", "files_with_matches", "count"]},
    ),
    "todo_write": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **thing("todos", todos={"type": "array", "items": {"$ref": "#/definitions/todo"}}),
        "definitions": {"todo": TODO},
    },
    "web_search": thing("query", query=STRING, domains=LIST, recency={"type": ["string", "null"]}),
    "fetch": thing("url", url=STRING, headers=MAP, body={}, method={"enum": ["GET", "POST", "PUT"]}),
    "browser": thing(
        "action",
        action={
            "oneOf": [
                thing("kind text", kind={"const": "type"}, text=STRING, ref=STRING),
                thing("kind x y", kind={"const": "click"}, x=NUMBER, y=NUMBER),
            ]
        },
    ),
    "query": thing("sql", sql=STRING, params={"type": "array", "items": {}}, database=STRING),
    "calendar": thing(
        "title start",
        title=STRING,
        start={"type": "string", "format": "date-time"},
        attendees={"type": "array", "items": {"$ref": "#/$defs/person"}},
        reminder={"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    )
    | {"$defs": {"person": PERSON}},
    "message": thing(
        "to body", to={"anyOf": [STRING, LIST]}, body=STRING, attachments=LIST, meta={"type": "object"}
    ),
    "memory": {"type": "object", "additionalProperties": True},
    "labels": {"type": "object", "additionalProperties": STRING},
    "call_tool": thing("name arguments", name=STRING, arguments={"type": "object"}, input=STRING),
    "run_cell": thing("source", source={"anyOf": [STRING, LIST]}, index=INTEGER, outputs={"type": "array"}),
    "tree": {**thing("root", root={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
    "set_value": thing("key value", key=STRING, value={}),
    "move": thing("x", x=NUMBER, n=INTEGER, exact={"enum": [1, 1.5, "1", True, None]}),
    "grid": thing("rows", rows={"type": "array", "items": ROW}),
    "snapshot": {"type": "object", "properties": {}},
    "untyped": {"properties": {"text": {}, "any": {"description": "anything"}}},
    "odd_keys": thing() | {"properties": dict.fromkeys(ODD_KEYS, STRING)},
}  # fmt: skip


def at_each_place(text: str, other: str) -> Iterator[tuple[str, Json]]:
    """Calls that hold the text, each at another place; `other` is some text that differs."""
    yield "write", {"path": "/repo/a.txt", "content": text}
    yield "edit", {"file_path": "a.txt", "old_string": text, "new_string": other, "replace_all": True}
    yield "edit", {"file_path": "a.txt", "old_string": other, "new_string": text}
    yield (
        "multi_edit",
        {"path": "a", "edits": [{"oldText": other, "newText": text}, {"oldText": text, "newText": ""}]},
    )
    yield "grep", {"pattern": text, "path": "src", "ignore_case": False, "output_mode": "count"}
    yield (
        "todo_write",
        {"todos": [{"content": text, "status": "pending"}, {"content": "x", "status": "completed"}]},
    )
    yield "web_search", {"query": text, "domains": [text, "example.com"], "recency": None}
    yield "fetch", {"url": "https://example.com", "method": "POST", "headers": {"X": text}, "body": text}
    yield "browser", {"action": {"kind": "type", "text": text, "ref": "e1"}}
    yield "query", {"sql": text, "params": [text, 1, None, 1.5, True]}
    yield (
        "calendar",
        {
            "title": text,
            "start": "2024-01-01",
            "attendees": [{"name": text, "notes": None}],
            "reminder": text,
        },
    )
    yield "message", {"to": [text], "body": text, "meta": {"a": {"b": [text]}}}
    yield "message", {"to": text, "body": "x", "attachments": []}
    yield "memory", {"note": text, "deep": {"list": [[text]]}}
    yield "labels", {text: "as a key", "other": text}
    yield "call_tool", {"name": "f", "arguments": {"text": text}, "input": text}
    yield "run_cell", {"source": text, "index": 0}
    yield "tree", {"root": {"value": text, "children": [{"value": [text]}, {"value": {text: None}}]}}
    yield "set_value", {"key": "k", "value": text}
    yield "untyped", {"text": text, "any": {"a": text}}
    yield "odd_keys", {"": text, "/": text, "~": text, "0": text, "__proto__": text}


NUMBERS = (
    0, 1, -1, 7, 100, 2**31, 2**53, 2**53 + 1, -(2**63), 2**64, 10**40, 1234567890123456789,
    0.0, -0.0, 1.0, 1000.0, 0.1, -2.5, 1e-7, 1e300, 5e-324, 1.7976931348623157e308, 3.141592653589793,
    123456789.125, 1e16, 0.30000000000000004,
)  # fmt: skip
NAMES = (
    "", "/", "~", "~0", "~1", "a/b", "*", "-", "0", "00", "-1", "__proto__", "constructor", "toString",
    "arguments", "parameters", "input", "args", "params", "result", "name", "tool", "function", "id", "type",
    "item", "$ref", "$schema", "properties", "path", "file_path", "command", "cmd", "content", "query", "a b",
    "a.b", "a\nb", "\"", "'", "\\", "{", "[", ":", ",", "null", "true", "ключ", "键", "🔑", "</a>",
    "<b>", "&amp;",
)  # fmt: skip


def shapes() -> Iterator[tuple[str, Json]]:
    """Calls whose point is their shape, a number, a key, or a value that only looks wrong."""
    for path in PATHS:
        yield "read", {"path": path}
        yield "read", {"path": path, "offset": 1, "limit": None}
        yield "Read", {"file_path": path}
        yield "edit", {"file_path": path, "old_string": path, "new_string": ""}
        yield "grep", {"pattern": "x", "path": path, "glob": path}
    for command in SHELL.values():
        yield "bash", {"command": command}
        yield "bash", {"command": command, "description": command, "timeout": 1.5, "run_in_background": False}
        yield "exec", {"cmd": command, "env": {"A": command}}
    for number in NUMBERS:
        yield "move", {"x": number}
        yield "query", {"sql": "x", "params": [number, str(number)]}
        yield "memory", {"n": number, "nested": [[number]], "text": str(number)}
        yield "grid", {"rows": [[number, None], [], [number]]}
        if number == int(number):  # 1000.0 is an integer, for JSON Schema
            yield "move", {"x": 0, "n": number}
    for key in NAMES:
        yield "memory", {key: {key: [key]}}
        yield "memory", {key: "text"}
        yield "labels", {key: "v"}
        yield "labels", {key: "", f"{key}2": "null"}
        yield "exec", {"cmd": "env", "env": {key: key}}
        yield "message", {"to": "a", "body": "b", "meta": {key: {"a": 1}}}
        yield "call_tool", {"name": "g", "arguments": {key: {"arguments": {}}}}
        yield "set_value", {"key": key, "value": {key: None}}
    values: tuple[Json, ...] = (
        None, True, False, 0, 1, "", "x", [], {}, [None], [[]], [{}], {"a": None}, ["x"], "[]", "{}",
    )  # fmt: skip
    for value in values:
        yield "set_value", {"key": "k", "value": value}
        yield "set_value", {"key": "k", "value": [value, [value]]}
        yield "memory", {"v": value}
        yield "untyped", {"any": value}
        yield "tree", {"root": {"value": value, "children": []}}
        yield "fetch", {"url": "http://a", "body": value}
    for exact in (1, 1.5, "1", True, None):
        yield "move", {"x": 1, "exact": exact}
    for wrapper in ("arguments", "parameters", "input", "args", "params", "result"):
        yield "memory", {wrapper: {"path": "a"}}
        yield "memory", {wrapper: '{"path": "a"}'}
        yield "call_tool", {"name": "call_tool", "arguments": {wrapper: {"name": "x"}}}
        yield "snapshot", {wrapper: {}}
    for reminder in (None, 5, "5", "null", ""):
        yield "calendar", {"title": "", "start": "", "reminder": reminder}
    yield "call_tool", {"name": "call_tool", "arguments": {}}
    yield "call_tool", {"name": "f", "arguments": {"name": "call_tool", "arguments": {}}}
    yield "memory", {"name": "memory", "arguments": {"a": 1}}
    yield "memory", {"type": "function", "function": {"name": "memory", "arguments": "{}"}}
    yield "memory", {}
    yield "labels", {}
    yield "snapshot", {}
    yield "odd_keys", {}
    yield "todo_write", {"todos": []}
    yield "run_cell", {"source": ["a\n", "b"], "outputs": []}
    yield "run_cell", {"source": [], "index": 3, "outputs": [{"x": "[1]"}]}
    yield "run_cell", {"source": '["a", "b"]'}
    yield "message", {"to": '["a", "b"]', "body": ""}
    yield "message", {"to": [], "body": "", "attachments": ["[]", "{}"]}
    yield "browser", {"action": {"kind": "click", "x": 10, "y": 20.5}}
    yield from large()


def large() -> Iterator[tuple[str, Json]]:
    """Deep, wide and long calls."""
    for depth in (5, 20, 28):
        node: Json = {"value": depth}
        for level in range(depth):
            node = {"value": level, "children": [node]}
        yield "tree", {"root": node}
    for depth in (10, 30, 60):
        inner: Json = "bottom"
        for level in range(depth):
            inner = [inner] if level % 2 else {"k": inner}
        yield "set_value", {"key": "deep", "value": inner}
    for width in (50, 500):
        yield "memory", {f"key_{number}": number for number in range(width)}
        yield "labels", {f"k{number}": "[]" for number in range(width)}
        yield "message", {"to": [f"a{number}" for number in range(width)], "body": ""}
        yield "grid", {"rows": [[number, number / 2, None] for number in range(width)]}
        yield "todo_write", {"todos": [{"content": str(n), "status": "pending"} for n in range(width)]}
    for name in ("python", "jsx", "c"):
        yield "write", {"path": "a", "content": CODE[name] * 200}
    for text in ("{\"a\": [1, 2,], 'b': True}\n", "\\", "&amp;", "<tool_call> ", "```\n", "日本語"):
        yield "write", {"path": "a", "content": text * 1500}


def calls() -> list[tuple[str, str, Json]]:
    """Every call: where it comes from, its tool, and its arguments."""
    texts = list(TEXTS.items())
    found = []
    for number, (name, text) in enumerate(texts):
        other = texts[(number + 1) % len(texts)][1]
        found += [(name, tool, call) for tool, call in at_each_place(text, other)]
    return found + [("shape", tool, call) for tool, call in shapes()]
