"""da-score reads the same from git as GitPython, which shares no code with it."""

from pathlib import Path

import git

from scoring import build_demo, load_iteration_log
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import trunk_commits
from scoring.evidence.reference.git import ReferenceHistory


def test_reachability_times_and_files_agree(tmp_path: Path) -> None:
    demo = build_demo(tmp_path / "demo")
    records = [
        record for record in load_iteration_log(demo.iter_log_dir) if record.commit
    ]
    history = ReferenceHistory(demo.repo_dir, records)
    with git.Repo(demo.repo_dir) as other:
        trunk = {commit.hexsha for commit in other.iter_commits("master")}
        seen = set()
        for record in records:
            name = record.commit
            sha = history.resolve(name)
            if sha is None:
                assert name not in {
                    commit.hexsha[: len(name)] for commit in other.iter_commits("--all")
                }
                seen.add("unresolved")
                continue
            theirs, ours = other.commit(name), history.changed(record)
            assert (sha, history.committed(name)) == (
                theirs.hexsha,
                theirs.committed_date,
            )
            assert set(ours.files) == {str(path) for path in theirs.stats.files}
            assert history.on_trunk(sha) == (sha in trunk)
            seen.add("on the trunk" if sha in trunk else "off the trunk")
    assert seen == {"unresolved", "on the trunk", "off the trunk"}


def test_the_walk_is_in_the_same_order(tmp_path: Path) -> None:
    demo = build_demo(tmp_path / "demo")
    with git.Repo(demo.repo_dir) as other:
        theirs = [commit.hexsha for commit in other.iter_commits("master")]
    repository = GitRepository(demo.repo_dir)
    assert [line.sha for line in trunk_commits(repository, theirs[0])] == theirs
