"""Shell commands drawn at random, and a folder to run in those that are called read-only."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from random import Random

from callgate.rules.programs import Program, programs

CASES = Path(__file__).parents[1] / "cases" / "shell.jsonl"
SEEDS = [json.loads(line)["command"] for line in CASES.read_text("utf-8").splitlines()]

FILES = ("a", "b", "c.json", "d.yaml", "-n", "-o", "-ofile", "--output=q", "x y", "é", "sub/e", "sub/f")
OPERANDS = (
    "a",
    "b",
    "c.json",
    "d.yaml",
    "sub",
    "sub/e",
    ".",
    "new",
    "'x y'",
    "x\\ y",
    '"é"',
    "-",
    "--",
    "1",
    "HEAD",
)
EXPANSIONS = (
    "$X",
    '"$X"',
    "${X}",
    "$?",
    "$#",
    "$$",
    "$!",
    '"$!"',
    "*",
    "?",
    "{a,-onew}",
    "sub/*",
    "~",
    "$@",
    "$1",
)
EXPANSIONS_RARE = ("$(touch new)", "`touch new`", "<(touch new)", "$((X=1))", "${X:=new}", "$'a\\tb'", '$"a"')
REDIRECTS = (
    *(
        "2>/dev/null",
        ">/dev/null",
        "2>&1",
        "&>/dev/null",
        ">>/dev/null",
        "< a",
        "<a",
        "<<< x",
        "2>&-",
        "0<&-",
    ),
    *(
        ">new",
        "> new",
        ">>new",
        "2>new",
        "&>new",
        ">|new",
        "<>new",
        ">&new",
        "1>a",
        "{fd}>new",
        ">/dev/null>new",
    ),
)
JOINTS = (
    " | ",
    " && ",
    " || ",
    "; ",
    "\n",
    " |& ",
    " & ",
    "|",
    ";",
    "&&",
    " \\\n ",
    " # ",
    "\r\n",
    "\\\n",
    " ! ",
)
WRITING = (
    *(
        "-o",
        "-onew",
        "-o new",
        "--output=new",
        "--output new",
        "-i",
        "-i.bak",
        "--in-place",
        "-w new",
        "-O",
        "-rnew",
    ),
    *(
        "--out=new",
        "-r",
        "-f new",
        "-delete",
        "-fprint new",
        "-exec touch new ;",
        "-exec touch new +",
        "-C",
        "-T .",
    ),
    *(
        "--ext-diff",
        "-c core.pager=x",
        "-s new",
        "-I 'touch new'",
        "--files-with-matches",
        "-e 'w new'",
        "-v x",
    ),
)
CODE = (
    *(
        "1p",
        "'1,3p'",
        "'s/a/b/'",
        "'s/a/b/w new'",
        "'w new'",
        "'1e touch new'",
        "'s/a/touch new/e'",
        "'{p;p}'",
        "'$d'",
    ),
    *(
        "'{print}'",
        "'{print > \"new\"}'",
        "'BEGIN{system(\"touch new\")}'",
        "'{print $1}'",
        "'NR>1'",
        "'/a/,/b/p'",
    ),
    *(
        "'s|[/]|x|w new'",
        "'s/[/]/w new/'",
        "'p;w new'",
        "'y/abc/xyz/'",
        "':a;N;$!ba;s/\\n/ /g'",
        "'$!N;P;D'",
        "'/[/]/p'",
    ),
    *(
        ".",
        "'.a'",
        "keys",
        "'.[]'",
        '\'print "x" | "touch new"\'',
        "'s/x/y/;w new'",
        "'s,a,b,gw new'",
        "'a\\new'",
    ),
    *(
        "-name '*'",
        "-type f",
        "-newer a",
        "-maxdepth 1",
        "-printf '%p'",
        "! -name a",
        "'%s\\n'",
        "%d",
        "+%s",
        "-f",
        "-eq",
    ),
)
WRAPPERS = (
    *(
        "timeout 1",
        "env",
        "env LANG=C",
        "nice",
        "nice -n 1",
        "command",
        "stdbuf -oL",
        "time",
        "LC_ALL=C",
        "TZ=UTC",
    ),
    *(
        "env X=1",
        "X=1",
        "env -S",
        "command -p",
        "exec",
        "xargs",
        "xargs -n 1",
        "eval",
        "timeout -s KILL 1",
        "builtin",
    ),
)
# They wait, or show what changes by itself outside the folder.
_SKIP = frozenset(("ps", "pgrep", "who", "tty", "xargs"))
_WAITING = frozenset("fF")
_GIT = (
    "diff",
    "log",
    "show",
    "status",
    "branch",
    "tag",
    "stash",
    "stash list",
    "remote",
    "config",
    "grep",
    "reflog",
)


def command(random: Random) -> str:
    """One command: of the programs of the table and their options, or a case with something put into it."""
    if random.random() < 0.25:
        return _spoiled(random)
    parts = [_simple(random) for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3)))]
    text = parts[0]
    for part in parts[1:]:
        text += random.choice(JOINTS) + part
    shape = random.random()
    if shape < 0.03:
        return f"( {text} )"
    if shape < 0.06:
        return f"{{ {text}; }}"
    if shape < 0.09:
        return f"if true; then {text}; fi"
    if shape < 0.12:
        items = " ".join(random.choices(OPERANDS + EXPANSIONS, k=2))
        return f"for f in {items}; do {text} {_quoted(random, '$f')}; done"
    return text


def _simple(random: Random) -> str:
    table = programs()
    name = random.choice([each for each in table if each not in _SKIP and not table[each].runner])
    if random.random() < 0.1:
        name = "git " + random.choice(_GIT)
    words = [_quoted(random, name)] if " " not in name and random.random() < 0.1 else [name]
    if random.random() < 0.15:
        words.insert(0, random.choice(WRAPPERS))
    if name == "python" or name.startswith("python "):
        words = ["python3 -m json.tool"]
    program = table.get(name)
    for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4))):
        words.append(_word(random, program))
    if name in ("[", "[["):
        words.append("]" * len(name))
    return " ".join(words)


def _word(random: Random, program: Program | None) -> str:
    kind = random.random()
    if kind < 0.35 and program is not None:
        return _option(random, program)
    if kind < 0.65:
        return _quoted(random, random.choice(OPERANDS)) if random.random() < 0.1 else random.choice(OPERANDS)
    if kind < 0.77:
        return random.choice(CODE)
    if kind < 0.83:
        return random.choice(EXPANSIONS)
    if kind < 0.85:
        return random.choice(EXPANSIONS_RARE)
    if kind < 0.93:
        return random.choice(REDIRECTS)
    return random.choice(WRITING)


def _option(random: Random, program: Program) -> str:
    value = random.choice(("1", "a", "new", "-o", "x", "'a b'", "1,2", "-ofile", "%H", "--"))
    letters = sorted(program.flags - _WAITING)
    made = []
    if letters:
        made.append("-" + "".join(random.choices(letters, k=random.choice((1, 1, 2, 3)))))
        made.append(made[0] + random.choice(("o", "i", "onew", "w")))
    for letter in sorted(program.values):
        made += [f"-{letter} {value}", f"-{letter}{value}"]
    made += [f"-{letter}{value}" for letter in sorted(program.attached)]
    for name, ends in program.long.items():
        if name not in ("follow", "retry"):
            made.append(
                f"--{name}" + (f"={value}" if ends and random.random() < 0.7 else f" {value}" if ends else "")
            )
    made += [f"{name} {value}" if ends else name for name, ends in program.words.items()]
    return random.choice(made) if made else value


def _quoted(random: Random, text: str) -> str:
    if any(each in text for each in "'\"\\"):
        return text
    if random.random() < 0.3:
        return f'"{text}"'
    if random.random() < 0.3:
        return f"'{text}'"
    at = random.randrange(len(text))
    return text if text[0] == "$" else f"{text[:at]}\\{text[at:]}"


def _spoiled(random: Random) -> str:
    """A case in which a few characters are put in, taken out or doubled."""
    text = random.choice(SEEDS)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(text) + 1)
        put = random.choice(
            (*">;&|\\\"'`$!#{}()[]*?~\n\t\r -", ">new", " -o new", ";touch new", "&& touch new", "$X")
        )
        text = text[:at] + put + text[at + random.choice((0, 0, 0, 1, 2)) :]
    return text


BODIES = ("> no", "it's", "EOF", "\tEOF", "$x", "a\\\\", "`:`", "$(: > no)", ")", "done", "<<EOF", '"')
QUOTED = (
    " ",
    "> no",
    "it's",
    "$(echo ')')",
    "`:`",
    "$((1+(2)))",
    "${x:-$(:)}",
    "$(cat <<'Q'\n' )\nQ\n)",
    '\\"',
    "#",
    "\n",
)


class Script:
    """Draws a script for bash, of which every part is run, that writes files which it names one by one."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[str] = []
        self.documents: list[str] = []
        self.text = self.lines(0)

    def into(self) -> str:
        self.names.append(f"f{len(self.names)}")
        operator = self.random.choice(("> ", ">", ">> ", "2> ", "&> "))
        return operator + self.random.choice(("{}", "'{}'", '"{}"', "./{}", "\\{}")).format(self.names[-1])

    def word(self) -> str:
        parts = self.random.choices(QUOTED, k=self.random.randint(0, 3))
        return self.random.choice(
            (f'"{"".join(parts)}"', "$(:)", "`:`", "a#b", "\\>", "'> no\n'", "<(:)", "$'\\''", "{a,b}")
        )

    def end(self) -> str:
        """A line's end, with the here-documents that begin in it."""
        ends, self.documents = self.documents, []
        bodies = []
        for end in ends:
            plain = end.strip("'\"\\")
            lines = self.random.choices(BODIES[:3] if plain == end else BODIES, k=self.random.randint(0, 3))
            bodies += [line + "\n" for line in (*(each for each in lines if each.strip() != plain), plain)]
        return "\n" + "".join(bodies) if bodies else self.random.choice(("\n", "; ", "\n# it's > no\n"))

    def command(self) -> str:
        match self.random.randrange(7):
            case 0:
                self.documents.append(self.random.choice(("EOF", "'EOF'", "\\EOF", '"E F"')))
                return f"cat <<{self.documents[-1]} {self.into()}"
            case 1:
                return f"echo {self.word()} | tee {self.into().lstrip('>&2 ')}"
            case 2:
                return f"bash -c 'echo a {self.into().replace(chr(39), '')}'"
            case 3:
                return f'env A=1 sh -c "echo; : {self.into().replace(chr(34), "").replace("&", "")}"'
            case 4:
                return "[[ a > no ]]; (( 1 > 2 )); x=" + self.word()
            case _:
                return f"echo {self.word()} {self.into()}"

    def block(self, depth: int) -> str:
        match self.random.randrange(7) if depth < 3 else 6:
            case 0:
                return f"if :; then {self.lines(depth)}fi {self.into()}"
            case 1:
                first, second = f"f{len(self.names)}", f"f{len(self.names) + 1}"
                self.names += [first, second]
                return f"for v in {first} {second}; do : > $v; done"
            case 2:
                return f"case a in (b) ;; a|c) {self.lines(depth)};; esac {self.into()}"
            case 3:
                return f"( {self.lines(depth)})"
            case 4:
                return f"while :; do {self.lines(depth)}break; done {self.into()}"
            case _:
                return self.command() + self.random.choice(("", "", " &\nwait")) * (not self.documents)

    def lines(self, depth: int) -> str:
        return "".join(self.block(depth + 1) + self.end() for _ in range(self.random.randint(1, 3)))


