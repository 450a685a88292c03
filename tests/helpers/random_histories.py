"""Histories by the number: two to five agents at once, in situations that a seed puts together."""

import math
import random
from pathlib import Path
from typing import Any

from helpers.checkpoints import name as checkpoint_name
from helpers.histories import History, Session

SITUATIONS = """
    amended by-hand checkpoints codex cut-off days forked imported no-home no-session-ids moved
    nobody one-checkpoint other-repository parallel picked rebased remote removed resumed
    second-apart shas-gone skewed squashed subagents tail-only temporary worktrees-setting
""".split()
WORDS = """
    parser walker cache index reader table window trunk ledger report label view
""".split()


def random_history(seed: int, root: Path) -> tuple[History, set[str]]:
    """Make the history of a seed in a folder, and name the situations that are in it.

    The first seeds have one situation each, so that what goes wrong alone is seen alone; the others
    have several.
    """
    rng = random.Random(seed)
    if seed < len(SITUATIONS):
        chosen = {SITUATIONS[seed]} | (
            {"checkpoints"} if SITUATIONS[seed] in _NEED_CHECKPOINTS else set()
        )
    else:
        chosen = {name for name in SITUATIONS if rng.random() < 0.3}
    maker = _Maker(rng, History(root), chosen)
    maker.work()
    return maker.history.write(), chosen


_NEED_CHECKPOINTS = {"imported", "no-home", "one-checkpoint", "tail-only"}


