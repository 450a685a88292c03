"""Entries that claim more than there is, beside honest ones: whole logs, from the transcript to the band."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.histories import History

from rubric import BAND_INSUFFICIENT, Score, SignalContribution, released_rubric
from scoring.score import score_log

pytestmark = pytest.mark.sampled(3)

RUBRIC = released_rubric("3.1.0")
ARTIFACT = "checks/t/unit.yaml"
PASSED = "12 passed in 0.31s"

CLAIMS: dict[str, Any] = {
    "impl": {"summary": "work", "scope_note": "on-target", "focused_tests_pass": True, "tests_total_pass": True},
    "verifiers": [{"type": "unit", "status": "pass", "result_artifact": ARTIFACT, "tests_total_pass": True}],
    "session_tokens": {"input_tokens": 1, "cache_read_tokens": 99, "cache_creation_tokens": 1, "cache_hit_rate": 0.99},
}


MAY_WRITE = f"""
eval echo x '>' {ARTIFACT} ~~ cp /tmp/made {ARTIFACT} ~~ cp made link.yaml ~~ mv -f out/unit.yaml checks/t/ ~~
cd checks && install -m 644 -t t ../unit.yaml ~~ sudo ln -sf ../../made {ARTIFACT} ~~ sed -i s/fail/pass/ {ARTIFACT} ~~
perl -pi -e s/fail/pass/ {ARTIFACT} ~~ yq -i '.status="pass"' {ARTIFACT} ~~ eval "echo x > {ARTIFACT}" ~~
curl -sSo {ARTIFACT} http://x/made ~~ curl -o link.yaml http://x/made ~~ cd checks/t && curl -sO http://x/unit.yaml ~~
wget -O {ARTIFACT} http://x/made ~~ wget -qP checks/t http://x/unit.yaml ~~
find checks -name unit.yaml -exec cp made {{}} \\; ~~ find checks -name '*.yaml' -exec sh -c 'echo x > "$1"' _ {{}} + ~~
find . -type f -exec sed -i s/fail/pass/ {{}} + ~~ echo {ARTIFACT} | xargs cp made ~~
ls checks/t/*.yaml | xargs -I@ cp made @ ~~ find . -name x.yml -exec cp {{}} $OUT \\; ~~ tar -xf made.tar ~~
git ls-files checks | xargs sed -i s/fail/pass/ ~~ bunzip2 -f checks/t/unit.yaml.bz2 ~~
tar xzf made.tgz -C checks ~~ unzip -qo made.zip ~~ unzip made.zip -d checks/t ~~ gunzip -f checks/t/unit.yaml.gz ~~
python3 -m zipfile -e made.zip . ~~ cd made && find . | cpio -pdm ../checks ~~ cp -r made/. . ~~ cp -r made checks ~~
cd made && cp --parents checks/t/unit.yaml .. ~~ rsync -a made/ ./ ~~ cd made && rsync -aR checks/t/unit.yaml .. ~~
git checkout HEAD~1 -- {ARTIFACT} ~~ git checkout HEAD~1 {ARTIFACT} ~~ git -C checks checkout other -- t ~~
git restore --source=other {ARTIFACT} ~~ git stash push -- {ARTIFACT} ~~ git stash pop ~~ git apply made.patch ~~
patch -p1 < made.patch ~~ patch {ARTIFACT} < made.patch ~~ dd if=made of={ARTIFACT} ~~ sort -o {ARTIFACT} made ~~
sed -n 'w {ARTIFACT}' made ~~ awk '{{print > "{ARTIFACT}"}}' made ~~
python -c "open('{ARTIFACT}','w').write('status: pass')" ~~
python3 -c "import pathlib as p; p.Path('checks','t',f'{{k}}.yaml').write_text('x')" ~~
node -e 'require("fs").writeFileSync("{ARTIFACT}", "status: pass")' ~~
perl -e 'open F, "> {ARTIFACT}"; print F "status: pass"' ~~ ruby -e "File.write('{ARTIFACT}', 'x')" ~~
echo "open('{ARTIFACT}','w').write('x')" | python3 ~~ echo 'echo x > {ARTIFACT}' | sh ~~
CODE="open('{ARTIFACT}','w')"; python -c "$CODE" ~~ ssh localhost 'cp made /repo/{ARTIFACT}' ~~
vim -c 'w! {ARTIFACT}' -c q made ~~ cd checks/t; (cd /usr); echo x > unit.yaml ~~
cd checks/t; false && cd /usr; echo x > unit.yaml ~~ echo x > checks/t/{{unit..unit}}.yaml ~~
echo x > $'checks/t/\\x75nit.yaml'
"""
NOT_WRITING = f"""
curl -s http://x/{ARTIFACT} ~~ curl -o other.yaml http://x/unit.yaml ~~ wget -qO- http://x/unit.yaml ~~
find . -name unit.yaml -exec cat {{}} + ~~ find src -name '*.py' -exec sed -i s/a/b/ {{}} + ~~
find src -name '*.py' | xargs grep x ~~ find src -name '*.py' | xargs sed -i s/a/b/ ~~ cat {ARTIFACT} | xargs echo ~~
tar -cf saved.tar checks ~~ tar -xf made.tar -C /elsewhere ~~ tar -xOf made.tar {ARTIFACT} ~~ unzip -l made.zip ~~
cp -r made . ~~ rsync -a {ARTIFACT} /elsewhere/ ~~ git checkout -b other ~~ git restore src/a.py ~~ git stash list ~~
git apply --check made.patch ~~ sort {ARTIFACT} ~~ sed -n 's/w /x/p' {ARTIFACT} ~~ awk '$1 > 5' {ARTIFACT} ~~
python -c "import yaml; print(yaml.safe_load(open('{ARTIFACT}'))['status'])" ~~
python -c "open('out.txt','w').write('x')" ~~ node -e 'console.log(require("fs").readFileSync("{ARTIFACT}", "utf8"))' ~~
python tools/make.py --out "{ARTIFACT}" ~~ echo 'cat {ARTIFACT}' | sh ~~ cd checks/t && make > out.log
"""


class Log:
    """A repository in which one agent works, and entries that somebody writes about it."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder)
        self.session = self.history.session("s1")
        self.clock = 0.0

    def work(self, done: tuple[str, str] | None = None, printed: str = PASSED, **commit: Any) -> int:
        """Edit, test, do something about the artifact, verify and commit; return the mark of the commit."""
        begun, self.clock, turns = self.clock, self.clock + 100, len(self.session.lines) * 10
        self.session.edit(begun + 10, turns + 1, "src/a.py")
        self.session.run(begun + 20, turns + 2, "pytest -q", printed)
        if done:
            how, what = done
            self.session.edit(begun + 30, 7777, what) if how == "edit" else self.session.run(begun + 30, 7777, what, "")
        self.session.run(begun + 40, turns + 4, f"scripts/verify --out {ARTIFACT}", "done")
        mark = self.history.commit(begun + 50, "work", **commit)
        self.session.commits(begun + 50, turns + 5, mark, "work")
        return mark

    def entry(self, commit: int | str, **said: Any) -> None:
        """Write an entry that claims everything."""
        self.said = [*getattr(self, "said", []), said]
        self.history.entry(commit, "work")

    def scores(self) -> list[Score]:
        self.history.write()
        for n, said in enumerate(self.said, 1):
            path = self.history.log / f"iter-{n}.yaml"
            path.write_text(json.dumps(json.loads(path.read_text()) | CLAIMS | said))
        artifact = self.history.repo / ARTIFACT
        artifact.parent.mkdir(parents=True, exist_ok=True)
        artifact.write_text("status: pass\n")
        (self.history.repo / "link.yaml").symlink_to(ARTIFACT)
        (self.history.repo / "linked").symlink_to("checks/t")
        os.link(artifact, self.history.repo / "twin.yaml")
        return [one.score for one in score_log(self.history.log, self.history.repo, rubric=RUBRIC).iterations]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log(tmp_path)
    monkeypatch.setenv("HOME", str(made.history.home))
    return made


def row(score: Score, signal: str) -> SignalContribution:
    return next(row for row in score.breakdown if row.signal == signal)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    "done",
    [
        pytest.param(("edit", ARTIFACT), id="an edit tool"),
        pytest.param(("edit", "link.yaml"), id="an edit tool through a link"),
        pytest.param(("edit", "linked/unit.yaml"), id="an edit tool through a linked folder"),
        pytest.param(("edit", "twin.yaml"), id="an edit tool by another name of the file"),
        pytest.param(("run", f"echo 'status: pass' > {ARTIFACT}"), id="a redirection"),
        pytest.param(("run", "cd checks && echo 'status: pass' >>t/unit.yaml"), id="a redirection in a folder"),
        pytest.param(("run", "cd linked && echo 'status: pass' > unit.yaml"), id="a redirection in a linked folder"),
        pytest.param(("run", "echo 'status: pass' > link.yaml"), id="a redirection through a link"),
        pytest.param(("run", f"echo 'status: pass' | tee {ARTIFACT}"), id="tee"),
        pytest.param(("run", f"cat > {ARTIFACT} <<EOF\nstatus: pass\nEOF"), id="a here-document"),
    ],
)
def test_an_artifact_that_the_agent_wrote_has_no_vote(log: Log, done: tuple[str, str]) -> None:
    log.entry(log.work(done))
    (score,) = log.scores()
    why = "none of 1 verifiers observed: the agent wrote its artifact itself; evidence by commit"
    assert (row(score, "verifier").present, row(score, "verifier").detail) == (False, why)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    "done",
    [
        pytest.param(("edit", "src/unit.yaml"), id="another file of that name"),
        pytest.param(("edit", "gone/unit.yaml"), id="a file that is not there"),
        pytest.param(("run", f"cat {ARTIFACT} > out.txt"), id="a copy of it"),
        pytest.param(("run", f"cat < {ARTIFACT}"), id="it was read"),
        pytest.param(("run", f"git commit -m 'wrote > {ARTIFACT}'"), id="a message names it"),
        pytest.param(("run", "echo x > $OUT/other.yaml"), id="a variable before another name"),
        pytest.param(("run", "make > ${NAME}.log"), id="a variable before another suffix"),
        pytest.param(("run", "make > checks/t/*.log"), id="a glob of other files"),
        pytest.param(("run", "make > /tmp/$$/out"), id="a variable in another folder"),
        pytest.param(("run", 'eval "make > out.log"'), id="eval that writes another file"),
        pytest.param(("run", "pushd checks/t && make > out.log"), id="pushd and another file"),
        pytest.param(("run", f"cp {ARTIFACT} saved.yaml"), id="it was copied"),
        pytest.param(("run", f"cp {ARTIFACT} $TO/saved.yaml"), id="it was copied to a folder that is a variable"),
        pytest.param(("run", "cp made checks/t/"), id="a copy of another name into its folder"),
        pytest.param(("run", f"sed -n s/a/b/p {ARTIFACT}"), id="sed that prints"),
        pytest.param(("run", "sed -i s/a/b/ src/a.py"), id="sed in place of another file"),
        pytest.param(("run", f"dd if={ARTIFACT} of=saved"), id="dd from it"),
        pytest.param(("run", "mv out saved"), id="another folder was moved"),
        *(pytest.param(("run", command.strip()), id=command.strip()) for command in NOT_WRITING.strip().split(" ~~")),
    ],
)
def test_an_artifact_that_the_agent_did_not_write_has_one(log: Log, done: tuple[str, str]) -> None:
    log.entry(log.work(done))
    (score,) = log.scores()
    assert row(score, "verifier").present


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo 'status: pass' > $OUT/unit.yaml", id="a variable for its folder"),
        pytest.param('F=checks/t/unit.yaml; echo x > "$F"', id="a variable for the whole"),
        pytest.param("echo x > checks/$T/unit.yaml", id="a variable in the middle"),
        pytest.param("echo x > checks/t/${NAME}.yaml", id="a variable before its suffix"),
        pytest.param("echo x > $(echo checks/t/unit.yaml)", id="what a command prints"),
        pytest.param("echo x > checks/t/*.yaml", id="a glob of files"),
        pytest.param("echo x > check?/t/unit.yaml", id="a glob of folders"),
        pytest.param("echo x > {a,checks/t}/unit.yaml", id="braces"),
        pytest.param("pushd checks/t && echo x > unit.yaml", id="pushd"),
        pytest.param("cd $T; echo x > unit.yaml", id="a folder that is a variable"),
        pytest.param("cd checks/t && cd x && cd - && echo x > unit.yaml", id="the folder before"),
        pytest.param(f'eval "echo x > $HERE/{ARTIFACT}"', id="eval of a text"),
        pytest.param("echo x | tee $OUT", id="tee and a variable"),
        pytest.param("bash -c 'echo x > $OUT'", id="a shell in a shell"),
        pytest.param(": " + "x" * 70_000 + f"; echo x > {ARTIFACT}", id="behind more than is looked at"),
        pytest.param("".join(f": > {n};" for n in range(250)) + f": > {ARTIFACT}", id="behind many others"),
        pytest.param("cp made $OUT/unit.yaml", id="a copy into a folder that is a variable"),
        pytest.param('cp "$MADE" checks/t/', id="a copy of a variable into its folder"),
        pytest.param("rsync -a made/ checks/", id="rsync of a folder above it"),
        pytest.param("mv made checks", id="a folder in the place of one above it"),
        pytest.param(f'eval "cp made $HERE/{ARTIFACT}"', id="eval of a copy"),
        pytest.param(f"python3 - <<'E'\nopen('{ARTIFACT}', 'w').write('x')\nE", id="code from a here-document"),
        pytest.param(f"bash -s <<E\necho x > {ARTIFACT}\nE", id="a shell with a here-document"),
        *(pytest.param(command.strip(), id=command.strip()) for command in MAY_WRITE.strip().split(" ~~")),
    ],
)
def test_an_artifact_that_a_command_may_have_written_has_no_vote(log: Log, command: str) -> None:
    log.entry(log.work(("run", command)))
    (score,) = log.scores()
    why = "unknown whether the agent wrote its artifact: a command may have copied or written to it"
    assert not row(score, "verifier").present
    assert row(score, "verifier").detail == f"none of 1 verifiers observed: {why}; evidence by commit"


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("kind", "command", "counts"), tables.cases("made_up", "verifiers"))
def test_a_verifier_is_observed_when_a_command_of_its_own_kind_ran(
    log: Log, kind: str, command: str, counts: bool
) -> None:
    verifiers = [CLAIMS["verifiers"][0] | {"type": kind}]
    log.entry(log.work(("run", command)), verifiers=verifiers)
    (score,) = log.scores()
    assert row(score, "verifier").present is counts
    assert counts or "no command is seen that ran for it" in row(score, "verifier").detail


@pytest.mark.parametrize(
    "commit",
    [
        pytest.param(None, id="with the commit of somebody else"),
        pytest.param("deadbeefdeadbeef", id="with a commit that is nowhere"),
        pytest.param("", id="without a commit"),
    ],
)
def test_claims_alone_give_no_band(log: Log, commit: str | None) -> None:
    theirs = log.history.commit(10, "of a person")
    log.entry(theirs if commit is None else commit, impl=CLAIMS["impl"] | {"summary": "made up"})
    (score,) = log.scores()
    assert score.band == BAND_INSUFFICIENT
    assert {r.signal for r in score.breakdown if r.present} <= {"landed"}
    assert all(r.detail for r in score.breakdown)


def test_a_failed_last_run_allows_fair_at_best(log: Log) -> None:
    log.entry(log.work(printed="1 failed, 11 passed in 0.31s"))
    (score,) = log.scores()
    assert (score.band, RUBRIC.band(score.value)) == ("fair", "good")
    assert "caps the band at fair" in row(score, "tests").detail
