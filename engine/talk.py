"""Does a result show anything, or does its tool only say how it went, or what a file is called and how large?

No list of phrases would end: a line is talk by its words alone. Source: `docs/grounding.md`, "What a call
earns". Linear in the text, of which only a short one can be talk.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from .failures import says_how, says_nothing
from .refusals import REFUSALS, refuses, words_of
from .whereabouts import plain_key

_LONGEST = 2_048  # characters of what can be talk
_LINES = 12
_OBJECTS = 64  # that are looked at
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,63} ?/?>")
_ELEMENT = re.compile(r"</?[A-Za-z][\w-]{0,63}(?: [^<>]{0,255})?/?>")
_NAME = re.compile(r"[\w.-]*\w\.[A-Za-z]\w{0,7}")
# A line with its number; `403: forbidden` is none, but for another number of blanks.
_NUMBERED = re.compile(
    r"\s*+(?:([^:\s][^:\n\t ]{0,255}+):)?[ \t]*+(?![45][0-9]{2}: \S)[0-9]{1,9}+ ?[:|→│\t][ \t]*+\S"
)
_REMARK = re.compile(r"\s*+(?:#(?!#)|//|--|;|\*|<!--|%)")
_PROMPT = re.compile(r"\s*+(?:[^\s@]{1,255}+@\S{0,255}[#$%>]|\$|PS [A-Z]:\S{0,255}>|\+)(?: |\Z)")
# A key with one value, or in quotes, is none.
_ASIDE = re.compile(
    r"[^\w\"'>/-]*+(?:warning|note|notice|info|hint|tip)[^\w:]*+:\W*+[^\W_]++\W++[^\W_]", re.IGNORECASE
)
_LISTED = re.compile(r"\s*+[bcdlps-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][ .+@]")
_FRAMED = re.compile(r"\A\s*+[(<\[]|[:)>\]]\s*+\Z")
_CODE = re.compile(r"[={}]|\w\([\"']")
_ENDED = (";", "(", "[", "\\", "&&", "||")  # a line of code
_INDENTED = re.compile(r"(?: {2}|\t)\s*+[^\s(\[]")
_ENTRY = re.compile(r"\s*(?:[-*] |[0-9]+ )?(?:(\w[\w ]*): *)?([\w./\\-]+)(?: bytes)?")
_PLAIN = re.compile(r"[\w\s./-]*,? [\w\s./-]*\.?")  # some words, and no mark of code
# Words with which tools speak of themselves, of files, and of how a call went.
_TALK = frozenset(
    """
    a accessed across again all already also an and any apr are as ask asked asking at attempt aug
    available b background bad bash be been begin beginning beyond binary blank but by byte bytes call
    calls can character characters check code command commands complete completed completion consider
    contain contains content contents could count counts created current cwd data date dec did dir
    directory do document does done duration each elapsed else empty end ended ends env error errors
    execute executed execution exists exit exited false fault feb fetch fetched file files finished
    first folder for found fri from gateway gb gmt had has have help here hit hits hour hours id if
    image images in info information instead into is isdirectory isfile it its jan jul jun kb kib
    kilobytes large last limit line lines list listed listing load loaded many mar match matched matches
    matching may mb megabytes message mib min minute minutes modified mon more ms name named next no
    none note notebook nothing notice nov now null number observation occurrence occurrences oct of
    offset ok okay on once only open opened or other output outputs over own page pages pagination path
    paths pattern patterns pdf per permissions persist persists pid please previous printed process
    processed produced query ran range read reading reads real received refine requests reset result
    results returned returning row rows run running s sat saved search searched sec second seconds secs
    see segmentation sep session sh shell show showing shown signal size skipped so some specific start
    started status stderr stdin stdout still subsequent succeeded success successful successfully
    summary sun symbol symbols sys system task terminal text than that the their then there these this
    those thu time times to tokens too took tool tools total true truncated try trying tue type types
    unchanged undefined under updated use used user using utc variables vars via view viewed wall
    warning warnings was wed were when which while whitespace will with within without word words
    working written yet you your zsh
    """.split()  # noqa: SIM905
)
_KINDS = frozenset({"file", "dir", "directory", "folder", "link", "d", "f"})  # in a listing of a folder
_NOUNS = frozenset(
    """
    a an content contents data file files in line lines of page some text the this words
    """.split()  # noqa: SIM905
)
_ENDS = REFUSALS | frozenset("completed done executed finished killed ok okay success successful".split())  # noqa: SIM905
# Keys, without capitals and marks, of what a tool says of the call; and of a file, beside what is in it.
OF_CALLS = frozenset(
    """
    cached callid cursor duration durationms durationseconds elapsed elapsedms error errorcode
    errormessage errors exitcode exitstatus hasmore interrupted iserror jsonrpc killed limit meta
    nextcursor offset ok page pattern q query rc regex requestid returncode search signal succeeded
    success timedout timems took toolcallid tooluseid traceid truncated warning warnings
    """.split()  # noqa: SIM905
)
OF_FILES = frozenset(
    """
    absolutepath accessed atime binary birthtime bodylocation bytes chars charset checksum command
    contenttype count counts created createdat ctime cwd date diagnostics documentationurl editable
    empty encoding end endline etag exists file filename filenames filepath files group hash href id
    isbinary isdir isdirectory isempty isfile kind lang language lastmodified length linecount md5 mime
    mimetype mode modified modifiedat mtime name namepath names numfiles numlines nummatches owner path
    paths permission permissions pid range readonly relativepath role sha sha256 size sizebytes start
    startline timestamp title total totalcount totallines type uri url urls
    """.split()  # noqa: SIM905
)
# Of an object that a text is, one of these says that it is about a file, and no file of JSON.
_ABOUT = frozenset(
    """
    absolutepath diagnostics error file filename filepath isdirectory isfile message modified mtime
    namepath numfiles nummatches ok path permissions relativepath size status success truncated uri
    """.split()  # noqa: SIM905
)
# Those that hold the names of files.
_NAMES = frozenset(
    """
    absolutepath file filename filenames filepath files name names path paths relativepath title uri url
    """.split()  # noqa: SIM905
)
# Those that hold what a tool says.
_SPOKEN = frozenset({"status", "state", "message", "msg", "reason", "detail", "details", "note", "info"})


def is_talk(text: str, names: Collection[str] = (), *, file: bool = True) -> bool:
    """Is a text nothing but what tools say? `names`: of what was looked at.

    `file`: it would be lines of a file, and what the file is called says nothing of them. Else a line with
    one of the names, or with a number, is an answer.
    """
    if says_nothing(text) or says_how(text):
        return True
    if len(text) > _LONGEST:
        return False
    tails = {tail(name) for name in names}
    lines = [line for line in text.splitlines() if line.strip()]
    if not file and any(name in text for name in names):
        return False
    if len(lines) > _LINES:
        return False
    if file and lines and _INDENTED.match(lines[0]) is not None:
        return all(_is_of_listing(line, tails) for line in lines)
    echoes = not tails or any(name in text for name in tails)  # a file may show other commands
    alone = len(lines) == 1
    return all(_is_prompt(line, echoes) or _line_is_talk(line, tails, file, alone) for line in lines)


def _is_of_listing(line: str, tails: set[str]) -> bool:
    """Is an indented line one of a list of files, or what a tool knows of one, and no code or text?"""
    found = _ENTRY.fullmatch(line)
    if found is None:
        prose = line.lstrip()[:1].isupper() or len(line.split()) > 2
        return prose and _PLAIN.fullmatch(line) is not None and names_only(line)
    value = found[2]
    known = tail(value) in tails or value in _KINDS or not any(map(str.isalpha, value))
    return known and (plain_key(found[1]) in OF_FILES if found[1] else tail(value) in tails)


def names_only(line: str) -> bool:
    """Does a line of a search's answer only name files, and count?"""
    if _NUMBERED.match(line) is not None:
        return False
    names, rest = _parted(_ELEMENT.sub(" ", line))
    words = words_of(rest)
    if words or names:
        return words <= _TALK
    return all(each.isdecimal() for each in re.findall(r"\w[^\s|)]*", rest))  # `1.4` is no count