class _Maker:
    """One history in the making; ``now`` is the second that it is."""

    def __init__(self, rng: random.Random, history: History, chosen: set[str]) -> None:
        self.rng, self.history, self.chosen = rng, history, chosen
        self.now = 3600.0
        self.outputs = rng.sample(range(1, 1 << 30), 4000)
        self.subjects: dict[int, str] = {}
        self.unlanded: dict[str, list[int]] = {}
        self.numbers = 0
        self.begun: dict[tuple[str, str], int] = {}
        self.agents = [
            self._agent(n)
            for n in range(rng.randint(2, 5) if "parallel" in chosen else 1)
        ]
        if "remote" in chosen:
            history.remote = "https://github.com/Made/App.git"
        if "worktrees-setting" in chosen:
            history.globs = (f"{history.root}/gone/*",)

    def has(self, situation: str, share: float = 1.0) -> bool:
        return situation in self.chosen and self.rng.random() < share

    def output(self) -> int:
        return self.outputs.pop()

    def _agent(self, n: int) -> Session:
        alone = "parallel" not in self.chosen
        branch = "main" if alone else f"agent-{n}"
        gone = self.has("removed", 0.7)
        cwd = self.history.root / ("gone" if gone else "trees") / f"w{n}"
        if alone and "moved" in self.chosen:
            cwd, gone = self.history.root / "formerly", True
        if alone and not gone:
            cwd = self.history.repo
        elif not gone:
            self.history.worktrees[str(cwd)] = branch
        harness = "codex" if self.has("codex", 0.7) else "claude"
        shift = self.rng.choice((-3600, 3600)) if self.has("skewed", 0.7) else 0
        made = self.history.session(
            f"session-{n}", cwd, harness=harness, branch=branch, shift=shift
        )
        self._open(made)
        return made

    def _open(self, session: Session) -> None:
        if session.harness == "codex":
            told = (
                {"git": {"repository_url": "git@github.com:Made/App"}}
                if self.has("remote", 0.7)
                else {}
            )
            session.open_codex(self.now, **told)

    def work(self) -> None:
        for _ in range(self.rng.randint(15, 35)):
            self.now += self.rng.choice((7, 40, 300, 900)) + self.rng.random()
            agent = self.rng.choice(self.agents)
            if self.has("days", 0.15):
                self.now += 86_400 + self.rng.randint(0, 40_000)
                agent.compact(self.now - 5)
            if self.rng.random() < 0.35:
                self._commit(agent)
            else:
                self._step(agent)
            if self.has("by-hand", 0.15):
                self._by_hand()
            if self.has("other-repository", 0.2):
                self._elsewhere()
        for branch in list(self.unlanded):
            self._land(branch)
        self._ends()

    def _step(self, agent: Session) -> None:
        kind = self.rng.random()
        at = self.now
        if self.has("resumed", 0.15) or self.has("forked", 0.15):
            self._goes_on(agent)
        elif self.has("subagents", 0.4) and agent.harness == "claude":
            agent.turn(at, self.output(), side=True)
        elif self.has("temporary", 0.3):
            sha, subject = (
                "abcdef1",
                self.rng.choice(("init", *self.subjects.values(), "first")),
            )
            commands = (
                ("pytest -q", "go test ./...", "git status")
                if subject != "init"
                else ("git commit -m init",)
            )
            agent.run(
                at,
                self.output(),
                self.rng.choice(commands),
                f"x\n[main {sha}] {subject}\n",
            )
        elif kind < 0.3:
            failed = self.rng.random() < 0.4
            said = "1 failed, 2 passed in 0.10s" if failed else "3 passed in 0.10s"
            agent.run(at, self.output(), "pytest -q", said, failed)
        elif kind < 0.5:
            agent.edit(at, self.output(), "src/a.py")
        elif kind < 0.6:
            agent.interrupt(at)
        else:
            agent.turn(at, self.output())

    def _goes_on(self, agent: Session) -> None:
        """Go on in a new session that begins with a copy of this one.

        After a fork this one goes on too.
        """
        if agent.harness == "codex" or not agent.lines:
            return
        self.numbers += 1
        new = agent.copy(
            f"{agent.id[:9]}-again-{self.numbers}", rename=self.rng.random() < 0.7
        )
        self.history.sessions.append(new)
        if self.has("forked", 0.5):
            self.agents.append(new)
        else:
            self.agents[self.agents.index(agent)] = new

    def _commit(self, agent: Session, again: bool = True) -> None:
        history, branch = self.history, agent.branch
        self.numbers += 1
        subject = f"{self.rng.choice(WORDS)} {self.rng.choice(WORDS)} {self.numbers}"
        trailers = self._trailers() if "checkpoints" in self.chosen else ()
        mark = history.commit(self.now, subject, *trailers, branch=branch)
        said = self.now + self.rng.choice((0.2, 0.9))
        agent.commits(said, self.output(), mark, subject)
        self.subjects[mark] = subject
        if self.has("amended", 0.4):
            old, made = mark, self.now
            self.now += 20
            subject += self.rng.choice(("", ", better"))  # with another message, too
            mark = history.commit(
                made,
                subject,
                *trailers,
                committed=history.git.of(old).committed + 20,
                branch=branch,
                parent=history.git.of(old).parents[0],
                files=dict(history.git.of(old).files) | {f"src/more-{old}.py": "more"},
            )
            said = self.now + 0.3
            agent.commits(
                said, self.output(), mark, subject, "git commit --amend --no-edit"
            )
            self.subjects[mark] = subject
        self._entry(mark, subject, agent.id)
        for trailer in trailers:
            self._record(trailer, agent)
        if branch != "main":
            self.unlanded.setdefault(branch, []).append(mark)
            if self.rng.random() < 0.3:
                self._land(branch)
        if again and self.has("second-apart", 0.5):
            self.now = math.ceil(said + 0.5)
            self._commit(agent, again=False)

    def _trailers(self) -> tuple[str, ...]:
        if self.has("one-checkpoint", 0.4) and self.history.checkpoints:
            return (list(self.history.checkpoints)[-1],)
        return (
            (checkpoint_name(500 + self.numbers),) if self.rng.random() < 0.85 else ()
        )

    def _record(self, checkpoint: str, agent: Session) -> None:
        """Return what the tool keeps of a session at a commit: all of it, or what is new."""
        tail = self.has("tail-only", 0.6)
        begin = self.begun.setdefault((checkpoint, agent.id), agent.recorded)
        lines = agent.lines[begin:] if tail else agent.lines
        # a tail of Codex says no totals to begin with
        if not tail or agent.harness == "claude":
            start = None if self.rng.random() < 0.2 else 0 if tail else begin
            keys: dict[str, Any] = {
                "session": agent.id,
                "checkpoint_transcript_start": start,
            }
            if self.has("imported"):  # long after the commit that it is of
                keys["created_at"] = "2026-06-12T10:00:00Z"
            number = int(checkpoint[2:], 16)
            kept = None if self.rng.random() < 0.05 else [*lines]
            made = self.history.checkpoints.get(checkpoint)
            others = (
                [told for told in made.sessions if told[0]["session_id"] != agent.id]
                if made
                else []
            )
            self.history.checkpoint(number, (keys, kept))
            self.history.checkpoints[checkpoint].sessions += others
            agent.recorded = len(agent.lines)

    def _entry(self, mark: int | str, subject: str, session: str) -> None:
        if self.rng.random() < 0.1:
            return
        named = "" if self.has("no-session-ids", 0.7) else session
        commit: int | str = mark
        if self.has("shas-gone", 0.4):
            commit = f"{self.rng.getrandbits(160):040x}"
        summary = subject if self.rng.random() < 0.7 else f"{subject}, and why"
        self.history.entry(commit, summary, named)

    def _by_hand(self) -> None:
        self.now += 30
        self.numbers += 1
        subject = f"by hand {self.numbers}"
        mark = self.history.commit(self.now, subject)
        for agent in self.agents:
            if agent.branch == "main" and agent.lines and self.rng.random() < 0.1:
                agent.turn(self.now, self.output())
        if self.rng.random() < 0.7:
            self._entry(mark, subject, "")

    def _elsewhere(self) -> None:
        """Another repository's session, which even says that it made one of our commits."""
        found = [s for s in self.history.sessions if s.id == "elsewhere"]
        other = (
            found[0] if found else self.history.session("elsewhere", self.history.other)
        )
        other.turn(self.now, self.output())
        if self.subjects:
            subject = self.rng.choice(list(self.subjects.values()))
            other.run(
                self.now + 1,
                self.output(),
                "git commit -m x",
                f"[main 0123abc] {subject}",
            )

    def _land(self, branch: str) -> None:
        """Bring what an agent committed to the trunk, in one of the ways that teams have."""
        history, git, marks = self.history, self.history.git, self.unlanded.pop(branch)
        self.now += 60
        ways: list[str] = [
            way for way in ("rebased", "squashed", "picked") if way in self.chosen
        ] or ["merged"]
        way = self.rng.choice([*ways, ways[0], "merged"])
        at = 1_776_000_000 + int(self.now)
        if way == "merged":
            files = dict(f for m in marks for f in git.of(m).files.items())
            git.branches["main"] = git.commit(
                (history.main, marks[-1]), f"Merge {branch}", at, files
            )
        elif way == "squashed":
            text = f"All of {branch} {self.numbers}\n\n" + "\n".join(
                f"* {git.of(m).message}" for m in marks
            )
            files = dict(f for m in marks for f in git.of(m).files.items())
            git.branches["main"] = git.commit((history.main,), text, at, files)
            history.landed[marks[-1]] = history.main  # git says so of the tip alone
        else:
            for mark in marks:
                git.branches["main"] = git.again(mark, history.main, at)
                history.landed[mark] = history.main
        self._renamed(marks)
        git.branches[branch] = history.main

    def _renamed(self, marks: list[int]) -> None:
        """Some entries name what their commits became."""
        for n, entry in enumerate(self.history.entries):
            if (
                entry.commit in marks
                and entry.commit in self.history.landed
                and self.rng.random() < 0.4
            ):
                landed = self.history.landed[entry.commit]
                taken = any(e.commit == landed for e in self.history.entries)
                if not taken:
                    self.history.entries[n] = type(entry)(
                        entry.number, landed, entry.summary, entry.session
                    )

    def _ends(self) -> None:
        for session in self.history.sessions:
            session.cut_off = self.has("cut-off", 0.6)
            session.stored = not self.has("no-home", 0.6)
        if "nobody" in self.chosen:
            mark = self.history.commit(self.now + 500, "made by nobody", branch="main")
            self.history.entry(mark, "made by nobody", "no-such-session")
        if "worktrees-setting" in self.chosen or "remote" in self.chosen:
            told = (
                {"git": {"repository_url": "ssh://git@GITHUB.com/Made/App/"}}
                if "remote" in self.chosen
                else {}
            )
            quiet = self.history.session(
                "quiet", self.history.root / "gone" / "quiet", harness="codex"
            )
            quiet.open_codex(self.now, **told)
            quiet.turn(self.now + 100, self.output())
            mark = self.history.commit(self.now + 900, "what the quiet one did")
            self.history.entry(mark, "what the quiet one did")