class Folder:
    """A folder with files and a git repository, and what is in it."""

    def __init__(self, path: Path, shell: str = "/bin/bash", programs: str = "/usr/bin:/bin") -> None:
        self.path = path
        self.shell = shell
        self.programs = programs
        (path / "sub").mkdir()
        for name in FILES:
            (path / name).write_text('{"a": ["b", 1]}\n' if "json" in name else "a: b\nb a\nc\n", "utf-8")
        if shutil.which("git", path="/usr/bin:/bin"):
            for words in (("init", "-q"), ("add", "a", "b"), ("commit", "-qm", "x")):
                who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
                subprocess.run(("git", *who, *words), cwd=path, env=self.environment(), check=False)
        self.user = 65534 if os.geteuid() == 0 else None
        if self.user is not None:
            for each in (path, *path.rglob("*")):
                os.chown(each, self.user, self.user)
        self.before = self.state()

    def environment(self) -> dict[str, str]:
        return {
            "PATH": self.programs,
            "HOME": str(self.path),
            "X": "-onew",
            "LANG": "C.UTF-8",
            "GIT_PAGER": "cat",
        }

    def run(self, text: str) -> int | None:
        """The exit status, None where it took too long."""
        try:
            done = subprocess.run(
                (self.shell, "-c", text, "shell", "-onew"),
                cwd=self.path,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=2,
                check=False,
                user=self.user,
                group=self.user,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.returncode

    def output(self, text: str) -> str:
        """What a command that was called read-only prints."""
        environment = {**self.environment(), "HOME": "~"}
        done = subprocess.run(
            (self.shell, "-c", text),
            cwd=self.path,
            env=environment,
            capture_output=True,
            timeout=5,
            check=False,
        )
        return done.stdout.decode()

    def state(self) -> dict[str, tuple[object, ...]]:
        """Names, modes, times and contents; git's index aside, in which git keeps when it last looked."""
        found: dict[str, tuple[object, ...]] = {}
        for folder, folders, names in os.walk(self.path):
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                if name in (".git", "index") and ".git" in path:
                    continue
                about = os.lstat(path)
                content = b"" if name in folders else Path(path).read_bytes()
                digest = hashlib.blake2b(content, digest_size=16).hexdigest()
                found[path] = (about.st_mode, about.st_mtime_ns, about.st_size, digest)
        return found