def _is_prompt(line: str, echoes: bool) -> bool:
    found = _PROMPT.match(line)
    return found is not None and (echoes or not line[found.end() :].strip())


def _line_is_talk(line: str, tails: set[str], file: bool, alone: bool) -> bool:
    numbered = _NUMBERED.match(line)
    if numbered is not None and not (tails and numbered[1] and tail(numbered[1]) not in tails):
        return False
    if _LISTED.match(line):
        return True
    bare, tags = _TAG.subn(" ", line) if "<" in line else (line, 0)
    names, rest = _parted(bare)
    words = words_of(rest)
    if words and _REMARK.match(line) is not None:
        return False
    if _ASIDE.match(line):
        return True
    if _CODE.search(bare) is not None or (words and bare.rstrip().endswith(_ENDED)):
        return False
    if not file:  # what something became may be said in the same words
        return len(words) > 1 and words <= _TALK and not any(map(str.isdigit, bare))
    if refuses(bare, words, _TALK, alone=alone):
        return True
    if len(words) == 1 and not names:  # a file may hold one word, if it is none of how a call ends
        if not words.isdisjoint(_ENDS) or (words <= _TALK and _FRAMED.search(rest) is not None):
            return True
        return ":" in rest and not words.isdisjoint(OF_FILES)
    if words:
        listed = words <= _KINDS and names and tails and tails.isdisjoint(names)
        if words <= _NOUNS and ":" not in rest and _FRAMED.search(rest) is None:
            return False  # `contents of the file`
        return words <= _TALK and not listed and len(max(words, key=len)) > 2
    # Names of others, or numbers alone, may be all that is in a file; between tags they are a tool's own.
    return tails.issuperset(names) and bool(tags or names or not any(map(str.isalnum, rest)))


