"""What a command line says of one of its commands, and of git (``docs/TEST_TOOLS.md``); long, as it has the tables."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile, islice, pairwise, takewhile
from typing import Any, Literal, NamedTuple

from scoring.evidence.commands.shell import OWN_FAILURES, SHELLS, STARTERS, ShellCommand
from scoring.evidence.scopes import is_code

FILTERS = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"))
"""Programs that leave the lines with a pattern."""

_STOPS = re.compile(r"set (?:-[a-z]*e|-[a-z]*o errexit)|exit\b|return\b")
_ENDS = re.compile(r"(?:exit|return)(?: 0)?$")
_PATH_LIMIT = 1000  # characters
_WORD = re.compile(r"\w[\w-]*")
WORD = re.compile(r"[\w.]+")  # of a text that is printed
_VERSIONED = re.compile(r"(?<![\d.])[\d.]+$")
_INTERPRETERS = frozenset(
    {*SHELLS, "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "tsx", "ts-node"}
)
_RUNNERS = frozenset(STARTERS["verifiers"]["runners"].split())
TOOLS_OF: Mapping[str, frozenset[str]] = {
    kind: frozenset(" ".join(tool.split()) for tool in tools.split(";"))
    for kinds, tools in STARTERS["verifiers"]["tools"].items()
    for kind in kinds.split()
}
"""The programs, or programs with their first word, that run for a verifier of a type; for another type its own name."""


def program_names(words: Sequence[str]) -> list[str]:
    """Return what a simple command runs: program, script or task-runner targets; of git nothing."""
    name, rest = words[0].rpartition("/")[2].lower(), list(words[1:])
    if name in _COMMON:
        return []
    plain = _VERSIONED.sub("", name)
    if plain in _INTERPRETERS and plain not in _RUNNERS:
        while rest and rest[0] != "-m" and rest[0][:1] == "-":
            rest.pop(0)
        if rest[:1] == ["-m"]:
            rest.pop(0)
        if not rest:
            return [plain]
        name = rest.pop(0).rpartition("/")[2].lower()
    said = [word for word in rest if word[:1] not in ("-", "+") and "=" not in word]
    stem = name.partition(".")[0] or name
    targets = [word for word in said if word != "run"][:_MOST_TARGETS] if stem in _RUNNERS else []
    return list(dict.fromkeys((name, stem, *(f"{stem} {word}" for word in said[:1]), *targets)))


_REWRITES, _WRITERS = (
    {
        name.replace("_", " "): how
        for names, how in STARTERS[table].items()
        for name in names.split()
    }
    for table in ("rewrites", "writers")
)
_SHOWN = {name: STARTERS["shown"][name].split() for name in ("report", "quiet")}
_KEEP_LINES = {
    name: how for names, how in STARTERS["shown"]["lines"].items() for name in names.split()
}
_COLOUR = re.compile(r"\\(?:033|x1[bB]|e)\[[\d;]*m")
_MADE_UP = re.compile(
    r"\\[x0uU]|%[^s%\s]|\w%s|%s\w|\$\{[^}#]{1,99}(?:[/#%^,]|:[\s\d])"
)  # what changes a text
_MOST_RUNS = 9  # of a line, the last ones, of which it is known what reads them
_BEFORE = {before for name in (*_REWRITES, *_WRITERS) if (before := name.rpartition(" ")[0])} | {
    "git",
    "gh",
}


def _called(words: Sequence[str], known: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    """Return a program as a table knows it, by its first words too, what it is given and what of that is no option."""
    name = words[0].rpartition("/")[2]
    name = name if name in known else _VERSIONED.sub("", name)  # bzip2 is called so
    given = list(words[_behind_options(words) if name == "git" else 1 :])
    operands = [word for word in given if word[:1] != "-"]
    while name in _BEFORE and name not in known and operands:
        name = f"{name} {operands.pop(0)}"
    return name, given, operands


def _applies(how: Mapping[str, str], options: Sequence[str]) -> bool:
    """Whether a program does what a table says of it: with an option "when", with none "unless" (patterns)."""
    unless, when = (
        partial(re.fullmatch, how.get(key, ""), flags=re.DOTALL) for key in ("unless", "when")
    )
    return not any(map(unless, options)) and ("when" not in how or any(map(when, options)))


def rewritten(words: Sequence[str]) -> str:
    """Return what a simple command changes in place: its last operand, "." for where it runs; "" for nothing."""
    name, given, operands = _called(words, _REWRITES)
    how = _REWRITES.get(name)
    if how is None or not _applies(how, [word for word in given if word[:1] == "-"]):
        return ""
    return "." if how.get("here") or not operands else operands[-1]


_COMMON = frozenset(STARTERS["verifiers"]["common"].split())
_MOST_TARGETS = 8  # of one call of a task runner
_PATTERN = re.compile(r"[.*+\[]")
_CONTEXT = re.compile(r"-[ABC]\d*$|--(?:after-|before-)?context|-\d+$")
_HOME = re.compile(r"/(?:Users|home)/[^/]+|/root")
TEMPORARY = ("/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/private/var/folders/")  # noqa: S108 - names
_THROWN_AWAY = frozenset(("tmp", "temp", ".tmp", "node_modules"))


def status_of(
    commands: Sequence[ShellCommand], at: int, harmless: Collection[str]
) -> tuple[bool, bool]:
    """Return whether a status of 0, and another one, can only be that of one command; ``harmless`` ones do not fail."""
    run = commands[at]
    if run.hidden or not run.last:
        return False, False
    chain = chain_before(commands, at)
    first = chain[0].after if chain else run.after
    texts = [" ".join(one.words) for one in commands[:at]]
    before = commands[:at] if any(map(_STOPS.match, texts)) else chain
    passes = (
        run.after != "||"
        and first != "?"
        and "xargs" not in run.through
        and not any(map(_ENDS.match, texts))
    )
    fails = all(one.words and one.words[0] in harmless and one.after != "|" for one in before)
    return passes, fails and OWN_FAILURES.isdisjoint(run.through)


def folder_of(
    commands: Sequence[ShellCommand], at: int, options: Collection[str], is_script: bool = False
) -> str | None:
    """Return the folder that a command runs in, from where the line does; None where no plain word says it."""
    folders: list[tuple[int, str | None]] = [(0, "")]
    for n, one in enumerate(commands[: at + 1]):
        while folders[-1][0] > one.since:
            folders.pop()
        if n < at and one.words[:1] in (("cd",), ("pushd",)):
            top = n > 0 and commands[n - 1].words == ("git", "rev-parse", "--show-toplevel")
            folders.append(
                (one.depth, "" if top else _joined(folders[-1][1], " ".join(one.words[1:])))
            )
    folder, words = folders[-1][1], commands[at].words
    for word, value in zip(words, (*words[1:], ""), strict=True):
        option, given, same = word.partition("=")
        if option in options:
            folder = _joined(folder, same if given else value)
        elif value.startswith(TEMPORARY) and word[:1] != "-":
            folder = _joined(folder, value)
    if is_script:
        folder = _joined(folder, posixpath.dirname(script_of(words)[0]) or ".")
    return folder


def chain_before(commands: Sequence[ShellCommand], at: int) -> list[ShellCommand]:
    """Return the commands that must have succeeded for one to be reached, in order."""
    first = at
    while first > 0 and commands[first].after in ("&&", "|"):
        first -= 1
    return list(commands[first:at])


def readers(commands: Sequence[ShellCommand], at: int) -> Iterator[ShellCommand]:
    """Yield the commands that read the output of one, or of a group that it is in, one after the other."""
    depth, follows = commands[at].depth, True
    for one in commands[at + 1 :]:
        follows = one.after == "|" and (follows or one.since < depth)
        if follows and one.words:
            yield one
        depth = min(depth, one.since)


def shown_by(
    commands: Sequence[ShellCommand], runs: Collection[int], text: str
) -> tuple[bool, bool, list[frozenset[str]]]:
    """Return whether a failing summary that a line shows can only be of its test runs, and whether a passing one can.

    A passing one may be of another file that is shown, or rewritten by what reads the runs. Where the runs write into a
    file, both are theirs when only that file is shown. Last are the words of the other commands, or of the whole text.
    """
    reading = {one for at in sorted(runs)[-_MOST_RUNS:] for one in readers(commands, at)}
    kept = {one.into for n, one in enumerate(commands) if one.into and (n in runs or not one.words)}
    own_files = kept | {word for one in reading if one.words[0] == "tee" for word in one.words[1:]}
    others = [(n, one) for n, one in enumerate(commands) if n not in runs and one.words]
    first = min(runs)
    own = all(
        _adds_no_summary(one, one in reading, n > first, kept, own_files) for n, one in others
    )
    words_of_all = frozenset(WORD.findall(text))
    texts = [_COLOUR.sub("", " ".join(one.words)) for _, one in others]
    printed = [words_of_all if "$" in said else frozenset(WORD.findall(said)) for said in texts]
    return own or not kept, own, printed


def _adds_no_summary(
    one: ShellCommand, reads: bool, is_behind: bool, kept: Collection[str], own_files: set[str]
) -> bool:
    """Whether a command shows no summary but that of the runs, which it ``reads`` or ``is_behind`` the first of.

    ``kept`` are the files that the runs write into, ``own_files`` also those into which their output was copied.
    """
    program = _VERSIONED.sub("", one.words[0].rpartition("/")[2].lower())
    if (one.into or (not kept and rewritten(one.words))) and not reads:
        return one.into not in kept
    if program in ("echo", "printf"):
        return _MADE_UP.search(_COLOUR.sub("", " ".join(one.words))) is None
    if program in _KEEP_LINES or _is_given_code(program, one.words[1:]):
        files = _files_shown(one, _KEEP_LINES.get(program, {"first": "(?!)"}))
        return files is not None and (
            own_files.issuperset(files) or (not kept and all(map(is_code, files)))
        )
    if kept or reads:
        moves = program in ("cd", "pushd") and (is_behind or one.depth > 0)
        return program in _SHOWN["quiet" if kept else "report"] and not moves
    return True


def _files_shown(command: ShellCommand, how: Mapping[str, str]) -> list[str] | None:
    """Return the files of which a command shows whole lines; None where it may show other text."""
    words, valued = command.words, how.get("valued", "").split()
    files = [word for before, word in pairwise(words) if word[:1] != "-" and before not in valued]
    first = [] if "first" not in how or ("-e" in valued and "-e" in words) else files[:1] or [""]
    files = [] if "writes" in how else files[len(first) :]
    is_whole = _applies(how, [word for word in words[1:] if word[:1] == "-"]) and not command.fed
    is_whole = is_whole and all(re.fullmatch(how["first"], word) for word in first)
    return files if is_whole and (files or command.after == "|") else None


def are_run(commands: Sequence[ShellCommand]) -> list[bool]:
    """Say of each command whether it is one: not of a name that the line defines, nor of a body that it never calls."""
    defined = {one.words[:1] for one in commands if one.defines}
    defined |= {
        (word.partition("=")[0],)
        for one in commands
        if one.words[:1] == ("alias",)
        for word in one.words[1:]
    }
    defined |= {one.words[1:2] for one in commands if one.words[:1] == ("function",)} - {()}
    used = {one.words[0] for one in commands if one.words and not one.defines}
    found, body = [], -1
    for one in commands:
        if one.depth <= body:
            body = -1
        if one.defines and one.words[0] not in used and body < 0:
            body = one.depth
        found.append(body < 0 and not one.defines and one.words[:1] not in defined)
    return found


def _joined(folder: str | None, other: str) -> str | None:
    """Return a folder from another one; None where no plain word says it."""
    if folder is None or not other or other == "-" or "$" in other or "`" in other:
        return None
    return other if other[0] == "~" else posixpath.join(folder, other)


def is_elsewhere(start: str, folder: str, homes: Collection[str]) -> bool:
    """Whether a folder, from where a call starts, is in no folder of a session, or in one for what is thrown away."""
    if folder[:1] == "~":
        home = next((found[0] for one in homes if (found := _HOME.match(one))), "~")
        folder = home + folder[1:]
    path = posixpath.normpath(posixpath.join(start, folder))
    if not path.startswith("/"):
        return path.startswith("..") or not _THROWN_AWAY.isdisjoint(path.split("/"))
    for home in sorted(homes, key=len):
        top = posixpath.normpath(home).rstrip("/")
        if f"{path}/".startswith(f"{top}/"):
            return not _THROWN_AWAY.isdisjoint(path[len(top) :].split("/"))
        if f"{top}/".startswith(f"{path}/"):
            return False
    return bool(homes) or path.startswith(TEMPORARY)


def script_of(words: Sequence[str]) -> tuple[str, str]:
    """Return the script that a command runs, by its path or with a shell, and its first argument; "" for none."""
    at = 0
    if words[0].rpartition("/")[2] in SHELLS:
        at = 1
        while at < len(words) and words[at][:1] in ("-", "+"):
            if words[at][:2] != "--" and not {"n", "c"}.isdisjoint(words[at]):
                return "", ""
            at += 2 if words[at][-1] in "oO" and words[at][:2] != "--" else 1
    script, argument = (*words[at : at + 2], "", "")[:2]
    if len(script) > _PATH_LIMIT or not (at or "/" in script):
        return "", ""
    return script, argument if _WORD.fullmatch(argument) else ""


def leaves_failures(words: Sequence[str], text: str, failures: Sequence[str]) -> bool:
    """Whether a command that reads an output, and left a text of it, leaves all lines that have one of some texts."""
    program = words[0]
    options = [word for word in words[1:] if word[:1] == "-"]
    if program == "head":
        numbers = [
            int(n[:9])
            for word in words[1:]
            if (n := word.lstrip("-n").removeprefix("lines=")).isdecimal()
        ]
        return "-c" not in options and text.rstrip("\n").count("\n") + 1 < (numbers or [10])[0]
    if program == "awk" or (program == "sed" and "-n" in options):
        return False
    if program not in FILTERS or any(_CONTEXT.match(option) for option in options):
        return True
    # No pattern of a transcript is tried: what is plain in it is looked for.
    pattern = next((word for word in words[1:] if word[:1] != "-" and not word.isdecimal()), "")
    flags = "".join(option for option in options if option[:2] != "--")
    fold = str.lower if "i" in flags else str
    plain = [fold(part.strip("()^$\\")) for part in pattern.split("|")]
    found = any(part in fold(failure) for part in plain for failure in failures)
    inverted = "v" in flags or "--invert-match" in options
    return found != inverted and not (inverted and _PATTERN.search(pattern))


ResetKind = Literal["hard", "paths", "revert", "amend"]
"""``git reset --hard``; files taken back from git; ``git revert``; ``git commit --amend``."""


class CommitLine(NamedTuple):
    """A commit as git reports one: the branch as written, 7 to 40 hexadecimal digits, the first line of its message."""

    branch: str
    sha: str
    subject: str


class Reset(NamedTuple):
    """Work that a command takes back; ``paths`` are those of ``paths``, as written."""

    kind: ResetKind
    paths: tuple[str, ...] = ()


_MAKE_COMMITS = frozenset({"commit", "cherry-pick", "revert", "rebase", "merge"})
_VALUED = frozenset(
    [
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--super-prefix",
        "--config-env",
    ]
)
"""Options of git itself that take the next word as their value."""
_RESTORE_VALUED = frozenset({"-s", "--source", "--pathspec-from-file", "--conflict"})
_OF_A_REMOTE = re.compile(
    r"(?:remotes/)?(?:origin|upstream)/|FETCH_HEAD|\S*@\{u"
)  # to which a reset is an update
_NO_REVERT = frozenset({"--abort", "--continue", "--quit", "--skip"})
_COMMIT_LINE = re.compile(
    r"^\[([^\[\]\n]{1,255}) ([0-9a-f]{7,40})\] ([^\r\n]{0,1000})", re.MULTILINE
)
_LIMIT = 1000  # how many commits of one output are read, the first ones
FIRST = "(root-commit)"  # behind the branch of a repository's first commit


def commits_asked(commands: Sequence[ShellCommand]) -> list[tuple[str | None, bool]]:
    """Return where a command line has git make commits, the folder (None: not known), and whether it amends one."""
    making = ((at, words) for at, name, words in _git_commands(commands) if name in _MAKE_COMMITS)
    return [(folder_of(commands, at, ("-C",)), "--amend" in words) for at, words in making]


def commit_lines(output: str) -> list[CommitLine]:
    """Return the commits that an output reports in lines ``[BRANCH SHA] SUBJECT``, in order."""
    several = islice(_COMMIT_LINE.finditer(output), _LIMIT)
    return [CommitLine(line[1], line[2], line[3].strip()) for line in several]


def resets(commands: Sequence[ShellCommand]) -> list[Reset]:
    """Return what a command line takes back, in order; what only changes the index takes nothing back."""
    return [
        reset for _, name, words in _git_commands(commands) if (reset := _reset_of(name, words))
    ]


def _reset_of(name: str, words: Sequence[str]) -> Reset | None:
    if name == "reset" and "--hard" in words:
        return None if any(map(_OF_A_REMOTE.match, words)) else Reset("hard")
    if name == "commit" and "--amend" in words:
        return Reset("amend")
    if name == "revert" and _NO_REVERT.isdisjoint(words):
        return Reset("revert")
    if name == "checkout" and "--" in words:
        paths = tuple(words[words.index("--") + 1 :])
        return Reset("paths", paths) if paths else None
    if name == "restore":
        index_alone = not {"--staged", "-S"}.isdisjoint(words) and {"--worktree", "-W"}.isdisjoint(
            words
        )
        source = next((after for word, after in pairwise(words) if word in _RESTORE_VALUED), "")
        paths = (
            ()
            if index_alone
            else tuple(word for word in words if word[:1] != "-" and word != source)
        )
        return Reset("paths", paths) if paths else None
    return None


def _git_commands(commands: Sequence[ShellCommand]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the place, the name and the other words of each command of git."""
    for place, command in enumerate(commands):
        words = command.words
        if not words or (
            words[0] != "git" and words[0].rpartition("/")[2] not in ("git", "git.exe")
        ):
            continue
        at = _behind_options(words)
        if at < len(words):
            yield place, words[at], words[at + 1 :]


