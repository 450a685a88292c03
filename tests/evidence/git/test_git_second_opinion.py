"""What git says through our door is what GitPython, which shares no code with it, finds in the same repository."""

from pathlib import Path

import git

from scoring import build_demo, load_iteration_log
from scoring.evidence.git.reference import GitHistory
from scoring.evidence.git.repository import GitRepository


def test_reachability_times_and_files_agree(tmp_path: Path) -> None:
    demo = build_demo(tmp_path / "demo")
    names = [record.commit for record in load_iteration_log(demo.iter_log_dir) if record.commit]
    history = GitHistory(GitRepository(demo.repo_dir), names)
    with git.Repo(demo.repo_dir) as other:
        trunk = {commit.hexsha for commit in other.iter_commits("master")}
        seen = set()
        for name in names:
            sha = history.resolve(name)
            if sha is None:
                assert name not in {commit.hexsha[: len(name)] for commit in other.iter_commits("--all")}
                seen.add("unresolved")
                continue
            theirs, ours = other.commit(name), history.commit(sha)
            assert ours is not None
            assert (sha, ours.time) == (theirs.hexsha, theirs.committed_date)
            assert set(ours.files or ()) == {str(path) for path in theirs.stats.files}
            assert history.on_trunk(sha) == (sha in trunk)
            seen.add("on the trunk" if sha in trunk else "off the trunk")
    assert seen == {"unresolved", "on the trunk", "off the trunk"}


def test_the_walk_is_in_the_same_order(tmp_path: Path) -> None:
    demo = build_demo(tmp_path / "demo")
    with git.Repo(demo.repo_dir) as other:
        theirs = [commit.hexsha for commit in other.iter_commits("master")]
    repository = GitRepository(demo.repo_dir)
    assert [commit.sha for commit in repository.walk(theirs[0])] == theirs
    assert repository.order(theirs[0]) == theirs
