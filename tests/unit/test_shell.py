"""Shell commands: a test for each rule of `docs/shell.md` on what changes something, and what names what."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from callgate.engine.errors import InputError
from callgate.engine.shell import is_search, mutates, reads, runs, said, shows, targets
from callgate.engine.shellread import LONGEST, LONGEST_LINE
from callgate.rules.programs import programs


def all_mutate(*commands: str) -> None:
    assert [each for each in commands if not mutates(each)] == []


def none_mutates(*commands: str) -> None:
    assert [each for each in commands if mutates(each)] == []


def test_what_is_not_known_mutates() -> None:
    all_mutate(
        "foo", "./cat a", "/tmp/ls", "bin/cat a", "~/cat a", "/usr/bin/../../tmp/cat a", "Cat a", "pytest"
    )
    all_mutate("'git diff' a", "'sed -i' a", "'[[' a ]]")
    none_mutates("/bin/cat a", "/usr/bin/cat a", "'cat' a", "c\\at a")


def test_options_are_allowed_one_by_one() -> None:
    all_mutate(
        "sort -o f a", "sort -uof a", "sort --output=f a", "sort --out=f a", "sort -T . a", "tree -o f"
    )
    all_mutate(
        "tree -R", "file -C", "rg --pre ./x y", "rg -z x", "yq -i . a", "yq -s .a a", "date -s x", "cat --x"
    )
    none_mutates(
        "sort -u -k 2 a", "tree -L 2", "file a", "rg -n foo src", "yq -r .a a", "ls -la --color=never"
    )


def test_an_operand_may_be_what_is_written_to() -> None:
    all_mutate(
        "uniq a b",
        "xxd a b",
        "xxd a -h",
        "xxd a --",
        "uniq a --",
        "uniq a -c",
        "uniq *",
        "hostname x",
        "date 01010101",
        "uniq -- $X",
    )
    all_mutate(
        "python -m json.tool a b",
        "git branch x",
        "git tag x",
        "git branch x --list",
        "git branch --abbrev x",
        "git branch --no-column --abbrev x",
        "git config a.b c",
    )
    none_mutates(
        "uniq -c a", "xxd -l 8 a", "date +%s", "git branch --list 'x*'", "git branch --contains HEAD"
    )


def test_an_option_that_may_be_a_value_is_in_doubt() -> None:
    all_mutate("sort -k -of a", "sort -t -o f", "git log -n --output=x", "sort -k {1,-of} a", "sort -k * a")
    none_mutates("grep -e -x a", "find . -mtime -1 -perm -u+x", "xxd -s -16 a", "git log -n -1")


def test_an_expansion_where_an_option_could_stand_is_in_doubt() -> None:
    all_mutate(
        "cat $F",
        'cat "$F"',
        "cat ${F}",
        "echo $HOME",
        "cat $@",
        'cat "$1"',
        "cat a$F",
        "sort $'-of'",
        'sort ""$F',
    )
    none_mutates("echo $?", "echo $$ $# $!", 'echo "pid $X"', 'cat "a$F"', "sort -- $F", 'grep -e x -- "$F"')


def test_globs_and_braces_count_where_an_option_could_come_out_of_them() -> None:
    all_mutate(
        "sort *",
        "sort [-]of",
        "sort [[-]of",
        "sort {a,-of}",
        "sort {},-of}",
        "find *",
        "find . -name *",
        "c?t a",
    )
    none_mutates("cat *", "wc -l *.py", "sort src/*.txt", "sort -- *", "cat src/{a,b}", "sort ./*")


def test_loops_over_known_words_are_read() -> None:
    all_mutate(
        "for f in -of; do sort $f; done",
        "for f in 'a -of'; do sort $f; done",
        'for f in *; do sort "$f"; done',
    )
    all_mutate("for PATH in .; do cat a; done", "for path in .; do cat a; done", "for f; do cat a; done")
    all_mutate("for f in a; do for f in -of; do :; done; sort $f; done", 'for f in "$@"; do cat "$f"; done')
    none_mutates(
        'for f in a b; do cat "$f"; done',
        "for f in a b; do cat $f; done",
        'for f in *.py; do wc "$f"; done',
        'for d in src/*; do [ -d "$d" ] && (cd "$d" && ls); done',
    )


def test_substitutions_mutate() -> None:
    all_mutate(
        "echo $(x)",
        "echo `x`",
        'echo "$(x)"',
        'echo "`x`"',
        "cat <(x)",
        "cat >(x)",
        "echo $((x=1))",
        "echo $[1]",
    )
    all_mutate("echo ${X:=y}", "echo ${X@P}", 'echo "${X:-$(x)}"', "echo ${!X}", "((x=1))", "echo $\\\n(x)")
    none_mutates("echo '$(x)' '`x`'", 'echo "\\$(x) \\`x\\`"')


def test_redirections_to_files_mutate() -> None:
    all_mutate(
        "cat a > f",
        "cat a>f",
        "cat a >> f",
        "cat a >| f",
        "cat a &> f",
        "cat a >& f",
        "> f",
        ":> f",
        "cat <> f",
    )
    all_mutate(
        "cat a 2> f",
        "cat a {fd}> f",
        "cat a > /dev/null > f",
        "cat a > /dev/nullx",
        "cat a > $X",
        "(cat a) > f",
    )
    all_mutate(
        "cat < /dev/tcp/h/1", "cat << X\nX", "cat a > /dev/stdout", "if :; then cat a; fi > f", "[[ a > f ]]"
    )
    none_mutates(
        "cat a 2>&1",
        "cat a 2>/dev/null",
        "cat a &> /dev/null",
        "cat < a",
        "cat <<< a",
        "cat a >&2",
        "cat 0<&-",
    )


def test_assignments_mutate_but_for_how_things_are_shown() -> None:
    all_mutate(
        "X=1 cat a", "PATH=. cat a", "X=1", "LANG=C", "LANG=$(x) cat a", "LANG=C X=1 cat a", "env X=1 cat a"
    )
    all_mutate("X[0]=1 cat a", "X=(1) cat a", "LANG+=$X cat a", "'LANG=C' cat a")
    none_mutates("LANG=C cat a", "LC_ALL=C TZ=Europe/Berlin ls -l", "NO_COLOR=1 ls", "env COLUMNS=80 ls")


def test_code_in_sed() -> None:
    all_mutate(
        "sed 'w f' a",
        "sed '1e x' a",
        "sed s/a/b/w\\ f a",
        "sed s/a/b/e a",
        "sed 's/[/]/w f/' a",
        "sed 's|[|]|w f|' a",
    )
    all_mutate(
        "sed -f s a", "sed -e p -e 'w f' a", "sed -ep -ew\\ f a", "sed '/a/{w f\n}' a", "sed ':a\nw f' a"
    )
    all_mutate(
        "sed 'b;w f' a",
        "sed '}w f' a",
        "sed 's/a/\\\n/w f' a",
        'sed "$X" a',
        "sed -i p a",
        "sed -n --in-place p a",
    )
    none_mutates(
        "sed -n '1,5p' a", "sed -n '/a/,/b/p' a", "sed 's/a/b/g; s|c|d|' a", "sed ':a;N;$!ba;s/\\n/ /g' a"
    )
    none_mutates(
        "sed -E 's/([0-9]+)/<\\1>/' a", "sed -n '/[[:alpha:]]/{=;p}' a", "sed '$d;/^#/d' a", "sed y/ab/cd/ a"
    )


def test_code_in_awk() -> None:
    all_mutate(
        "awk '{print > \"f\"}' a",
        "awk '{print|\"sh\"}' a",
        "awk 'BEGIN{system(\"x\")}'",
        "awk -f s a",
        "awk -i inplace 1 a",
    )
    all_mutate(
        "awk 'BEGIN{\"x\"|getline}'",
        "awk '@load \"x\"'",
        "awk 'pri\\\nnt > \"f\"' a",
        'awk "$X" a',
        "gawk -o f 1 a",
    )
    none_mutates(
        "awk '$3 > 5' a",
        "awk -F: '{print $1}' a",
        "awk '/a|b/ {n++} END {print n}' a",
        "awk -v n=1 '$1>n{print}' a",
    )


def test_code_in_other_programs() -> None:
    all_mutate(
        "find . -exec x {} +",
        "find . -ok x {} ;",
        "find . -delete",
        "find . -fprint f",
        "find . -fls f",
        "perl -ne 1",
    )
    all_mutate(
        "python -c 1", "python", "python x.py", "node -e 1", "ruby -ne 1", "python -m http.server", "make -n"
    )
    all_mutate(
        "printf -v x a",
        "printf %n x",
        "printf %d 'a[$(x)]'",
        "test -v 'a[$(x)]'",
        "[[ x -eq 1 ]]",
        "yq 'system(1)' a",
    )
    none_mutates(
        "find . -type f -not -name '*.py'",
        "python -V",
        "printf '%s\\n' a",
        "[ -f a ]",
        "test 1 -lt 2",
        "[[ a == b ]]",
    )


def test_git() -> None:
    all_mutate(
        "git diff --output=f",
        "git log --ext-diff",
        "git show --textconv",
        "git -c a=b log",
        "git x",
        "git stash",
        "git",
    )
    all_mutate(
        "git --git-dir=x log",
        "git -p log",
        "git log --show-signature",
        "git log --format=%G?",
        "git reflog expire",
    )
    all_mutate(
        "git grep -Ox y",
        "git remote add a b",
        "git remote update",
        "git tag -d x",
        "git fetch",
        "git stash pop",
    )
    none_mutates(
        "git status -s",
        "git --no-pager log -5",
        "git -C sub diff HEAD~1",
        "git stash list",
        "git reflog",
        "git tag -l",
    )


def test_wrappers_are_seen_through() -> None:
    none_mutates(
        "env LANG=C cat a",
        "nice -n 5 cat a",
        "timeout -k 1 5s cat a",
        "time -p cat a",
        "stdbuf -oL cat a",
        "env",
    )
    none_mutates("command cat a", "command -v x", "nohup cat a", "env nice timeout 5 cat a", "env -i cat a")
    all_mutate(
        "env -S 'rm a'", "env rm a", "timeout 5 ./x", "time -o f cat a", "env -C / cat a", "command -p cat a"
    )
    all_mutate("timeout cat a", "nice ./x", "env " * 20 + "cat a")


def test_what_runs_other_programs_mutates() -> None:
    all_mutate(
        "sudo cat a",
        "sh -c 'cat a'",
        "bash x",
        "ssh h cat a",
        "docker ps",
        "kubectl get pods",
        "eval cat a",
        "exec cat a",
    )
    all_mutate(
        "source a",
        ". a",
        "npm ls",
        "pip list",
        "curl x",
        "wget x",
        "tar tf a",
        "ip a",
        "sysctl -w a=1",
        "less a",
        "man x",
    )


def test_xargs_may_feed_programs_that_never_write() -> None:
    none_mutates(
        "xargs cat", "find . -name x -print0 | xargs -0 -n 1 grep -n foo", "ls | xargs -I{} wc -l {}"
    )
    all_mutate(
        "xargs rm",
        "xargs",
        "xargs env",
        "xargs sort",
        "xargs sh -c x",
        "xargs -I cat cat x",
        "xargs find",
        "xargs git diff",
    )


def test_every_part_counts() -> None:
    for joint in ("|", "||", "&&", ";", "\n", "|&"):
        none_mutates(f"cat a {joint} cat b")
        all_mutate(f"cat a {joint} rm b", f"rm b {joint} cat a")
    none_mutates(
        "(cat a; ls)", "{ cat a; }", "if [ -f a ]; then cat a; elif ls; then :; else pwd; fi", "! grep -q x a"
    )
    none_mutates(
        "while cat a; do ls; done", "until cat a; do ls; done", "cat a # rm b", "# only this", "cat a \\\n -n"
    )
    all_mutate(
        "(rm a)",
        "{ rm a; }",
        "if rm a; then :; fi",
        "if :; then :; else rm a; fi",
        "while rm a; do :; done",
        "! rm a",
    )


def test_what_is_not_read_mutates() -> None:
    all_mutate(
        "cat a & rm b",
        "cat a &",
        "f() { cat a; }; f",
        "function f { cat a; }",
        "case a in a) cat a;; esac",
        "coproc cat a",
    )
    all_mutate(
        "cat 'a",
        'cat "a',
        "cat a)",
        "(cat a",
        "cat a;;",
        "if cat a",
        "cat a |",
        "echo !rm",
        'echo "!rm"',
        "ls !(a)",
    )
    all_mutate(
        "cat a\r\nls",
        "cat\u00a0a",
        "cat a\0b",
        "\ud800",
        "cat a\x1b",
        "cat \u200ba",
        "ca\\\nt a",
        "fi",
        "then cat a",
    )
    all_mutate(
        "(" * 100 + "cat a" + ")" * 100, "cat " + "a" * LONGEST, "Get-Content a", "dir /b | del", "cat a; }"
    )


def test_where_a_shell_ends_a_quoted_text_elsewhere_it_mutates() -> None:
    # dash reads `$` and then a plain quoted text.
    all_mutate("echo $'a\\'; touch x #'", "cat a$'\\'' b", "grep $'x\\'y' a", "sort $'-of'", "sort a $''")
    all_mutate("sort -k$'1' a", "$'cat' a", "LANG=$'C' cat a", "cat a >$'/dev/null'", "sed $'p' a")
    none_mutates("grep $'\\t' a", "echo $'a\\\\' b", "cat a$'b'")


def test_a_keyword_behind_the_end_of_a_condition_mutates() -> None:
    # bash and zsh need no `;` before it; zsh's short `if [[ a ]] COMMAND` has none at all.
    all_mutate(
        "if false; then [[ x ]] else touch f ]]; fi",
        "for i in 1; do if false; then ! [[ x ]] else touch f ]]; fi; done",
        "if false; then time [[ x ]] else touch f ]]; fi",
        "if [[ a ]] { touch f } elif [[ x ]]; then ls; fi",
        "if [[ a ]] touch f ]]\nthen ls; fi",
        "[[ a ]] ]]",
        "[ a ] ]",
    )
    none_mutates("[[ -f a ]] && cat a", "if [[ a == ']]' ]]; then ls; fi", "time [[ a ]]", "grep ]] a")


def test_what_is_a_line_by_itself_is_no_part_of_a_word_or_command() -> None:
    # Where a shell calls what stands before it an error, it goes on with the next line.
    more = "'x\ntouch f\n'"
    all_mutate(
        f"cat a 2>&1</dev/null {more}",
        f"{{ ls; }} 2>&1</dev/null; echo {more}",
        f"cat < 2>/dev/null {more}",
        f"cat <1>/dev/null {more}",
        f"LANG=C time ls {more}",
        f"time | cat {more}",
        f"time -p || cat {more}",
        f"if time | ls; then ls; fi; echo {more}",
        f"ls &>>/dev/null; echo {more}",
        "echo $'a\ntouch f\n'",
        "cat 2>&1</dev/null \\\n touch f",
        f"! cat {more}",
        f"[[ -f a ]] && cat {more}",
        f"[[ ! a = b* ]]; cat {more} 2>&1",
        f"(ls) | cat {more}",
    )
    none_mutates("cat a \\\n  -n", "cat a \\\n  | sort \\\n | uniq -c", "ls a \\\n && cat a", "ls\ncat a")
    all_mutate(
        f"[[ a b ]] && cat {more}",
        f"[[ -f = a ]] && cat {more}",
        f"[[ -Q a ]] && cat {more}",
        f"[[ a 2>&1 ]]; cat {more}",
        "[[ a 2>&1 \\\n touch f ]]",
        f"! ! cat {more}",
        f"ls |& cat {more}",
        f"cat <<<a {more}",
        f"ls >& /dev/null {more}",
    )
    none_mutates(
        "[[ a -nt b ]]",
        "[[ '-f' ]]",
        "[[ ! -d a ]]",
        "[[ x == a* ]]",
        "ls |& cat",
        "cat <<< a",
        "ls >& /dev/null",
    )


def test_a_brace_that_nothing_opened_mutates() -> None:
    # zsh closes a group there.
    all_mutate(
        "{ echo a } always { touch f; }",
        "{ echo a} always { touch f; }",
        "{ cat <a} always { touch f; }",
        "{ echo {a}} always { touch f; }",
        "{ echo {a}b} always { touch f; }",
        "{ echo ''} always { touch f; }",
        '{ echo "{"} always { touch f; }',
        "{ echo \\{a} always { touch f; }",
        "{ echo \\\\} always { touch f; }",
        "{ echo a$?} always { touch f; }",
        "for i in a } always { touch f; }; do ls; done",
        "ls }",
        "cat < }",
    )
    none_mutates("cat x{a,{b,c}}d", "echo {}", "echo {", "git show stash@{0} HEAD@{1}", 'ls "./${HOME}"')
    none_mutates(
        "{ ls; }",
        "{ { ls; }; } 2>&1",
        "{ ls; }>/dev/null",
        "echo \\} '}' \"}\" a\\}",
        "find . | xargs -I{} cat {}/x",
    )
    none_mutates("awk '{print $1}' a", "rg 'a{2}}' a", 'cat "a}"')


def test_where_a_shell_reads_a_redirection_in_another_way_it_mutates() -> None:
    # dash: a background job and another command; dash and zsh: an operand `10`; zsh and BusyBox: a file `1-`.
    all_mutate("echo a &>/dev/null touch x", "&>/dev/null cat a", "cat a &>>/dev/null LANG=C b")
    all_mutate("uniq a 10>/dev/null", "cat a 12<b", "cat a >&1-", "cat a 2>&1-", "cat a <&0-", "cat a >&x")
    none_mutates("cat a &>/dev/null", "cat a &>/dev/null && cat b", "cat a 1>&2", "cat a >&-", "cat a 5>&1")


def test_a_comment_is_read_as_words_too() -> None:
    # A zsh at a prompt knows no comments.
    all_mutate(
        "ls # ; touch x", "cat a # >x", "cat a #|tee x", "cat a # `touch x`", "ls # $(x)", "# & touch x"
    )
    all_mutate(
        "cat a # don't", "ls # \\\ntouch x", 'ls # "', "ls # *", "ls # (x)", "ls # {a}", "ls # ~x", "ls # !x"
    )
    all_mutate(
        "sort a # -o x", "sort a # =o", "uniq a # b", "uniq a #", "xxd a # b", "git branch # x", "pwd # x"
    )
    all_mutate(
        "python -m json.tool # a", "sort a \\\n # -ox", "env # x", "for f in a # -of\ndo sort $f; done"
    )
    none_mutates(
        "cat a # note: see b.cfg, or c/d", "# only this\nuniq a", "uniq a; # x", "git status # now", "ls #x"
    )
    # In a line of its own it is a command `#`, or an error.
    remarks = (
        "what is here?",
        "it's",
        "1) look",
        "list (all)",
        "a = b",
        'the "x"',
        "a 'b' *",
        "a — b",
        "[x] ~",
    )
    none_mutates(*(f"# {each}\nls" for each in remarks), "#!/bin/bash\nls", "ls\n  # why?\ncat a")
    none_mutates("for f in a; do\n  # why?\n  sort $f\ndone")
    all_mutate(
        *("# it's\necho ';touch f;'", "# list ()\nls", "# *(e:x:)\nls", "# a (b)(c)\nls", "# a; touch x\nls"),
        *(
            "# `x`\nls",
            "# $x\nls",
            "# {a}\nls",
            "# a \\\ntouch x",
            "ls # why?",
            "ls\n#!/bin/bash",
            '# a"b\nls',
        ),
        *("for f in a; do\n # it's\n sort $f\ndone", "ls \\\n# why?\n"),
    )
    none_mutates("if true # yes\nthen cat a; fi # done", 'for f in a b # no\ndo stat "$f"; done')
    assert runs("pytest # --co", "pytest") is None
    assert shows("cat a # b") == ()


def test_a_signature_in_a_format_of_git_mutates() -> None:
    for place in (
        "log --format={}",
        "show --pretty=tformat:{}",
        "shortlog --group={}",
        "reflog --format=format:{}",
    ):
        for form in (
            "%G?",
            "%+G?",
            "%-GK",
            "% GS",
            "%<(9)%GK",
            "%C(red)%GG",
            "%w(1)%+GP",
            "%>|(9)%GF",
            "%%G",
            "%+-G",
        ):
            all_mutate(f"git {place.format(repr(form))}")
    all_mutate("git for-each-ref --format='%(signature:key)'", "git tag --format='%(signature)'")
    all_mutate(
        "git branch --sort=signature", "git rev-list --format=%G? HEAD", "git verify-commit a", "git tag -v a"
    )
    none_mutates(
        "git log --format='%h %an %C(red)%s'", "git log --pretty=fuller", "git shortlog --group=author"
    )


def test_options_are_read_as_the_program_reads_them() -> None:
    # `tree` takes the next words for `I`, `L` and `P`, and reads on in the word behind them.
    all_mutate("tree -Io pat out", "tree -Po pat out", "tree -Lo 2 out", "tree -LR 1", "tree -aLLo 1 2 out")
    none_mutates("tree -L 2 -I 'a|b' src", "tree -aL 2", "tree -L2", "tree -dfL 3 -P '*.py'")
    # The `yq` for `jq` takes `-i` behind the dashes, too; NetBSD's `sort -R` takes the dashes.
    all_mutate("yq -y .a f -r -- -i", 'yq -r .a -- "$X"', "sort -R -- -o f", "sort -nR -- *")
    none_mutates("cat a | sort -R", "sort -u -- a", "sort -- -o")
    # gawk connects to a host where a file's name begins with /inet.
    all_mutate("awk 1 /inet/tcp/0/h/80", "awk '{print}' /inet4/tcp/0/h/80", "awk 'BEGIN{ARGV[1]=x}1'")
    all_mutate("gawk 1 /{inet,x}/tcp/0/h/80", "gawk 1 /in{et,x}/tcp/0/h/80", 'awk 1 "/$X"')
    all_mutate(
        "for f in /inet/tcp/0/h/80; do gawk 1 $f; done",
        'for f in /inet/tcp/0/h/80; do awk 1 "$f"; done',
        "for f in inet/tcp/0/h/80; do awk 1 /$f; done",
        'for f in a /{inet,x}/tcp/0/h/80; do awk 1 "$f"; done',
        "for f in /in; do awk 1 ${f}et/tcp/0/h/80; done",
        "awk 1 $'/inet/tcp/0/h/80'",
        "gawk 1 a $'/in'et/tcp/0/h/80",
    )
    none_mutates("awk 1 /var/*.log", "awk 1 src/{a,b}", 'for f in a /b/*; do awk 1 "$f"; done')


def test_what_a_prompt_takes_for_itself_mutates() -> None:
    all_mutate("echo a \\\n^x^'^'", "echo 'a\n ^x^y'", "^a^b", "cat a\n  ^a^b", 'echo "a\n^b"')
    all_mutate("echo $!touch", "echo \\\n$!touch", "echo \"$!\" \"; touch x; echo '\" '\"' '\"' \\'")
    all_mutate("uniq a \t", "uniq a\t", "\tcat a", "if true; then\n\tcat a\nfi", "cat a # b\tc", " \t\n")
    all_mutate("cat 'a\x1b'", "cat a\x16", "echo 'a\x7f'", "cat a\x09")
    none_mutates("echo a^b", "grep '^a' f", "cut -d'\t' -f 1 a", "echo $! b")


def test_a_numeric_glob_of_zsh_is_no_redirection() -> None:
    all_mutate(
        "cat <1-9>&- touch f", "uniq a <1-9>&2", "echo <->&- touch f", "cat <1->/dev/null", "cat a<-9>&2"
    )
    none_mutates("cat <in.txt", "cat < 1-9", "cat <<< 1-9", "grep -c x <1-9")


def test_what_zsh_takes_for_a_part_of_a_parameter_mutates() -> None:
    for name in ("$?", "$#", "$$", "$0", "$*", "$-", "$@", "$1", "$12", "$_"):
        for more in ("[PATH=1]", ":s/0/-of/", ":&", ":h"):
            all_mutate(f"cat a{name}{more}", f'cat "a{name}{more}"', f'echo "rc={name}{more}"')
    none_mutates(
        "echo $?", 'echo "rc=$?"', 'echo "$?: done"', 'echo "$?:$#:1"', 'echo "a $1: b"', 'echo "$?，"'
    )


def test_a_loop_over_a_name_that_a_shell_sets_itself_mutates() -> None:
    for name in ("match", "mbegin", "mend", "dirstack", "pipestatus", "mapfile", "history", "status"):
        all_mutate(f"for {name} in a; do uniq ${name}; done")
    none_mutates("for file in a b; do uniq $file; done", "for m in a; do head -n 3 $m; done")


def test_a_tilde_that_may_be_any_folder_mutates_where_a_name_may_connect() -> None:
    # bash looks for /dev/tcp when it knows what `~+` is; zsh takes `~x` for the variable of that name.
    all_mutate(
        "cat < ~+/tcp/h/80", "cat <~-/tcp/h/80", "cat <~dev/tcp/h/80", "cat < ~0", "cat <~/../dev/tcp/h/80"
    )
    all_mutate(
        "for x in /inet/tcp/0/h/80; do awk 1 ~x; done",
        "for x in /inet/tcp/0/h/80; do for f in ~x; do awk 1 $f; done; done",
        "awk 1 ~+/{inet,x}/tcp/0/h/80",
        "awk 1 ~x/*",
    )
    none_mutates("cat < ~/a", "awk 1 ~/a", "awk '$1==~x' a", "cat ~root/a", "awk '{print}' a~", "cat < a~")


def test_a_line_that_goes_on_with_a_dash_alone_mutates() -> None:
    # zsh takes it for a word before a command.
    all_mutate(
        "LANG=C time ls | cat \\\n - touch f",
        "{ cat a \\\n -; }",
        "{ cat \\\n  -\\\n -n; }",
        "{ cat \\\n -''; }",
        "{ cat \\\n -|cat; }",
    )
    none_mutates("cat a \\\n  -n", "cat a \\\n  --number")


def test_the_variable_of_a_loop_is_known_only_in_the_line_where_it_begins() -> None:
    # What some shell calls an error in a later line leaves the old value to the lines behind it.
    all_mutate(
        "for x in a; do ls |& cat\nsort $x a\ndone",
        'for x in a; do [[ y ]]\n sort "$x"\ndone',
        "for x in a; do for y in b\ndo ! sort $x; done\ndone",
        "for x in a; do (ls) \\\n | sort $x; done",
        "for x in a\ndo for x in -of; do ls; done; sort $x; done",
    )
    none_mutates(
        "ls\nfor x in a; do stat $x; done\nls",
        'for f in *.py\ndo\n  echo "== $f"\n  stat -- "$f"\ndone',
        "for x in a; do stat $x\ndone",
        "for x in a\ndo stat $x\ndone",  # without its beginning the second line is an error everywhere
        "if ls\nthen\n for x in a; do stat $x; done\nfi",
    )


def test_lines_that_no_shell_takes_for_an_error_are_read_together() -> None:
    none_mutates(
        'for f in a b; do\n  cat "$f"\ndone\nls',
        'for f in a b\ndo\n  wc -l ./$f\n  grep x -- "src/$f" | head -n 3\ndone\nls',
        'for i in 1 2; do sed -n "${i}p" a; done',
        "cat a.py | \\\n  grep x",
        "cat a |\n grep x\nls",
        "ls && \\\n pwd",
        "grep -rn --include='*.py' \\\n foo src\nls",
        "awk '\n{print $1}\n' f\nls",
        "jq '\n.a\n' f",
        'echo "a\ntouch f"',
        "cat a \\\n'touch' f",
        "find . \\\n -name x | \\\n sort",
        "if [ -f a ]\nthen\n  # see\n  cat a\nfi 2>/dev/null\nls",
        "for d in a b; do for f in c d; do\n cat $d/$f\ndone\ndone",
        'for f in src/*; do\n find "$f" -name x\n wc -l "$f"\ndone',
        "ls\n\nrg x; git log && git diff\n",
    )
    all_mutate(
        "for x in -of; do\n sort a $x\ndone",
        "for x in a; do\n $x\ndone",
        'for x in a; do\n head -c 6 "$y"\ndone\nls',
        'for f in src/*; do\n wc -l "$f"\ndone\nls',
        "for x in a /dev/stdin; do\n head -c 6 $x\ndone\nls",
        "for x in a; do\n sort $x; done; head -c 6 $x\nls",
        "for x in 'a -of'; do\n sort $x\ndone",
        "for x in a # b\ndo\n sort $x\ndone",
        "for x in a; do\n if ls; then ls; fi # b\n sort $x\ndone",
        "ls | # a\nhead -c 6\nls",
        "cat a \\\n",
        "ls | (\nhead -c 6)\nls",
        "cat a 2>&1</dev/null | \\\n head -c 6\nls",
        "awk '\n!x' a",
        "echo 'a\nb' '!x'",
        "cat a \\\n # b\nls",
    )
    # Read once for each value, within bounds.
    many = " ".join(map(str, range(2_000)))
    all_mutate(f"for x in {many[:900]}; do\n{'cat $x;' * 130}\n{'cat $x;' * 130}\ndone")


def test_quotes_that_the_history_of_bash_reads_in_another_way_mutate() -> None:
    all_mutate("echo \"a! b\" \\$'a\\' '!!'", "echo $$'a\\' '!!'", "echo \\$'a'", "echo a$$'b'")
    # Behind these it takes a quote for none, or for another.
    all_mutate(
        'echo "a! b" \\" \'!!\'',
        "echo \"a! b\" \\\\'b' '!!'",
        'echo "a! b" "\\\\" \'!ls\'',
        "echo \\\"\nawk '!x' a",
        'echo "<(" \\" \'!!\'',
    )
    none_mutates("awk '!x' a", "grep 'a\\|b' a | awk '!x'", "echo \"it's\" | sed '/x/!d'", "awk '!/\\\\/' a")
    none_mutates("echo $'a' '!x'", "grep \"a\\.b\" a | grep '!x'", "echo \\\" '!= x ! '")


def test_the_program_behind_max_lines_of_xargs_is_the_next_word() -> None:
    all_mutate("ls | xargs --max-lines 1 cat")
    none_mutates("ls | xargs --max-args 1 cat", "ls | xargs -L 1 cat")


def test_comments_behind_the_last_command_are_lines_that_it_may_read() -> None:
    all_mutate(
        "head -c 2\n# touch f", "cat b\nhead -c 2\n  # touch f", "for f in a b; do head -c 2; done\n#x"
    )
    none_mutates("head -n 3 a\n# done", "cat a\n# see\ncat b")


def test_what_an_inner_program_takes_otherwise_mutates() -> None:
    all_mutate("awk '{print; for (print > f; i<1; i++);}' f=zz a")  # a `print` in parentheses
    all_mutate(
        "find . -type f -exec grep x{} + -exec rm {} \\;",  # BusyBox ends it at the first `+`
        "find . -exec grep + {} \\;",
    )
    none_mutates("awk '{print ($1 > 3)}' a", "find . -name '*.py' -exec grep -l x {} +")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("git checkout -- '*.py'", ()),
        ("git rm -fq ':/a.py'", ()),
        ("dd if=a of=f.$$", ()),
        ("sort --output=f$$ a", ()),
        ("sort -of$$ a", ()),
        ("sort --output=~/x a", ()),
        ("sed -n 'w ~/x' a", ()),
        ("cd /d && touch ~+/y", ()),
        ("cd /d && touch n &> log", ("/d/log", "/d/n")),
        ("sed -i.bak s/b/c/ a", ("a",)),
        ("sed -iE s/b/c/ a", ("a",)),
        ("install -b a b", ("b",)),
        ("rmdir -p p/q", ()),
        ("head -c 5 > f\necho touch q", ("f",)),
        ("dd of=f bs=1 count=5\necho touch q", ("f",)),
        ('awk \'{print $1 " -> " $2 ";"}\' a', ()),
        ('f=a; read -r f; cat > "$f" <<EOF\nEOF', ()),
        ('f=a; export f=b; cat > "$f" <<EOF\nEOF', ()),
        ("args=(git checkout -- x.py); $(date) > z", ("z",)),
        ("[[ $1 =~ ^[[:digit:]]+$ && $1 > 5 ]] && $(date) > z", ("z",)),
        ("bash -nc 'echo x > f'", ()),
    ],
)
def test_what_is_not_named_for_certain_is_more(command: str, names: tuple[str, ...]) -> None:
    assert targets(command) == (names, True)


def test_a_line_that_a_terminal_cuts_off_mutates() -> None:
    long = "x" * 1_000
    all_mutate(f"echo '{long}'\necho ';touch f; #'", f"echo {long}; git stash list", f"echo {'é' * 600}")
    none_mutates("\n".join([f"echo '{'x' * 900}'"] * 20))


def test_what_may_take_the_lines_behind_it_for_its_input_mutates() -> None:
    # Of `head -c 5` a prompt goes on behind the `echo `.
    all_mutate(
        "head -c 5\necho touch f",
        "ls; cat\necho touch f",
        "time od -N 5\necho touch f",
        "sed 1q -\necho touch f",
        "awk NR==1 n=1\necho touch f",
        "grep -m 1 -e x\necho touch f",
        "xargs -n 1 cat\necho touch f",
        "cmp -n 5 a -\necho touch f",
        "cd /dev && head -c 5 < stdin\necho touch f",
        "head -c 5 /dev/tty\necho touch f",
        "head -c 5 <&3\necho touch f",
        "(head -c 5)\necho touch f",
        "timeout 1 wc\necho touch f",
        "tr a b\necho touch f",
        "zcat\necho touch f",
        "ls | cat; head -c 5\necho touch f",
    )
    none_mutates(
        "head -c 5", "cat a\nls", "ls | head -n 1\nls", "head -n 1 <a\nls", "grep x <<< y\nls", "\nhead\n"
    )
    none_mutates(
        "rg x .\nls", "grep -rn x .\nls", "grep -e x a\nsed -n -e 1p a\nls", "awk 'BEGIN{print 1}'\nls"
    )
    none_mutates("grep --version\nls", "for f in a b; do stat $f; done\nls", "wc a\nzcat b")


@pytest.mark.parametrize(
    "line",
    [
        *("grep -f /dev/stdin a", "grep -f/dev/fd/0 a", "grep --file=/dev/fd/0 a", "du -X /dev/stdin a"),
        *("diff --exclude-from=/dev/stdin a b", "git --no-pager grep -f /proc/self/fd/0 x", 'du -X "$x" a'),
        *("cd /dev", "ls | grep -f //dev/stdin", "cat dev/fd/0", "grep -Rq : .", "egrep -D read x a"),
        *("diff -r a b", "wc --files0-from=list", "md5sum -c list", "sha256sum --check list"),
        *("awk 'BEGIN{ARGC=1}{exit}' a", "awk '{exit}' ARGC=1 a", "od -N 6 -S 0x3"),
        *("yq .x -r b.yaml", "yq . -y b.yaml", "yq .x -c b.yaml 2>/dev/null"),
        *("2>&1 | :", ">&2", "{ 2>&1; } | :", "time 2>&1 | :", "if 2>&1; then ls; fi | :"),
    ],
)
def test_what_finds_what_the_shell_reads_by_a_way_of_its_own_mutates(line: str) -> None:
    all_mutate(f"{line}\necho touch f")


def test_what_is_called_like_a_device_or_thrown_away_is_none() -> None:
    none_mutates(
        *(f"{line}\nls" for line in ("ls dev.txt", "cat developer/x", "echo dev/x", "ls 2>/dev/null"))
    )
    none_mutates("yq -r .x b.yaml\nls", "yq .x b.yaml\nls")
    none_mutates("{ ls; pwd; } 2>/dev/null\nls", "md5sum a\nls", "diff a b\nls", "grep -rn x src\nls")


def test_what_reads_on_in_less_plain_ways_mutates() -> None:
    lines = (
        *("cmp -n 6 a", "head -c 6 /dev/stdi?", "head -c 6 {-,a}", 'head -c 6 "/dev/stdin$unset"', "rg -q :"),
        *("for x in -; do head -c 6 -- $x; done", 'for x in a\ndo\n{ head -c 6 "$x"; }\ndone', "jq -n input"),
        *(
            "jq --args . a",
            "jq --slurpfile x /dev/stdin . a",
            "awk 'NR==1{exit}' ''",
            "grep -r x",
            "head -c 6 *",
        ),
        *(
            "head -c 6 /dev/tty </dev/null",
            "head -c 6 <a <&2",
            "head -c 6 /dev/stderr",
            "ls | head -c 6 /dev/tty",
        ),
        *(
            "ls | xargs head -c 6 /dev/tty",
            "cat <<< a |\nhead -c 6",
            "ls | # a\nhead -c 6",
            "head -c 6 /dev/fd/0",
        ),
        *("< a", "git log", "git diff", "git -C b stash list", "git grep -P x", "git --no-pager shortlog a"),
        *("head 3<a", "egrep 3<a x 3<b", "ls | cat; head 5<a"),
        *(
            "head -c 6 /dev/sh?/../stdin",
            "for x in /dev; do head -c 6 $x/stdin; done",
            "cat *.py",
            "tail +1 | :",
        ),
        *(
            "head -c 6 /proc/self/fd/[0]",
            "head -c 6 ../../dev/std[i]n",
            "for x in /dev/stdin; do head ~x; done",
        ),
        *(
            "ls | (\ncat\n)",
            "ls | { cat; }",
            "python3 -m json.tool",
            "awk '{exit}' a$'=1'",
            "awk '{exit}' a{=1,=2}",
        ),
        *("awk '{exit}' /dev/fd/0x", "tr a --help | :", 'grep -q $! "x"', "grep -q {-e,} x", "uniq +0 | :"),
        *("head -c 6 /proc/self/fd/0", "head -c 6 ~/../dev/fd/a", "grep -f - a", "du -X-", "cat ../dev/a"),
    )
    all_mutate(*(f"{each}\necho 'touch f #'" for each in lines))
    none_mutates("cat a\necho ---\ncat b", "ls\nprintf '---\\n'\nprintf '%s\\n' ---\nls", "echo -\nls")
    none_mutates("diff a b\nls", "stat *.py\nls", "jq . a\nls", "awk 1 a\nls", "head -n 5 a b\nls", "jq -n 1")
    none_mutates("ls\ngit status\nls", "git --no-pager log\nls", "git log | head -n 3\nls", "ls\ngit log")


def test_a_setting_of_the_locale_that_does_more_mutates() -> None:
    all_mutate("COLUMNS=_ ls 'psvar[$(touch f)]'", "COLUMNS=HISTSIZE-- :", "LC_ALL=zh_CN.GBK sed 's,a,b,' a")
    all_mutate("LANG=zh_CN ls", "env LC_CTYPE=ja_JP.SJIS ls", "LC_ALL=zh_CN.GBK :\nls")
    none_mutates(
        "COLUMNS=80 ls", "LC_ALL=C sort a", "LANG=en_US.UTF-8 ls", "LC_ALL= ls", "TZ=Europe/Paris date"
    )
    none_mutates("env LC_ALL=C.UTF-8 sort a", "NO_COLOR=1 ls")


def test_an_option_of_sed_behind_its_script_mutates() -> None:
    # For BSD's, and for GNU's where the host says so, the first operand is the script then.
    all_mutate("sed 'w f' -e p a", "sed '1e touch f' a -n --expression=p", "sed s/a/b/ a -n")
    none_mutates("sed -n -e p a", "sed -e p -n a b")


def test_what_the_shell_of_the_host_has_open_is_its_own() -> None:
    all_mutate(
        "echo x >&3", "ls 2>&7", "whereis 'x;touch f;'", "hostname -A", "for ignoreeof in a; do ls; done"
    )
    none_mutates("echo x >&2", "ls 2>&1", "ls 3>&1")


def test_what_changes_the_shell_itself_mutates() -> None:
    all_mutate(
        "export A=1",
        "unset a",
        "alias a=b",
        "read x",
        "mapfile x",
        "declare x=1",
        "set -e",
        "trap x EXIT",
        "umask 0",
    )
    none_mutates("cd a", "pushd a", "popd", "exit 1", "true", ":", "type a")


def test_what_a_redirection_takes_must_be_known() -> None:
    all_mutate('cat < "$F"', "cat <<< $X", "cat <& f", "cat <&$X", "cat a >&1x", "cat a 2>&1x")
    all_mutate("cat a {fd}>/dev/null", "cat {fd}</dev/null")
    all_mutate("cat a 2>&1-")
    none_mutates('cat <<< "$X"')


def test_expansions_behind_a_known_head_are_read_alike_by_all_shells_or_mutate() -> None:
    all_mutate('echo "a${X:=y}"', 'echo "a${X@P}"', 'sort "a$@"', 'cat "a$X[1]"', 'cat "a$X:h"', "echo $#X")
    all_mutate('sort a{,"$X"}', "for f in o; do sort -k -$f a; done", 'echo "$X"', "awk '{print}' a$F")
    none_mutates('echo "a$X"', 'sort "a$1"', "awk '{print}' \"a$F\"")


def test_what_only_looks_like_a_part_of_the_language_mutates() -> None:
    all_mutate("'if' ls; 'then' cat a; 'fi'", "((cat))", "cat a # !x", "( " * 5_000 + "cat a" + " )" * 5_000)


def test_options_are_complete() -> None:
    all_mutate(
        "sort -k", "sort -t", "uniq --skip-fields 1 a", "cat --numb", "cat --number=1", "sed", "sed -n"
    )
    none_mutates("uniq --skip-fields=1 a")


def test_values_that_a_program_may_run() -> None:
    all_mutate(
        "git log '--format=%G?'", "git for-each-ref '--format=%(signature)'", "git branch --sort=signature"
    )
    all_mutate('git for-each-ref --format "a$X"', 'git branch "--format=a$X"')
    all_mutate(
        "exit x", "exit 'a[$(x)]'", "date +*", "yq .a *", 'jq ".$X" f', "awk 1 -f s", "printf '\\x25n' x"
    )
    all_mutate("test -R x", "[ -f a", "sed 's|[|]|p;s|w f|g|' a", "timeout x cat a")
    all_mutate("LANG=$X cat a", 'LANG="$X" cat a', "LC_ALL=/tmp/x cat a")
    none_mutates("git log '--format=%h %s'", "git branch --sort=committerdate", "exit 1", "jq .a f")


def test_no_text_at_all_changes_nothing() -> None:
    none_mutates("", " ", "\n", " \n\n ")


@pytest.mark.parametrize(
    "ask", [mutates, targets, reads, lambda text: runs(text, "x"), lambda text: runs("x", text)]
)
@pytest.mark.parametrize("wrong", [None, 1, b"ls", ["ls"], type("Text", (str,), {})("ls")])
def test_only_text_is_taken(ask: object, wrong: object) -> None:
    with pytest.raises(InputError):
        ask(wrong)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("command", "program", "answer"),
    [
        ("pytest -q", "pytest", True),
        ("timeout 60 python3 -m pytest -q tests", "pytest", True),
        ("LC_ALL=C nice pytest > log 2>&1", "pytest", True),
        ("uv run pytest", "pytest", True),
        (".venv/bin/pytest", "pytest", True),
        ("pytest -k h -n 4 -x", "pytest", True),
        ("\\rm -rf x", "rm", True),
        ("ruff check --fix", "ruff", True),
        ("make -j4 test", "make", True),
        ("go test -run X ./...", "go", True),
        ("grep -hn x a", "grep", True),
        ("pytest @arguments", "pytest", None),
        ("go build -n", "go", False),
        ("python -m pytest --collect-only", "pytest", False),
        ("pytest --help", "pytest", False),
        ("pytest --vers", "pytest", False),
        ("pytest --collect-only", "pytest", False),
        ("pytest -qh", "pytest", False),
        ("make -n test", "make", False),
        ("rsync --dry-run a b", "rsync", False),
        ("pytest; true", "pytest", False),
        ("pytest || true", "pytest", False),
        ("pytest | tail", "pytest", False),
        ("! pytest", "pytest", False),
        ("(pytest)", "pytest", False),
        ("echo pytest", "pytest", False),
        ("python fix.py -m pytest", "pytest", False),
        ("command -v pytest", "pytest", False),
        ("", "pytest", False),
        ("./pytest", "pytest", None),
        ("$X", "pytest", None),
        ("pytest $X", "pytest", None),
        ("pytest $(x)", "pytest", None),
        ("pytest &", "pytest", None),
        ("PYTEST_ADDOPTS=--co pytest", "pytest", None),
        ("pytest -o addopts=--co", "pytest", None),
        ("rsync -n a b", "rsync", None),
        ("sudo rm a", "rm", None),
        ("sh -c 'rm a'", "rm", None),
        ("RM a", "rm", None),
        ("env -S 'rm a'", "rm", None),
        ("{rm,a}", "rm", None),
        ("pytest -q -- --help", "pytest", False),
        ("pytest -- --collect-only", "pytest", False),
        ("pytest --co", "pytest", False),
        ("pytest --fixtures", "pytest", False),
        ("pytest --markers", "pytest", False),
        ("pytest --setup-plan", "pytest", False),
        ("pytest --cache-show='x*'", "pytest", False),
        ("pytest -- tests", "pytest", True),
        ("pytest &> log", "pytest", None),
        ("cargo test -- --list", "cargo", False),
        ("cargo test -- --ignored", "cargo", True),
        ("npm test -- --help", "npm", False),
        ("npm test -- -n", "npm", None),
        ("tox -- --co", "tox", False),
        ("tox -e l -- -k x", "tox", True),
        ("tox -l", "tox", False),
        ("ctest -N", "ctest", False),
        ("ctest -V", "ctest", True),
        ("gradle -m test", "gradle", False),
        ("jest --showConfig", "jest", False),
        ("vitest list", "vitest", False),
        ("vitest run list", "vitest", True),
        ("ruff check --show-files", "ruff", False),
        ("go test -c ./...", "go", False),
        ("kubectl apply --dry-run=client", "kubectl", False),
        ("rm -- --help", "rm", True),
        ("foo -- --help", "foo", None),
        ("foo --list-tests", "foo", None),
        ("mvn -D skipTests test", "mvn", None),
        ("mvn --define skipTests test", "mvn", None),
        ("mvn test -PnoTests", "mvn", None),
        ("mvn test -Dmaven.test.skip.exec=true", "mvn", False),
        ("mvn -ntp -pl core test -Dtest=A", "mvn", True),
        ("swift test list", "swift", False),
        ("swift test -c debug list", "swift", False),
        ("swift test --filter list", "swift", None),
        ("swift test", "swift", True),
        ("go test -exec true ./...", "go", None),
        ("go test -toolexec=true ./...", "go", None),
        ("go test -count=0 ./...", "go", None),
        ("go test . -args -test.list=.", "go", False),
        ("go test -v -count=1 ./...", "go", True),
        ("go list ./...", "go", False),
        ("tox exec -- true", "tox", False),
        ("tox devenv x", "tox", False),
        ("tox depends", "tox", False),
        ("tox --devenv x", "tox", False),
        ("tox --workdir d exec", "tox", None),
        ("tox -x testenv.commands=true", "tox", None),
        ("tox other", "tox", None),
        ("tox -re py", "tox", True),
        ("tox", "tox", True),
        ("tox -- -x", "tox", True),
        ("npm -- ls", "npm", None),
        ("phpunit --check-php-configuration", "phpunit", False),
        ("phpunit --check-other", "phpunit", None),
        ("phpunit tests", "phpunit", True),
        ("vitest --config x list", "vitest", None),
        ("playwright", "playwright", False),
        ("playwright other", "playwright", None),
        ("playwright test --grep @smoke", "playwright", True),
        ("npm run", "npm", False),
        ("npm run test", "npm", True),
        ("npm test --script-shell=true", "npm", None),
        ("cargo nextest list", "cargo", False),
        ("cargo nextest run", "cargo", True),
        ("gradle test -x test", "gradle", None),
        ("gradle :app:dependencies", "gradle", None),
        ("gradle :app:test", "gradle", True),
        ("make -o test test", "make", None),
        ("make MAKEFLAGS=n test", "make", None),
        ("ctest -T Submit", "ctest", None),
        ("bazel test --run_under=true //...", "bazel", None),
        ("dotnet test -t:Build", "dotnet", None),
        ("tsc -showConfig", "tsc", False),
        ("tsc -b", "tsc", True),
        ("nox --install-only", "nox", False),
        ("rake -p 1", "rake", None),
        ("mypy @f", "mypy", None),
        ("npm install @a/b", "npm", True),
    ],
)
def test_which_program_runs(command: str, program: str, answer: bool | None) -> None:
    assert runs(command, program) is answer


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("echo a > f", ("f",)),
        ("> 'a b'", ("a b",)),
        ("echo x >> a 2>> b", ("a", "b")),
        ("touch a b", ("a", "b")),
        ("rm -rf x", ("x",)),
        ("cp a b", ("b",)),
        ("mv a b", ("a", "b")),
        ("mkdir -p d/e", ("d/e",)),
        ("cat x | tee -a f", ("f",)),
        ("sed -i s/a/b/ f", ("f",)),
        ("sed -i '' s/a/b/ f", ("f",)),
        ("sed -i -e s/a/b/ f g", ("f", "g")),
        ("git restore a.py", ("a.py",)),
        ("git checkout -- b.cfg", ("b.cfg",)),
        ("git restore a", ("a",)),
        ("dd if=a of=b", ("b",)),
        ("chmod +x a", ("a",)),
        ("timeout 5 touch ~/x", ("~/x",)),
        ("touch a && cat b && rm c", ("a", "c")),
        ("cat a", ()),
        ("cd x && cat a", ()),
        ("touch a; cd x; ls", ("a",)),
        ("cd /repo && sed -i s/a/b/ f && touch ~/x /y", ("/repo/f", "~/x", "/y")),
        ("cd /repo && cat a | tee f", ("/repo/f",)),
        ('for f in app.cfg b; do\n  sed -i s/a/b/ "$f"\ndone', ("app.cfg", "b")),
        ("sed -i \\\n  -e s/a/b/ \\\n  app.cfg", ("app.cfg",)),
        ("echo 'a\n> x' \"b\n> y\" > f", ("f",)),
        ("sed -i s/a/b/ f\nls\ncat f\n", ("f",)),
    ],
)
def test_what_a_mutating_command_names(command: str, names: tuple[str, ...]) -> None:
    assert targets(command) == (names, False)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("git checkout b", ()),
        ("python fix.py > out", ("out",)),
        ("truncate a; python x", ("a",)),
        ("sed -i s/a/b/ f && pytest -q 2>&1 | tee log", ("f", "log")),
        ("pytest -q && git checkout -- a && npm ci", ("a",)),
        ("rm *.py a", ()),
        ("truncate x*.py a", ("a",)),
        ("rm x*.py a", ()),
        ("truncate $X", ()),
        ("truncate a $X", ("a",)),
        ("FOO=1 truncate a", ("a",)),
        ("sed -i s/a/b/ f $(cat list)", ("f",)),
        ("cp -t d a", ()),
        ("ls | xargs rm a", ()),
        ("dd of=a $X", ("a",)),
        ("truncate a; uniq b # c", ("a",)),
        ("truncate a >&5; echo b <$X", ("a",)),
        ("cd x && truncate a", ("x/a",)),
        ("cd /x/.. && truncate a", ("/x/../a",)),
        ("cd /x && truncate ../a", ("/x/../a",)),
        ("cd /x; truncate a", ("/x/a",)),
        ("cd /x && make; truncate a", ("/x/a",)),
        ("cd - && truncate a /b", ("/b",)),
        ("cd /x || truncate a", ()),
        ("truncate a; cd x; truncate b ~/c", ("a", "x/b", "~/c")),
        ("(cd x && truncate a); truncate /b", ("x/a", "/b")),
        ("command cd x && truncate a", ("x/a",)),
        ("truncate 'a", ()),
        ("cd /x && ls || true && truncate a", ("/x/a",)),
        ("head -c 6\ntruncate f", ("f",)),
        ("wc\nls", ()),
        ("git log\ntruncate f", ("f",)),
        ("for x in $?; do truncate a$x; done; for x in $#\ndo truncate b$x; done", ()),
        ("rm -rf build && npm run build", ()),
        ("mkdir -p dist; touch .env; chmod +x run.sh && ./run.sh", ()),
        ("cd /repo && git rm -q a && sed -i s/a/b/ f && npm ci", ("/repo/f",)),
        ("rm a > b && npm ci", ("b", "a")),
        ("pytest > /tmp/out.txt 2>&1; tail -5 /tmp/out.txt", ()),
        ("pytest > /tmp/x/out.txt", ("/tmp/x/out.txt",)),
        ("pytest | tee /var/tmp/log", ()),
    ],
)
def test_what_a_mutating_command_names_when_it_may_change_more(command: str, names: tuple[str, ...]) -> None:
    assert targets(command) == (names, True)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cat > f <<'EOF'\necho x > g\nEOF", ("f",)),
        ("cat <<EOF >> f\n$(touch g) it's\nEOF\necho y > h", ("f", "h")),
        ("tee f <<EOF\nrm x\nEOF", ("f",)),
        ("mkdir -p c && cat > c/f <<EOF\nx\nEOF", ("c/f",)),
        ("cat > f <<-EOF && sed -i s/a/b/ g\n\tx > y\n\tEOF\necho z > h", ("f", "g", "h")),
        ("cat <<A > f; cat <<'B' > g\n> x\nA\n> y\nB\necho > h", ("f", "g", "h")),
        ("cat > f <<EOF\na\\\nEOF\n> x\nEOF\n> g", ("f", "g")),
        ("cat > f <<'EOF'\na\\\nEOF\n> g", ("f", "g")),
        ('cat > f <<"E F"\nEOF\nE F\n> g', ("f", "g")),
        ("cat > f <<EOF\nno end\n> g", ("f",)),
        ("cat <<EOF | tee f\nx\nEOF", ("f",)),
        ("git commit -m \"$(cat <<'EOF'\nit's > x\nEOF\n)\" > f", ("f",)),
        ('echo "$(date)" >> f', ("f",)),
        ("echo $(date) `date` > f", ("f",)),
        ("echo $((1+1)) > f", ("f",)),
        ('echo ${x:-$(a > g)}"${y#*}" > f', ("g", "f")),
        ('echo x > $(cat n); echo y > "f$x"', ()),
        ("case $x in a|b) echo > f;; (c) ls > g ;; *) :; esac > h", ("f", "g", "h")),
        ("case a in\n  # one\n  a)\n    echo > f\n    ;;\nesac\n> g", ("f", "g")),
        ("sed -i s/a/b/ f &", ("f",)),
        ("cd /x && sed -i s/a/b/ f & echo > g", ("/x/f", "g")),
        ('for f in app.cfg b; do ! sed -i s/a/b/ "$f"; done', ("app.cfg", "b")),
        (
            "for d in x y\ndo (cd $d && for f in 1 2; do echo > $f.c; done); done; > z",
            ("x/1.c", "x/2.c", "y/1.c", "y/2.c", "z"),
        ),
        ("for f in a $x; do truncate $f b; done", ("b",)),
        ("for f; do truncate $f; done > g", ("g",)),
        ("while read x; do echo $x; done < a > f", ("f",)),
        ("sed -i \\\n  -e s/a/b/ \\\n  app.cfg &", ("app.cfg",)),
        ("f() { echo > g; }; f", ("g",)),
        ("function f { echo > g\n}", ("g",)),
        ("[[ a > b ]] && (( 1 > 2 )) || echo > f", ("f",)),
        ("for ((i=0; i>3; i++)); do echo > f; done", ("f",)),
        ("((echo > f); echo $((echo > g); ls) > h)", ("f", "g", "h")),
        ("# it's\necho \\> x # > y\n> f", ("f",)),
        ("echo 'a\n> x' \"b\n> y\" > f &", ("f",)),
        ("\techo >f\t2>&1", ("f",)),
        ("make {fd}> f 10>g &> h >| i", ("f", "g", "h", "i")),
        ("diff <(sort a) >(tee f)", ("f",)),
        ("mkdir x && cd x && echo > f", ("x/f",)),
        ("set -e\ncd x\necho > f", ("x/f",)),
        ("cd x || exit 1; echo > f", ("x/f",)),
        ('cd "$(git rev-parse --show-toplevel)" && echo > f > /g', ("/g",)),
        ("x=$(cd y && pwd); echo > f", ("f",)),
        ("echo > f \\", ("f",)),
        ("F=a.cfg; cat > $F <<EOF\nx\nEOF", ("a.cfg",)),
        ("if x; then F=a; else F=b; fi; echo > $F", ()),
        ("pushd x && echo > f", ("x/f",)),
        ("echo x > /dev/stderr; echo y | tee /dev/tty f", ("f",)),
        ("env A=1 sed -i s/a/b/ f", ("f",)),
        ("sudo -u bob sed -i s/a/b/ f", ("f",)),
        ("echo x | sudo -ES tee -a f", ("f",)),
        ("sudo rm f; sudo -i truncate f; env -C x truncate f; sudo -- env A=1 timeout 5 truncate g", ("g",)),
        ("bash -lc 'echo x > f'", ("f",)),
        ("sudo sh -e -c \"cd x && sed -i s/a/'b'/ f\"; echo > g", ("x/f", "g")),
        ("cd x && bash -c 'echo > f' _ a", ("x/f",)),
        ('bash -euo pipefail -c "echo > f; echo $x > g; echo > h"', ("f",)),
        ('bash -c "cp a b$x"; bash f; sh -c', ()),
        ("bash <<'EOF'\nsed -i s/a/b/ f\nEOF", ("f",)),
        ("bash x.sh <<'EOF'\nsed -i s/a/b/ f\nEOF", ()),
        ("eval 'echo > f'", ("f",)),
    ],
)
def test_what_is_named_beside_what_is_not_understood(command: str, names: tuple[str, ...]) -> None:
    assert mutates(command)
    assert targets(command) == (names, True)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cat a", ("a",)),
        ("head -n 3 a", ("a",)),
        ("grep x a b", ("a", "b")),
        ("grep -e x a", ("a",)),
        ("sed -n 1,3p a", ("a",)),
        ("awk '{print}' n=1 a", ("a",)),
        ("wc a", ("a",)),
        ("stat a", ("a",)),
        ("ls dir", ("dir",)),
        ("diff a b", ("a", "b")),
        ("git diff a", ("a",)),
        ("git diff HEAD -- a b", ("a", "b")),
        ("git blame a", ("a",)),
        ("cat a | grep x | head", ("a",)),
        ("cat a && cat b", ("a", "b")),
        ("grep x < a", ("a",)),
        ("cat 'a b' *.py", ("a b",)),
        ("timeout 5 cat a", ("a",)),
        ("ls", ()),
        ("git diff", ()),
        ("git diff HEAD", ()),
        ("git diff a..b", ()),
        ("git diff --cached a", ()),
        ("git show HEAD:a", ()),
        ("cat a > /dev/null", ()),
        ("cat a | wc -l", ()),
        ("cat a | grep -c x", ()),
        ("cat a | echo b", ()),
        ("cat a; cat b", ("a", "b")),
        ("stat a; cat b", ()),
        ("cat a || cat b", ()),
        ("cd x && cat a", ()),
        ("if true; then cat a; fi", ()),
        ("rm a", ()),
    ],
)
def test_what_a_read_only_command_shows(command: str, names: tuple[str, ...]) -> None:
    assert reads(command) == names


@pytest.mark.parametrize(
    "command",
    [
        "cat a",
        "cat -n a",
        "cat -b -s a",
        "nl -ba a",
        "head a",
        "head -20 a",
        "tail -n 5 a",
        "cat a 2>&1",
        "cat a 2>/dev/null",
        "cat < a",
        "cat 2>/dev/null <a",
        "cat a 2>&1 | head -5",
        "grep -vn x a",
        "grep -n --color=never x a",
        "grep -s x a",
        "rg -n x a",
        "rg -in -C 3 x a",
        "cat a | rg x",
        "sed -n '1p;7p' a",
        "sed -n -e 1,9p a",
        "sed -n -e 1p -e '3,$p' a",
        "sed -n '/[0-9]x/,/y\\/z/p' a",
        "sed -n '10,20p;20q' a",
        "sed 5q a",
        "cat a | sed -n -e 3p",
        "awk 'NR<9' a",
        "awk 'NR>=1 && NR<=40' a",
        "awk 'NR==1,NR==3; /x/' a",
        "awk -F: 1 a",
    ],
)
def test_a_look_shows_whole_lines(command: str) -> None:
    assert (shows(command), reads(command)) == (("a",), ("a",))


@pytest.mark.parametrize(
    "command",
    [
        "head -c 9 a",
        "head --bytes=9 a",
        "tail -c9 a",
        "cut -c1-9 a",
        "cat a | cut -c1-9",
        "cat a | fold -w 9",
        "grep -o x a",
        "rg -o x a",
        "rg -r y x a",
        "rg -M 9 x a",
        "tac a",
        "cat -v a",
        "cat -A a",
        "cat -E a",
        "cat -T a",
        "cat -et a",
        "head -v a",
        "head a b",
        "tail -n 3 a b",
        "rg x a b",
        "grep -r x a b",
        "grep --color=always x a",
        "cat link/../a",
        "cat a link/../b",
        "cat < link/../a",
        "cd /repo/link/.. && cat a",
        "cd /repo/link && cat ../a",
        "cat '~/a'",
        "cat =a",
        "cat < a < b",
        "cat 3< a",
        "cat a b 2>/dev/null",
        "cat a 2>/dev/null; cat b",
        "grep -s x a b",
        "grep x a; cat b",
        "cat a || cat b",
        "cat a 2>err",
        "cat a >&2",
        "cat a | grep -r x",
        "grep -r x < a",
        "sed p a -i",
        "sed -n l a",
        "sed -n = a",
        "sed -n '$=' a",
        "sed '5=' a",
        "cat a | sed -n '$='",
        "sed -n '1p;s/a/b/p' a",
        "sed -n -e 1p -e 'y/a/b/' a",
        "awk '{print}' a",
        "awk '\"x\"' a",
        "awk '$0=1' a",
        "awk 'NR<9' ORS=x a",
        "awk -v ORS=x 'NR<9' a",
        "awk --version",
        "awk NR==1 a b",
        "sed -n 1p a b",
        "sed -n -e 1p a b",
        "cat a | xargs cat",
        "xargs cat a",
        "xargs grep x < a",
        'grep -e "a$X" a',
        "dd if=a",
        "sh -c 'cat a'",
    ],
)
def test_what_may_print_something_else_is_no_look(command: str) -> None:
    assert shows(command) == ()


def test_looks_that_follow_one_another() -> None:
    assert shows("cat a; cat b\nhead -q c ./d") == ("a", "b", "c", "./d")
    assert shows("cat a; grep x b") == ("a", "b")
    assert shows("cd /repo && cat a; cat ~/b") == ("/repo/a", "~/b")
    assert shows("cat ../a ./../b") == ("../a", "./../b")
    assert reads("grep -rn x") == shows("grep -rn x") == shows("rg -n x") == (".",)
    assert reads("rg --files") == reads("ls | rg x") == ()


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn x",
        "grep -rn x .",
        "grep -Rn x ./",
        "grep -rn x src/",
        "grep -rnH x src",
        "grep -H x a",
        "grep x a b",
        "grep -rn --include='*.py' -e x .",
        "rg x",
        "rg -n x .",
        "rg -in x src/",
        "rg -H x a",
        "timeout 5 grep -rn x . 2>&1",
    ],
)
def test_a_search_names_a_file_before_each_line(command: str) -> None:
    assert is_search(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep x notes",
        "grep -r x notes",  # it may be a file
        "rg x notes",
        "rg -n x notes",
        "grep -h x a b",
        "grep -rh x .",
        "grep -rHh x .",
        "grep -rn --no-filename x .",
        "rg -I x",
        "rg -N x",
        "rg --heading x",
        "rg x < notes",
        "grep -H x < notes",
        "grep -r x < notes",
        "cat notes | grep x",
        "grep -rn -A 1 x .",
        "grep -rn -C1 x .",
        "grep -rn -3 x .",
        "rg -B2 x",
        "grep -ro x .",
        "grep -rc x .",
        "grep -rl x .",
        "grep -rL x .",
        "grep -rZ x .",
        "grep -rz x .",
        "grep -rT x .",
        "grep -H --label=a x -",
        "grep -rn x /",
        "grep -rn x ..",
        "grep -rn x ~/",
        "grep -rn x src/../../",
        "grep -rn x . # y",
        "cd /repo && grep -rn x .",
        "grep -rn x . | head",
        "git grep -n x",
        "cat a b",
        "fgrep x a b",
    ],
)
def test_what_may_print_a_line_without_a_name_is_no_search(command: str) -> None:
    assert not is_search(command)


def test_what_a_command_was_told() -> None:
    command = "LANG=C.b grep -n -ex=1 \"a b\" 'c'\\d <h 2>&1 | cat $'e' f$G i/*.j # k"
    assert said(command) == (
        *(command, "grep", "-n", "-ex=1", "a b", "cd", "C.b", "h", "1", "x=1"),
        *("cat", "", "f", "i/", "#", "k"),
    )
    assert said("cat 'a") == ("cat 'a",)
    with pytest.raises(InputError):
        said(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["# ", " #a\n", "$'a'", "%", "1p;", " ", "NR<1,", "/", "a/../", "--x "])
def test_the_cost_is_linear(part: str) -> None:
    begun = time.process_time()
    for begin in ("cat a #", "git log --format='", "sed -n '", "awk '", "pytest -- "):
        line = begin + part * ((LONGEST_LINE - 99) // len(part)) + "' a" * begin.endswith("'") + "\n"
        text = line * (LONGEST // len(line))
        assert len(text) <= LONGEST
        answers = (mutates(text), shows(text), said(text), runs(text, "pytest"))
        assert len(answers) == 4
    assert time.process_time() - begun < 10


def test_what_loops_and_variables_multiply_is_bounded() -> None:
    eight = " ".join("abcdefgh")
    loops = "".join(f"for {each} in {eight}; do\n" for each in eight.split()) + "cat $a$h\n" + "done\n" * 8
    grown = f"x={'a' * 250}; " + "x=$x$x$x$x; " * 500 + "truncate $x"
    for text in (loops, grown, f"{grown} &", f"{loops} &", "a='sh -c \"$a\"'; " + 'sh -c "$a"; ' * 999):
        started = time.process_time()
        assert mutates(text)
        targets(text)
        assert time.process_time() - started < 2


def test_a_long_here_document_hides_no_name() -> None:
    text = "cat > f <<'EOF'\n" + "it's > x\n" * 20_000 + "EOF\necho > g\n"
    assert targets(text) == (("f", "g"), True)


def test_the_table_names_each_program_once() -> None:
    table = programs()
    assert "cat" in table
    assert not [name for name, each in table.items() if each.free and (each.changes or each.runner)]


def test_the_module_is_loaded_by_nothing_that_does_not_need_it() -> None:
    script = "import callgate, callgate.__main__, sys; print([n for n in sys.modules if 'engine.shell' in n])"
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
