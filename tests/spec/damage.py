"""Lossless damage (stage 2, step 3) in the plainest way: one character after the other.

`mend` gives the one value that a damaged text says, and the names of the fixes; or it raises `Broken` (it
is not certain what is meant), `Cut` (the text ends too early), or `Refused`.
"""

from __future__ import annotations

from typing import Any

from .places import Place, types_of
from .text import CLOSER, SPACE, Broken, Cut, Reader, Refused, exact

DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DOUBLE, SINGLE = "“”„‟", "‘’‚‛"
JSON_WORDS = {"true": True, "false": False, "null": None}
PYTHON_WORDS = {"True": True, "False": False, "None": None}
# What models say around a call; the closed list of the design, as far as the tests go.
PHRASES = ("done", "ok", "okay", "sure", "here is the call", "here's the call", "here is the tool call",
           "here's the tool call", "here is the json", "arguments")  # fmt: skip
LANGUAGES = ("json", "json5", "jsonc", "javascript", "js", "python", "py", "tool_code", "tool_call")
FOREIGN = "'xUNav" + DIGITS  # what other languages have after a backslash
CONTROLS = ("\\n", "\\r", "\\t")
UNSEEN = "\ufeff\u00a0\u200b"
# The markup of a call, which may end or begin a parameter.
MARKUP = ("parameter", "param", "invoke", "arg_key", "arg_value", "tool_call", "function_calls")
DOCUMENTS = ("html", "head", "body", "svg", "xml")
OPENING = ("<tool_call>", "[ARGS]")


def mend(
    text: str, place: Place | None, tokens: tuple[str, ...] = (), phrases: tuple[str, ...] = ()
) -> tuple[Any, set[str]]:
    """`tokens` and `phrases` are what statements of the rules add."""
    elements = Elements(text, place)
    if elements.fit():
        return elements.value(), {"xml"}
    mender = Mender(text, place, tokens, phrases)
    value = mender.whole()
    if mender.refused:
        raise Refused(mender.refused.pop() if len(mender.refused) == 1 else "any")
    return value, mender.fixes


def led_in(text: str, place: Place | None, phrases: tuple[str, ...] = ()) -> bool:
    """Does it begin as arguments with words around them, so that it is neither bare text nor an item?"""
    mender = Mender(text, place, (), phrases)
    try:
        mender.around()
    except Broken:
        return True
    rest = text[mender.at :]
    if mender.at and rest[:1] and rest[0] in "{[<\"'":
        return True
    for name in place.declares() if place is not None else ():
        if rest.startswith(name) and rest[len(name) :].lstrip(SPACE)[:1] in ("=", ":"):
            return True
    return False


