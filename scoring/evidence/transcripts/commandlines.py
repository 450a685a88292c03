"""What a command line says of one of its commands, and of git (``docs/TEST_TOOLS.md``); long, as it has the tables."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from scoring.evidence.transcripts.facts import BASH, LOOP_STATE, TESTS
from scoring.evidence.transcripts.shell import OWN_FAILURES, SHELLS, STARTERS, ShellCommand

FILTERS = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"))
"""Programs that leave the lines with a pattern."""

_STOPS = re.compile(r"set (?:-[a-z]*e|-[a-z]*o errexit)|exit\b|return\b")
_ENDS = re.compile(r"(?:exit|return)(?: 0)?$")
_PATH_LIMIT = 1000  # characters
_WORD = re.compile(r"\w[\w-]*")
_VERSIONED = re.compile(r"[\d.]+$")
_INTERPRETERS = frozenset({*SHELLS, "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "tsx", "ts-node"})
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


_REWRITES = {name.replace("_", " "): how for names, how in STARTERS["rewrites"].items() for name in names.split()}
_REWRITERS = frozenset(name.partition(" ")[0] for name in _REWRITES)


def rewritten(words: Sequence[str]) -> str:
    """Return what a simple command changes in place: its last operand, "." for where it runs; "" for nothing."""
    if (name := words[0].rpartition("/")[2]) not in _REWRITERS:
        return ""
    options = [word for word in words[1:] if word[:1] == "-"]
    operands = [word for word in words[1:] if word[:1] != "-"]
    how = _REWRITES.get(name) or _REWRITES.get(f"{name} {operands[0] if operands else ''}")
    if how is None or any(re.fullmatch(how.get("unless", ""), option) for option in options):
        return ""
    if "when" in how and not any(re.fullmatch(how["when"], option) for option in options):
        return ""
    return "." if how.get("here") or len(operands) < 1 + (name not in _REWRITES) else operands[-1]


_COMMON = frozenset(STARTERS["verifiers"]["common"].split())
_MOST_TARGETS = 8  # of one call of a task runner
_PATTERN = re.compile(r"[.*+\[]")
_CONTEXT = re.compile(r"-[ABC]\d*$|--(?:after-|before-)?context|-\d+$")
_HOME = re.compile(r"/(?:Users|home)/[^/]+|/root")
TEMPORARY = ("/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/private/var/folders/")  # noqa: S108 - names
_THROWN_AWAY = frozenset(("tmp", "temp", ".tmp", "node_modules"))


def status_of(commands: Sequence[ShellCommand], at: int, harmless: Collection[str]) -> tuple[bool, bool]:
    """Return whether a status of 0, and another one, can only be that of one command; ``harmless`` ones do not fail."""
    run = commands[at]
    if run.hidden or not run.last:
        return False, False
    chain = chain_before(commands, at)
    first = chain[0].after if chain else run.after
    texts = [" ".join(one.words) for one in commands[:at]]
    before = commands[:at] if any(map(_STOPS.match, texts)) else chain
    passes = run.after != "||" and first != "?" and "xargs" not in run.through and not any(map(_ENDS.match, texts))
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
            folders.append((one.depth, "" if top else _joined(folders[-1][1], " ".join(one.words[1:]))))
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


def readers(commands: Sequence[ShellCommand], at: int) -> Iterator[tuple[str, ...]]:
    """Yield the commands that read the output of one, or of a group that it is in, one after the other."""
    depth, follows = commands[at].depth, True
    for one in commands[at + 1 :]:
        follows = one.after == "|" and (follows or one.since < depth)
        if follows and one.words:
            yield one.words
        depth = min(depth, one.since)


def are_run(commands: Sequence[ShellCommand]) -> list[bool]:
    """Say of each command whether it is one: not of a name that the line defines, nor of a body that it never calls."""
    defined = {one.words[:1] for one in commands if one.defines}
    defined |= {(word.partition("=")[0],) for one in commands if one.words[:1] == ("alias",) for word in one.words[1:]}
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
        numbers = [int(n[:9]) for word in words[1:] if (n := word.lstrip("-n").removeprefix("lines=")).isdecimal()]
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
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"]
)
"""Options of git itself that take the next word as their value."""
_RESTORE_VALUED = frozenset({"-s", "--source", "--pathspec-from-file", "--conflict"})
_NO_REVERT = frozenset({"--abort", "--continue", "--quit", "--skip"})
_COMMIT_LINE = re.compile(r"^\[([^\[\]\n]{1,255}) ([0-9a-f]{7,40})\] ([^\r\n]{0,1000})", re.MULTILINE)
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
    return [reset for _, name, words in _git_commands(commands) if (reset := _reset_of(name, words))]


def _reset_of(name: str, words: Sequence[str]) -> Reset | None:
    if name == "reset" and "--hard" in words:
        return Reset("hard")
    if name == "commit" and "--amend" in words:
        return Reset("amend")
    if name == "revert" and _NO_REVERT.isdisjoint(words):
        return Reset("revert")
    if name == "checkout" and "--" in words:
        paths = tuple(words[words.index("--") + 1 :])
        return Reset("paths", paths) if paths else None
    if name == "restore":
        index_alone = not {"--staged", "-S"}.isdisjoint(words) and {"--worktree", "-W"}.isdisjoint(words)
        paths = () if index_alone else tuple(_paths(words))
        return Reset("paths", paths) if paths else None
    return None


def _paths(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of ``git restore`` that are no options and no value of one."""
    values = iter(words)
    for word in values:
        if word == "--":
            yield from values
        elif word in _RESTORE_VALUED:
            next(values, None)
        elif not word.startswith("-"):
            yield word