def _parted(line: str) -> tuple[list[str], str]:
    """The last parts of the names of files in a line, and the rest of it."""
    names: list[str] = []
    rest: list[str] = []
    for each in line.replace("](", " ").split():
        bare = each.strip("\"'`()[]<>:,;|")
        if "/" in each or "\\" in each or _NAME.fullmatch(bare) is not None:
            names.append(tail(bare))
        else:
            rest.append(each)
    return names, " ".join(rest)


def tail(name: str) -> str:
    """The last part of a path."""
    return name.replace("\\", "/").rpartition("/")[2]


def tells_nothing(
    value: Any, names: Collection[str] = (), *, file: bool, held: frozenset[str], most: int
) -> bool:
    """Does an object, or a list of objects, only tell how the call went?

    `file`: or what is known of a file beside what is in it, in which case numbers tell nothing. `held`: keys
    of texts that are judged by their lines. `most`: values that are looked at.
    """
    tails = {tail(name) for name in names}
    empty = type(value) is dict and [] in value.values()  # how little there was says no more
    todo: list[tuple[str, bool, Any]] = [("", True, value)]
    while todo:
        key, spoken, here = todo.pop()
        most -= 1
        if not most:
            return False
        if type(here) is dict:
            todo.extend((plain_key(below), below in held, each) for below, each in here.items())
        elif type(here) is list:
            todo.extend((key, spoken, each) for each in here)
        elif here is None or (empty and not here) or key in OF_CALLS:
            continue
        elif type(here) is not str:
            if not file and key != "code":
                return False
        elif file and key in _NAMES and tails and tail(here) not in tails:
            return False
        elif spoken or file or key in _SPOKEN:
            if not (file and key in OF_FILES) and not is_talk(here, names, file=file):
                return False
        elif not says_nothing(here) and not says_how(here):
            return False
    return True


def is_about_file(value: Any) -> bool:
    """Does an object, or one in it, say something about a file or a call?"""
    todo, left = [value], _OBJECTS
    while todo and left:
        here, left = todo.pop(), left - 1
        if type(here) is dict and any(plain_key(key) in _ABOUT for key in here):
            return True
        inside = here.values() if type(here) is dict else here
        todo.extend(each for each in inside if type(each) in (dict, list))
    return False
