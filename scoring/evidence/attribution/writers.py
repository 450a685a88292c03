"""Which of the sessions that show a commit wrote it: docs/EVIDENCE.md, "Attribution"."""

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.work_trees import WorkTrees

from .session_trees import Tree
from .written import (
    SAME_PATCH,
    LineChange,
    LinesAdded,
    changes_to,
    least_share,
    lines_left_by_file,
)


def leave_commits_to_writers(
    trees: Iterable[Tree], lines_added: LinesAdded, work_trees: WorkTrees
) -> None:
    """Take a commit that several trees show from those that did not write its lines.

    Where no tree wrote them, all keep the commit.
    """
    trees_by_commit: dict[str, list[Tree]] = {}
    for tree in trees:
        for sha in {commit.sha for session in tree.sessions for commit in session.made}:
            trees_by_commit.setdefault(sha, []).append(tree)
    shown_by_several = {
        sha: showing for sha, showing in trees_by_commit.items() if len(showing) > 1
    }

    added = lines_added(shown_by_several)
    for sha, showing in shown_by_several.items():
        lines = added.get(sha, {})
        writers = [tree for tree in showing if _wrote(tree, lines, work_trees.all_tops)]
        for tree in showing if writers else ():
            if tree in writers:
                continue
            for session in tree.sessions:
                session.made = [made for made in session.made if made.sha != sha]


def _wrote(tree: Tree, added: Mapping[FileLine, int], tops: Collection[str]) -> bool:
    """Return whether a tree wrote the lines that a commit adds, as far as a session has to."""
    names = {name for name, _ in added}
    changes: list[LineChange] = []
    for session in tree.sessions:
        changes += changes_to(session, names)
    changes.sort(key=attrgetter("time"))

    written = lines_left_by_file((change.file, change.hashes) for change in changes)
    return (least_share(added, [written], tops) or 0) >= SAME_PATCH
