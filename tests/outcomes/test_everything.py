"""All that sessions of a machine used, by repository: every response exactly once."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.histories import Session, writes
from helpers.repos import Repo

NO_REPOSITORY = "no repository"
OUTPUT_PRICE = 75 / 1_000_000  # dollars a token of claude-opus-4-1


class Machine:
    """A home with sessions, and repositories beside it.

    Attributes:
        used: the tokens of output of each place, by the name of its repository.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.used: dict[str, int] = {}
        self._sessions = 0

    def repository(self, name: str) -> Repo:
        repo = Repo(self.root / name)
        repo.commit({"app.py": f"# {name}\n"})
        return repo

    def works(self, cwd: Path | str, owner: str, repo: Repo | None = None) -> Session:
        """Let a session work in a folder; with a repository it makes a commit of that."""
        self._sessions += 1
        session = Session(f"s{self._sessions}", str(cwd))
        output = 1000 << self._sessions
        session.turn(1, output)
        self.used[owner] = self.used.get(owner, 0) + output
        if repo:
            subject = f"Add {self._sessions}"
            sha = repo.commit({f"{self._sessions}.py": "made = 1\n"}, subject)
            printed = f"[master {sha[:10]}] {subject}\n 1 file changed, 1 insertion(+)"
            session.run(2, output + 1, "git add -A && git commit -m x", printed)
            self.used[owner] += output + 1
        self.write(session)
        return session

    def write(self, session: Session) -> None:
        path = self.home / ".claude" / "projects" / "app" / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(json.dumps(line) + "\n" for line in session.lines), "utf-8"
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Five repositories, one moved, one in a container, a work tree that is gone, and none."""
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("TZ", "UTC")
    repos = [made.repository(f"app{n}") for n in range(5)]
    for repo in repos:
        made.works(repo.path, str(repo.path))
    monkeypatch.chdir(repos[0].path)

    moved, in_container, with_worktree, *_ = repos
    made.works("/old/app0", str(moved.path), moved)
    made.works("/workspaces/app1", str(in_container.path), in_container)

    worktree = tmp_path / "trees" / "x"
    with_worktree.git("worktree", "add", "-q", "-b", "x", str(worktree))
    made.works(worktree, str(with_worktree.path))
    shutil.rmtree(worktree)

    notes = tmp_path / "notes"
    notes.mkdir()
    outside = made.works(notes, NO_REPOSITORY)
    made.works("/gone/and/never/known", NO_REPOSITORY)
    made.write(outside.copy("resumed"))  # the same lines again
    return made


def everything(da_score: Any, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = da_score(
        "cost", "--everything", "--json", "--no-cache", *options
    ).json
    return answer


def test_all_work_is_in_the_sum_exactly_once(machine: Machine, da_score: Any) -> None:
    sums = everything(da_score)["everything"]
    costs = {one["name"]: one["cost"] for one in sums["repository"]}
    assert costs.keys() == machine.used.keys()
    for name, tokens in machine.used.items():
        assert costs[name] == pytest.approx(tokens * OUTPUT_PRICE, rel=0.01)
    (total,) = sums["all"]
    assert (total["sessions"], total["unpriced_responses"]) == (10, 0)
    for kind in ("repository", "harness", "model"):
        assert sum(one["cost"] for one in sums[kind]) == pytest.approx(total["cost"])
        assert sum(one["responses"] for one in sums[kind]) == total["responses"] == 12


def test_the_row_of_a_repository_is_what_work_says(
    machine: Machine, da_score: Any
) -> None:
    costs = {
        one["name"]: one["cost"]
        for one in everything(da_score)["everything"]["repository"]
    }
    for number in (0, 1, 2):
        repo = str(machine.root / f"app{number}")
        log = machine.root / f"log{number}"
        log.mkdir()
        options = ("--repo-dir", repo, "--iter-log-dir", str(log))
        work = da_score("work", "--json", "--no-cache", *options).json
        assert work["summary"]["cost"] == pytest.approx(costs[repo])


@pytest.mark.parametrize("is_repository", [True, False])
def test_an_edit_shows_a_repository_in_which_no_session_began(
    machine: Machine, da_score: Any, is_repository: bool
) -> None:
    session = Session("above", str(machine.root))
    writes(session, 1, 5000, "app9/x.py")
    machine.write(session)
    far = Session("far", str(machine.root))
    writes(far, 9, 1, f"{'x' * 300}/x.py")  # no system has such a folder
    machine.write(far)
    if is_repository:
        machine.repository("app9")
    rows = everything(da_score)["everything"]["repository"]
    names = [one["name"] for one in rows]
    assert (str(machine.root / "app9") in names) is is_repository


def test_as_people_read_it(machine: Machine, da_score: Any) -> None:
    shown = da_score("cost", "--everything", "--no-cache").out
    assert "for 10 sessions on this machine, all days" in shown
    assert f"\n{NO_REPOSITORY} " in shown
    assert f"\n{machine.root / 'app4'} " in shown


def test_it_needs_no_repository(
    machine: Machine, da_score: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = everything(da_score)["everything"]
    monkeypatch.chdir(machine.home)
    assert everything(da_score)["everything"] == inside


def test_a_session_in_two_rows_is_said_to_be(machine: Machine, da_score: Any) -> None:
    assert (
        "A session of more than one"
        not in da_score("cost", "--everything", "--no-cache").out
    )
    session = machine.works(machine.root / "app3", str(machine.root / "app3"))
    later = machine.works(machine.root / "app4", str(machine.root / "app4"))
    for line in later.lines:
        line["sessionId"] = session.id
    machine.write(later)
    shown = da_score("cost", "--everything", "--no-cache").out
    assert "A session of more than one repository counts in the row of each." in shown


@pytest.mark.parametrize(
    ("folder", "paths", "is_named"),
    [
        pytest.param("/old/name", ["src/app.py"], True, id="a file of the repository"),
        pytest.param(
            "/old/name", ["src/app.py", "a.py", "b.py"], False, id="among many others"
        ),
        pytest.param(
            "/old/name", ["README.md"], False, id="a file that every repository has"
        ),
        pytest.param("", ["src/app.py"], False, id="a folder that is there"),
    ],
)
def test_work_names_what_it_leaves_out_with_its_cost(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    da_score: Any,
    folder: str,
    paths: list[str],
    is_named: bool,
) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(machine.home))
    repo = Repo(tmp_path / "app")
    repo.commit({"src/app.py": "made = 1\n", "README.md": "app\n"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "log").mkdir()
    session = machine.works(folder or elsewhere, NO_REPOSITORY)
    for number, path in enumerate(paths):
        session.edit(10 + number, 10 + number, path)
    machine.write(session)

    options = (
        "--repo-dir",
        repo.path,
        "--iter-log-dir",
        tmp_path / "log",
        "--no-cache",
    )
    shown = da_score("work", *options).out
    line = "1 session ($0.15) of a folder that is gone edits files of this repository: --worktrees"
    assert (f"{line} /old/name" in shown) is is_named
    (day,) = {
        stamp["timestamp"][:10] for stamp in session.lines if "timestamp" in stamp
    }
    assert (f"{line} /old/name" in da_score("cost", day, *options).out) is is_named
    assert line not in da_score("cost", "1999-12", *options).out
    left_out = da_score("work", *options, "--json").json["left_out"]
    expected = [("s1", "claude", "/old/name")] if is_named else []
    assert [
        (one["session"], one["harness"], one["folder"]) for one in left_out
    ] == expected
    found = da_score("work", *options, "--worktrees", "/old/name", "--json").json
    if is_named:
        assert found["summary"]["cost"] == pytest.approx(0.15, abs=0.01)
        assert line not in da_score("work", *options, "--worktrees", "/old/name").out