def _git_commands(commands: Sequence[ShellCommand]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the place, the name and the other words of each command of git."""
    for place, command in enumerate(commands):
        words = command.words
        if not words or (words[0] != "git" and words[0].rpartition("/")[2] not in ("git", "git.exe")):
            continue
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _VALUED else 1
        if at < len(words):
            yield place, words[at], words[at + 1 :]


# What the objective checks look for in a tool call.

TEST_COMMANDS = ("go test", "pytest", "npm test", "yarn test", "make test", "cargo test", "rspec", "phpunit")
LOOP_STATE_FILE = "loop-state.md"
_SHOWS_FILES = ("cat", "sed", "head", "tail")


def is_test_command(command: str) -> bool:
    """Say whether a shell command runs a known test tool."""
    return any(name in command for name in TEST_COMMANDS)


def reads_loop_state(path: str) -> bool:
    """Say whether a file that was read is the loop state."""
    return path.endswith(LOOP_STATE_FILE)


def command_flags(command: str) -> int:
    """Return what a shell command shows, as bits: it ran, it ran a test tool, it read the loop state."""
    flags = BASH | TESTS if is_test_command(command) else BASH
    if LOOP_STATE_FILE in command and any(map(_shows_loop_state, re.split(r"[|;&>\n]", command))):
        flags |= LOOP_STATE
    return flags


def _shows_loop_state(command: str) -> bool:
    """Say whether a single command shows the loop state; ``sed -i`` writes it."""
    reader = ""
    for word in re.findall(r"[\w./~$*+@%-]+", command):
        name = word.rpartition("/")[2]
        if name in _SHOWS_FILES:
            reader = name
        elif reader == "sed" and re.match(r"-\w*i|--in-place", word):
            reader = ""
        elif reader and reads_loop_state(word):
            return True
    return False


_COPIES = frozenset(("cp", "mv", "install", "ln", "rsync", "scp"))
_IN_PLACE = frozenset(("sed", "gsed", "perl", "ruby", "awk", "gawk", "yq", "sd"))
_WHOLE = frozenset(("dd", "truncate", "sponge", "ed", "ex"))
MAY_WRITE = re.compile(rf"\b(?:{'|'.join(sorted(_COPIES | _IN_PLACE | _WHOLE))})\b")
"""Finds the programs that copy to a path or change a file in place."""
_INTO = re.compile(r"--target-directory=(.+)|-[a-zA-Z]*t(.+)")
_CHANGES = re.compile(r"-[a-zA-Z]*i|--in-?place")
_FOLDERS = re.compile(r"-[a-zA-Z]*[rRas]|--recursive|--archive|--symbolic")
ANY_BELOW = "/**"  # at the end of a path: all that is below it


def targets(words: Sequence[str]) -> list[str]:
    """Return the paths that a command may write by copying, linking or changing in place, those below with a mark."""
    words = words[1:] if words[:2] == ("git", "mv") else words
    name, given = words[0].rpartition("/")[2] if words else "", words[1:]
    plain = [word for word in given if word[:1] != "-"]
    if name in _WHOLE:
        return [word.removeprefix("of=") for word in plain]
    if name in _IN_PLACE:
        return plain if name == "sd" or any(map(_CHANGES.match, given)) else []
    if name not in _COPIES or not plain:
        return []
    into = next((m[1] or m[2] for word in given if (m := _INTO.fullmatch(word))), "")
    if not into and not {"-t", "--target-directory"}.isdisjoint(given):
        into = next((after for word, after in pairwise(given) if word in ("-t", "--target-directory")), "")
    place = into or (plain[-1] if plain[1:] else "." if name == "ln" else "")
    sources = [word for word in plain if word != place]
    names = (posixpath.basename(source.rstrip("/")) for source in sources)
    found = [place, *(place + ANY_BELOW if "$" in name else posixpath.join(place, name) for name in names)]
    may_be_folders = name in ("mv", "rsync") or any(map(_FOLDERS.match, given))
    return found + [path + ANY_BELOW for path in found if may_be_folders and path not in (".", "./", "..")]