def _behind_options(words: Sequence[str]) -> int:
    """Return where the command of git is, behind options of git itself."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUED else 1
    return at


_INTO = {
    name: re.compile(f"(?:{how['into']})=?(.*)", re.DOTALL)
    for name, how in _WRITERS.items()
    if "into" in how
}
_CODE = {
    name: re.compile(how)
    for names, how in STARTERS["code"]["options"].items()
    for name in names.split()
}
_MAY_WRITE = re.compile(STARTERS["code"]["writes"])
_QUOTES, _BREAKS = re.compile(r"[\"'`>\\]"), re.compile(r"[\"'`>\\\s;|&()<=,]")
_FILE_NAME = re.compile(r"[\w.{}$*?%/~#+-]{1,200}\.\w{1,5}")
_INSERTED = re.compile(r"#?\{[^{}]*\}|%\w")  # what a program puts into a text
_FOLDERS = re.compile(r"-[a-zA-Z]*[rRas]|--recursive|--archive|--symbolic|--parents")
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)$")
ANY_BELOW = "/**"  # at the end of a path: all that is below it


def targets(words: Sequence[str], text: str, passed: bool = False) -> Iterator[str]:
    """Yield the paths that a command of a line may write: those below with a mark, ``$`` for an unknown folder.

    ``passed`` is whether it gets words from another program: files that the line names, or all below where it runs.
    """
    name, given, operands = _called(words, _WRITERS)
    program = name.partition(" ")[0]
    if is_code_given := _is_given_code(program, given):
        is_stated = given and given[-1][:1] not in ("-", "$", "/")
        yield from _named_in(
            " ".join(given) if is_stated else text,
            _BREAKS if program in STARTERS["code"]["words"].split() else _QUOTES,
        )
    if name == "find":
        yield from (
            after for word, after in pairwise(given) if word.startswith(("-fprint", "-fls"))
        )
        started = list(
            dropwhile(lambda word: word not in ("-exec", "-execdir", "-ok", "-okdir"), given)
        )[1:]
        started = list(takewhile(lambda word: word not in (";", "+"), started))
        yield from targets(started, text, passed=True) if started else ()
    how = _WRITERS.get(name, {"to": "value"})
    options = [word for word in given if word[:1] == "-"]
    matches = (
        (_INTO[name].fullmatch(word), after)
        for word, after in pairwise((*given, ""))
        if name in _INTO
    )
    into = [m[1] or after for m, after in matches if m]
    found: Sequence[str] = ()
    match how.get("to") if _applies(how, (*options, *operands[:1])) else "value":
        case "copy":
            found = _copied(name, options, operands, into)
        case "here":
            found = [posixpath.join(place, "*") for place in into or ["."]]
        case "below":
            found = [place + ANY_BELOW for place in into or [".", *operands]]
        case None:
            found = [
                path
                for word in operands
                for path in (word, _PACKED.sub("", word), word + ANY_BELOW)
            ]
    folder = next(
        (after for word, after in pairwise(words) if word == "-C" and program == "git"), ""
    )
    yield from (posixpath.join(folder, path) for path in (*into, *found))
    if passed and (name in _WRITERS if not is_code_given else _MAY_WRITE.search(" ".join(given))):
        yield from _named_in(f"{text} >", _BREAKS)
        yield from () if "*." in text or "name" in text else ("." + ANY_BELOW,)


def _is_given_code(program: str, given: Sequence[str]) -> bool:
    return program in _CODE and (not given or any(map(_CODE[program].fullmatch, given)))


def _copied(
    name: str, options: Sequence[str], operands: Sequence[str], into: Sequence[str]
) -> list[str]:
    """Return what a copy, a move or a link may write: the place that it names, and names in it."""
    is_place = operands[1:] or any("$" in word for word in operands)
    place = into[0] if into else operands[-1] if is_place else "." if name == "ln" else ""
    sources = [word for word in operands if word != place]
    names = ["*" if "$" in word else posixpath.basename(word.rstrip("/")) for word in sources]
    found = [place, *(posixpath.join(place, one) for one in names)] if place else []
    below = found if name in ("mv", "git mv", "rsync") or any(map(_FOLDERS.match, options)) else []
    if (
        name != "rsync"
        and "--parents" not in options
        and not any(w.endswith(("/", "/.", "*")) for w in sources)
    ):
        below = [path for path in below if path not in (".", "./", "..")]  # a folder that is there
    return [*found, *(path + ANY_BELOW for path in below)]


def _named_in(code: str, between: re.Pattern[str]) -> Iterator[str]:
    """Yield the names of files in a program that may write, as texts between some marks, here and in any folder."""
    for text in set(between.split(code)) if _MAY_WRITE.search(code) else ():
        if _FILE_NAME.fullmatch(name := _INSERTED.sub("*", text.strip())):
            yield from (name, f"$/{name}")