class Mender(Reader):
    """Reads one damaged value and what stands around it."""

    def __init__(
        self, text: str, place: Place | None, tokens: tuple[str, ...], phrases: tuple[str, ...]
    ) -> None:
        super().__init__(text)
        self.place, self.tokens = place, tokens
        self.phrases = sorted((*PHRASES, *phrases), key=len, reverse=True)
        self.fixes: set[str] = set()
        self.ended = -1  # where the last text ended
        self.lost = False  # the closing quote of a key
        # What was read last: a mark, a number, a string, a sure string (in JSON's quotes), a bare word, a
        # word of JSON, or a container.
        self.last = "mark"

    # Characters --------------------------------------------------------------------------------

    def here(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def starts(self, *options: str) -> str:
        """The first option that the rest begins with, or nothing."""
        return next((each for each in options if self.text.startswith(each, self.at)), "")

    def blanks(self) -> None:
        while self.at < len(self.text):
            if self.here() in SPACE:
                self.at += 1
            elif self.here() in UNSEEN:
                self.fixes.add("control-characters")
                self.at += 1
            elif self.here(2) in ("\\n", "\\t", "\\r"):
                self.fixes.add("control-characters")
                self.at += 2
            elif self.open and self.starts("//", "#", "/*"):
                self.comment()
            else:
                return

    def comment(self) -> None:
        """A comment says nothing; what may be the rest of a text, or data, is none."""
        mark = self.starts("//", "#", "/*")
        end = "*/" if mark == "/*" else "\n"
        close = self.text.find(end, self.at + len(mark))
        if close < 0:
            raise Cut(None)
        said = self.text[self.at + len(mark) : close]
        if mark == "/*" and said[:1] == "*":
            said = said[1:]
        if said[:1] not in ((" ", "\t") if mark != "/*" else SPACE) or not said:
            raise Broken  # `#tag`, `//host`, `/*.ts`
        if self.text[self.at - 1] not in SPACE + ",:{[":
            raise Broken
        if mark != "/*" and "\\n" in said:
            raise Broken  # the line may end there
        line = self.text.rfind("\n", 0, self.at)
        if self.ended > line and ('"' in said or ("'" in said and "quotes" in self.fixes)):
            raise Broken  # the last text of the line may go on
        if self.last == "number" and said.lstrip(SPACE + "/#*")[:1].isdigit():
            raise Broken  # a division
        self.at = close + len(end)
        self.fixes.add("comments")

    def next(self, after_value: bool = False) -> str:
        self.blanks()
        if self.at == len(self.text):
            complete = not self.lost and (
                after_value
                and "comments" not in self.fixes
                and self.last in ("sure string", "word", "container")
            )
            raise Cut("".join(CLOSER[each] for each in reversed(self.open)) if complete else None)
        return self.text[self.at]

    # The whole ---------------------------------------------------------------------------------

    def whole(self) -> Any:
        self.around()
        if self.at == len(self.text):
            raise Broken
        value = self.objects() if self.here() == "{" else self.array_alone()
        only = value[0] if isinstance(value, list) and len(value) == 1 else value
        if "surroundings" in self.fixes and not isinstance(only, dict):
            raise Broken  # words stand around one object only
        return value

    def objects(self) -> Any:
        """An object, or the same one several times."""
        values: list[Any] = []
        while not values or self.here() == "{":
            try:
                values.append(self.root())
            except Cut as cut:
                raise Cut(None if values else cut.closers) from None  # the second may be another call
            self.around()
            if self.here() == "}" and "braces" not in self.fixes:
                self.fixes.add("braces")
                self.at += 1
                self.around()
            if self.here() != "" and self.here() in ",;":
                self.at += 1
                self.around()
                if self.here() != "{":
                    raise Broken
        if self.at < len(self.text):
            raise Broken
        if any(exact(each) != exact(values[0]) for each in values):
            raise Refused("any" if self.refused else "several-calls")
        if len(values) > 1:
            if "surroundings" in self.fixes:
                raise Refused(
                    "any" if self.refused else "several-calls"
                )  # what stands between them may belong to either
            self.fixes.add("repeated")
        return values[0]

    def array_alone(self) -> Any:
        """An array, or JSON text in quotes."""
        try:
            value = self.item(self.place) if self.here() == "[" else self.quoted()
        except Cut:
            raise Cut(None) from None  # only objects are ever completed
        self.around()
        if self.at < len(self.text):
            raise Broken
        return value

    def quoted(self) -> str:
        """JSON text in quotes. Whose its escapes are is not certain where the quotes are not JSON's."""
        opener = self.here()
        if opener not in "\"'“‘":
            raise Broken
        start = self.at
        value = self.string()
        if "\\" in self.text[start : self.at]:
            if opener != '"' or {"escapes", "control-characters"} & self.fixes:
                raise Broken
        if value.strip(SPACE)[:1] not in ("{", "[", '"'):
            raise Broken
        return value

    def root(self) -> Any:
        """The object, with one pair of braces around it that says nothing."""
        self.last = "mark"
        at = self.at
        self.open, self.last = "{", "mark"
        self.at += 1
        double = self.next() == "{"
        self.at, self.open = at, ""
        if not double:
            return self.item(self.place)
        self.open = "{"
        self.at += 1
        self.next()
        if "braces" in self.fixes:
            raise Broken
        try:
            value = self.item(self.place)
        except Cut:
            raise Cut(None) from None  # two brackets of different worth are missing
        self.open = ""
        self.around()
        if self.at == len(self.text):
            raise Cut(None)
        if self.here() != "}":
            raise Broken
        self.at += 1
        self.fixes.add("braces")
        return value

    # Around ------------------------------------------------------------------------------------

    def around(self) -> None:
        """Passes what models put around the arguments."""
        for _ in range(65):
            self.blanks()
            mark = self.starts("```", "~~~", "`")
            self.at += len(mark)
            if mark:
                while self.here() == mark[0] and len(mark) == 3:
                    self.at += 1
                self.language()
                self.fixes.add("fence")
            elif self.language(alone=True):
                self.fixes.add("fence")
            elif self.token() or self.phrase():
                self.fixes.add("surroundings")
            else:
                return
        raise Broken  # no model says so much

    def language(self, alone: bool = False) -> bool:
        """The name of a language after a fence mark; `alone`: right before the arguments."""
        start = self.at
        while self.here() in (" ", "\t"):
            self.at += 1
        for each in LANGUAGES:
            rest = self.text[self.at + len(each) :]
            before = rest.lstrip(" \t").removeprefix("\n").lstrip(" \t")[:1] in ("{", "[", "`")
            within = rest[:1].isalnum() or rest[:1] == "_"
            if self.here(len(each)).lower() == each and not within and (before or not alone):
                self.at += len(each)
                return True
        self.at = start
        return False

    def token(self) -> bool:
        """A special token, a closing tag, or the mark that begins a call."""
        for start, end in (("<|", "|>"), ("<｜", "｜>")):
            if self.starts(start):
                close = self.text.find(end, self.at + 2)
                inner = self.text[self.at + 2 : close]
                if close > 0 and inner.strip(SPACE)[:1] == inner[:1] != "" and not set("<>\n") & set(inner):
                    self.at = close + 2
                    return True
        if self.starts("</"):
            name, closed, _ = self.text[self.at + 2 :].partition(">")
            first = name[:1] != "" and name[0] in LETTERS + "_｜|"
            if closed and first and all(each.isalnum() or each in "_:.｜|-" for each in name):
                self.at += len(name) + 3
                return True
        opening = self.starts(*OPENING)
        self.at += len(opening)
        return opening != ""

    def phrase(self) -> bool:
        """One phrase of the list, with its punctuation."""
        for each in self.phrases:
            at = self.at
            if self.words_of(each):
                after = self.at
                while self.at < len(self.text) and self.here() in " \t":
                    self.at += 1
                if self.at == len(self.text) or self.here() not in ".,:!":
                    self.at = after
                while self.at < len(self.text) and self.here() in ".,:!":
                    self.at += 1
                return True
            self.at = at
        return False

    def words_of(self, phrase: str) -> bool:
        for word in phrase.lower().split():
            while self.at < len(self.text) and self.here() in SPACE:
                self.at += 1
            if self.here(len(word)).lower() != word:
                return False
            self.at += len(word)
            if self.at < len(self.text) and (self.here().isalnum() or self.here() in "_-'"):
                return False
        return True

    # Values ------------------------------------------------------------------------------------

    def item(self, place: Place | None) -> Any:
        """The value at a place of the schema."""
        before, self.place = self.place, place
        value = self.value()
        self.place = before
        return value

    def value(self) -> Any:
        here = self.next()
        if here in "{[":
            value = self.object() if here == "{" else self.array()
            self.last = "container"
            return value
        if self.quote():
            return self.string()
        if here == "-" or here in DIGITS or self.starts("NaN", "Infinity"):
            value = self.word()
            self.last = "number"
            return value
        return self.bare()

    def bare(self) -> Any:
        """A word without quotes."""
        start = self.at
        while self.at < len(self.text) and (self.here().isalnum() or self.here() in "_-."):
            self.at += 1
        word = self.text[start : self.at]
        if self.at == len(self.text):
            if word in JSON_WORDS:
                self.last = "word"
                self.next(after_value=True)
            raise Cut(None)
        self.last = "word"
        if word in JSON_WORDS:
            return JSON_WORDS[word]
        members = (listed(self.place) if self.place is not None else None) or []
        is_member = any(each == word for each in members if isinstance(each, str))
        self.last = "bare"
        if word in PYTHON_WORDS:
            value = PYTHON_WORDS[word]
            if is_member:
                if any(exact(each) == exact(value) for each in members):
                    raise Broken
                self.fixes.add("bare-value")
                return word
            if (
                self.place is not None
                and not types_of(value) & self.place.types()
                and "string" in self.place.types()
            ):
                raise Broken  # a text in one language, a value in the other
            self.fixes.add("literals")
            return value
        if not word or not is_member:
            raise Broken
        self.fixes.add("bare-value")
        return word

    def object(self) -> Any:
        self.enter("{")
        self.last = "mark"
        pairs: list[tuple[str, Any]] = []
        if self.next() == "}":
            return self.leave({})
        while True:
            key = self.key()
            self.last = "mark"
            pairs.append((key, self.item(self.place.child(key) if self.place is not None else None)))
            if not self.more("}"):
                break
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                if exact(found[key]) != exact(value):
                    self.refused.add("duplicate-key")
                self.fixes.add("duplicate-key")
            found[key] = value
        return self.leave(found)

    def array(self) -> Any:
        self.enter("[")
        self.last = "mark"
        found: list[Any] = []
        if self.next() == "]":
            return self.leave(found)
        while True:
            found.append(self.item(self.place.child("*") if self.place is not None else None))
            if not self.more("]"):
                return self.leave(found)

    def more(self, closer: str) -> bool:
        """After a value: does another follow? Stays before the closing bracket."""
        here = self.next(after_value=True)
        if here == closer:
            return False
        if here != ",":
            raise Broken
        self.at += 1
        self.last = "mark"
        here = self.next()
        while here == "," and closer == "}":
            self.fixes.add("commas")
            self.at += 1
            here = self.next()
        if here == closer:
            self.fixes.add("commas")
            return False
        return True

    def key(self) -> str:
        """A key and its colon."""
        start, fixes = self.at, set(self.fixes)
        if self.quote():
            try:
                key = self.string()
                if self.colon(self.text[start]):
                    self.at += 1
                    return key
            except Cut:
                if self.text[start] != '"':
                    raise
            if self.text[start] != '"':
                raise Broken
            # The closing quote may be lost; then no cut is right after a value, as JSON reads it.
            self.lost = True
            self.at, self.fixes = start + 1, fixes
            key = self.name()
            while self.here() in (" ", "\t"):
                self.at += 1
            if self.here() != ":":
                raise Broken
        else:
            key = self.name()
            if key in ("True", "False", "None", "true", "false", "null", "NaN", "Infinity"):
                raise Broken  # a value, and no name
            if self.here() == '"':
                self.at += 1
            if self.next() != ":":
                raise Broken
        self.at += 1
        self.fixes.add("keys")
        return key

    def colon(self, quote: str) -> bool:
        """After a key in JSON's quotes nothing but blanks stands before the colon."""
        opened = self.open
        self.open = "" if quote == '"' else opened
        try:
            return self.next() == ":"
        finally:
            self.open = opened

    def name(self) -> str:
        """A key without quotes."""
        start = self.at
        while self.at < len(self.text) and (self.here().isalnum() or self.here() in "_.-$"):
            self.at += 1
        found = self.text[start : self.at]
        if self.at == len(self.text):
            raise Cut(None)
        if not found or found[0] not in LETTERS + "_$" or found[-1] in ".-":
            raise Broken
        return found

    # Strings -----------------------------------------------------------------------------------

    def quote(self) -> str:
        """What opens a string here, or nothing."""
        return self.starts(*self.tokens) or self.starts('"', "'", *DOUBLE, *SINGLE)

    def string(self) -> str:
        quote = self.quote()
        if quote != '"':
            self.fixes.add("quotes")
        closers = DOUBLE if quote in DOUBLE else SINGLE if quote in SINGLE else (quote,)
        self.at += len(quote)
        start = self.at
        while not self.starts(*closers):
            if self.at >= len(self.text):
                raise Cut(None)
            if quote != '"' and quote != "'" and self.here() == '"':
                raise Broken  # which of the quotes ends it?
            if quote in self.tokens and self.here() == "\\":
                raise Broken  # a token's text has no escapes
            self.at += 2 if self.here() == "\\" and quote in ('"', "'") else 1
        raw = self.text[start : self.at]
        self.at += len(self.starts(*closers))
        self.ended = self.at
        self.last = "sure string" if quote == '"' else "string"
        if any(each < " " for each in raw):
            self.fixes.add("control-characters")
        found = self.unescaped(raw, quote)
        joined = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "�" in joined and "�" not in found:
            self.refused.add("surrogate")
        return joined

    def unescaped(self, raw: str, quote: str) -> str:
        pieces = pieces_of(raw, quote)
        wrong = [at for at, piece in enumerate(pieces) if piece == "\\"]
        if not wrong:
            return "".join(resolved(each) for each in pieces)
        self.fixes.add("escapes")
        if begins_as_path(raw):
            if not is_path(raw) or "\\'" in raw:
                raise Broken  # half of it is escaped, or it is no path at all
            return raw
        for at, piece in enumerate(pieces):
            before = pieces[at - 1] if at else ""
            after = (pieces[at + 1 : at + 2] or [" "])[0]
            if piece in ("\\b", "\\f"):
                raise Broken  # an escape, or none
            if piece == "\\" and after in FOREIGN + ("\n" if quote == "'" else ""):
                raise Broken  # an escape of another language
            if piece == "\\" and after == "u":
                if (pieces[at + 2 : at + 3] or [" "])[0] in "{0123456789abcdefABCDEF":
                    raise Broken
            if piece in CONTROLS and after in LETTERS and before not in CONTROLS:
                raise Broken  # `..\\new`: the beginning of a name, or a new line
        return "".join(resolved(each) for each in pieces)


def pieces_of(raw: str, quote: str) -> list[str]:
    """The characters and the escapes; a backslash that begins no escape is a piece of its own."""
    found: list[str] = []
    at = 0
    while at < len(raw):
        piece = raw[at]
        if piece == "\\":
            after = raw[at + 1 : at + 2]
            if (
                after == "u"
                and len(raw) >= at + 6
                and all(each in "0123456789abcdefABCDEF" for each in raw[at + 2 : at + 6])
            ):
                piece = raw[at : at + 6]
            elif after and (after in '"\\/bfnrt' or (after == "'" and quote == "'")):
                piece = raw[at : at + 2]
        found.append(piece)
        at += len(piece)
    return found


def resolved(piece: str) -> str:
    """What one piece says."""
    if len(piece) == 6:
        return chr(int(piece[2:], 16))
    if len(piece) == 2:
        return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(piece[1], piece[1])
    return piece


def begins_as_path(raw: str) -> bool:
    """Does it begin as a drive or UNC path?"""
    return is_drive(raw) or raw[:2] == "\\\\"


def is_drive(raw: str) -> bool:
    return raw[:1] != "" and raw[0] in LETTERS and raw[1:3] == ":\\"


def is_path(raw: str) -> bool:
    """Is each part a name that a file may have on Windows, so that no backslash says anything else?"""
    names = raw[3:].split("\\") if is_drive(raw) else raw[2:].split("\\")
    if not is_drive(raw):
        if len(names) < 2 or len(names[0]) < 2 or len(names[1]) < 2:
            return False
        if not all(each.isalnum() or each in "_.$-" for each in names[0] + names[1][:2]):
            return False
    for name in names:
        if not name or name[-1] in ".,;! " or name[0] == " " or "  " in name:
            return False
        if any(each in '<>:"/|?*' or (each.isspace() and each != " ") for each in name):
            return False
    return True


def listed(place: Place) -> list[Any] | None:
    """The values that are listed for a text here; None where any text may do."""
    for schema in place.all:
        if "enum" in schema:
            return [each for each in schema["enum"] if place.accepts(each)]
    for group in place.any:
        lists = [listed(each) for each in group if "string" in each.types()]
        if lists and None not in lists:
            found = [each for members in lists for each in members or []]
            return [each for each in found if place.accepts(each)]
    return None


class Elements:
    """XML: one element for each property, and nothing else."""

    def __init__(self, text: str, place: Place | None) -> None:
        self.text = text.strip(SPACE)
        self.names = sorted(place.declares()) if place is not None else []

    def fit(self) -> bool:
        return any(self.text.startswith(f"<{name}>") for name in self.names)

    def value(self) -> Any:
        found: dict[str, str] = {}
        rest = self.text
        while rest:
            name = next((each for each in self.names if rest.startswith(f"<{each}>")), None)
            if name is None or name in found or name in DOCUMENTS:
                raise Broken
            inner, closed, rest = rest[len(name) + 2 :].partition(f"</{name}>")
            if not closed:
                raise Broken
            found[name] = self.checked(inner)
            rest = rest.lstrip(SPACE)
        return found

    def checked(self, inner: str) -> str:
        """What may be written in another way in XML, or may be the call's own markup, is refused."""
        if inner != inner.strip() or "<!" in inner or "<?" in inner:
            raise Broken
        for part in inner.split("&")[1:]:
            name, semicolon, _ = part.partition(";")
            if semicolon and name and all(each in LETTERS + DIGITS + "#" for each in name):
                raise Broken
        for part in inner.split("<")[1:]:
            tag = ""
            for each in part.removeprefix("/"):
                if not (each.isalnum() or each in "_.-:"):
                    break
                tag += each
            if tag.rpartition(":")[2] in (*self.names, *MARKUP):
                raise Broken
        return inner
