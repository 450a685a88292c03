"""The report: what it says, that it needs nothing else, and that it works in a real browser."""

import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from helpers.commands import DaScore, OnTerminal, one_line
from helpers.deliberations import OWNED, document, outputs
from helpers.projects import LOG, edit
from helpers.timing import seconds_of, too_slow
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from rubric import SignalContribution, default_rubric
from scoring.demo import Demo
from scoring.errors import installing
from scoring.examine import LogView
from scoring.outcomes.validity import validity
from scoring.sidecars.meaning import NOT_MEASURED
from scoring.views.amounts import cost_text
from scoring.views.landing_text import STATE_WORDS
from scoring.views.report import page_parts, report_lines
from scoring.views.report.digest import Digest, digest
from scoring.views.report.reported_iteration import ReportedIteration
from scoring.views.table import pipe_text
from scoring.views.work_rows import work_of

DATA = '<script type="application/json" id="da-score-data">'


def digest_of(demo: Demo, **how: Any) -> Digest:
    view = LogView(demo.iter_log_dir, demo.repo_dir, demo.transcript_dirs, **how)
    found = digest(demo.iter_log_dir, default_rubric(), view.examine())
    found.work, found.horizon_days = work_of(view), 14
    return found


def line(
    number: int, value: float | None, rubric: str = "2.1.0", band: str = "good"
) -> ReportedIteration:
    weight = value or 0.0
    landed = SignalContribution(
        "landed", "Landed", value is not None, weight, "told", 1.0, 1.0, weight
    )
    rows = (landed,)
    return ReportedIteration(
        number, "t", "", "", rubric, value, band, "computed", 1.0, rows, ()
    )


def with_units(found: Digest, count: int) -> Digest:
    """Return a digest with so many iterations, and a unit of work for each."""
    found.lines = [found.lines[n % 9]._replace(iteration=n + 1) for n in range(count)]
    rows = [row for row in found.work if row.values["ended"]]
    numbered = [rows[n % len(rows)] for n in range(count)]
    found.work = [
        row._replace(values={**row.values, "iterations": [n]})
        for n, row in enumerate(numbered, 1)
    ]
    return found


def page(digest: Digest) -> str:
    """Return a report as HTML."""
    return "".join(page_parts(digest))


def made(*lines: ReportedIteration) -> Digest:
    return Digest("log", default_rubric(), list(lines))


class TestDigest:
    def test_counts_what_the_log_holds(self, demo: Demo) -> None:
        found = digest_of(demo)
        assert len(found.lines) == 9
        assert found.mean is not None
        assert math.isclose(found.mean, sum(found.values) / 9)
        assert found.bands == {"excellent": 4, "good": 2, "fair": 2, "poor": 1}
        assert [len(s.iterations) for s in found.sessions] == [3, 4]
        assert found.hooks["scope.stay-in-write-scope", "remediate"] == 1
        assert list(found.signals) == [spec.id for spec in default_rubric().signals]
        rows = [row for line in found.lines for row in line.rows]
        assert sum(row.present for row in rows if row.signal == "hook_outcomes") == 5


class _Structure(HTMLParser):
    """Collects what a page links to, its ids, and the text of its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.external: list[str] = []

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action") and value:
                (self.references if value.startswith("#") else self.external).append(
                    value
                )
            if name in ("aria-labelledby", "for") and value:
                self.references += [f"#{word}" for word in value.split()]


def structure(html: str) -> _Structure:
    found = _Structure()
    found.feed(html)
    return found


@pytest.fixture(scope="session")
def html(_built_demo: Path) -> str:
    repo, transcripts = (
        _built_demo / "repo",
        tuple((_built_demo / "transcripts").iterdir()),
    )
    return page(digest_of(Demo(_built_demo, repo, repo / LOG, transcripts)))


class TestPage:
    def test_needs_nothing_beside_itself(self, html: str) -> None:
        found = structure(html)
        assert found.external == []
        assert "default-src 'none'" in html
        ours = re.sub(r"<script>.*?</script>", "", html, flags=re.S)
        assert not re.search(r"url\((?!#)", ours)
        assert not re.search(r"@import|<link\b|<img\b|<iframe\b", ours)

    def test_has_every_id_once_and_every_reference_leads_somewhere(
        self, html: str
    ) -> None:
        found = structure(html)
        assert len(found.ids) == len(set(found.ids))
        dead = {
            r
            for r in found.references
            if r[1:] not in found.ids and not r.startswith("#iter-")
        }
        assert not dead
        assert {r for r in found.references if r.startswith("#iter-")} == {
            f"#iter-{n}" for n in range(1, 10)
        }

    def test_gives_each_state_a_color_of_its_own(self, html: str) -> None:
        colors = dict(re.findall(r"\.parts \.(\w+)\{background:([^}]+)\}", html))
        assert colors.keys() == STATE_WORDS.keys()
        assert len(set(colors.values())) == len(colors)

    def test_says_of_every_chart_what_it_shows_and_has_its_numbers_in_a_table(
        self, html: str
    ) -> None:
        charts = re.findall(
            r'<div class="chart" data-chart="(\w+)" role="img" aria-label="([^"]+)">',
            html,
        )
        assert [name for name, _ in charts] == ["months", "days", "costs", "scores"]
        assert all("table" in said for _, said in charts)

    def test_first_says_what_became_of_the_work_and_last_what_it_scored(
        self, html: str
    ) -> None:
        flat = re.sub(
            r"\s+",
            " ",
            re.sub(
                r"<(?:style|script).*?</(?:style|script)>|<[^>]+>",
                " ",
                html,
                flags=re.S,
            ),
        )
        first, _, rest = flat.partition("Is it getting better?")
        assert (
            "6 of 9 units of work landed landed 6 reverted 1 taken back 0 open 1 "
            "lost 0 unclear 1" in first
        )
        assert f"Do the scores mean anything here? {NOT_MEASURED} Look at" in first
        assert (
            "feat(limits): limit requests per client reverted by dc5fe68d151e "
            "2026-03-03 · f05ce0048e" in first
        )
        assert "0.749" not in first
        assert rest.index("Who does better?") < rest.index(
            "Evidence scores Do they mean anything here?"
        )

    def test_goes_through_all_iterations_as_often_however_many_they_are(
        self, demo: Demo
    ) -> None:
        class Counted(list[ReportedIteration]):
            passes = 0

            def __iter__(self) -> Iterator[ReportedIteration]:
                self.passes += 1
                return super().__iter__()

        found = digest_of(demo)
        found.validity = validity([], "defective", "x", 14)
        few = Counted(with_units(found, 20).lines)
        found.lines = few
        page(found)
        many = Counted(with_units(found, 40).lines)
        found.lines = many
        page(found)
        assert 0 < few.passes == many.passes

    def test_grades_no_score_that_means_nothing(self, demo: Demo, html: str) -> None:
        assert 'class="band excellent"' not in html
        found = digest_of(demo)
        weak: Any = SimpleNamespace(verdict="weak", score=None, bands=None)
        found.validity = weak
        assert (found.meaning.means_something, str(found.meaning)) == (True, "weak")
        coin: Any = SimpleNamespace(verdict="no better than a coin")
        found.validity = coin
        assert (found.meaning.means_something, found.meaning.name) == (
            False,
            "Evidence score",
        )

    def test_text_of_a_log_is_text(self, demo: Demo) -> None:
        evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>$x_1$"
        edit(
            demo.iter_log_dir / "iter-5.yaml",
            "task_id: limit-requests",
            f"task_id: {json.dumps(evil)}",
        )
        edit(
            demo.iter_log_dir / "iter-6.yaml", "task_id: ", f"task_id: {'long-' * 9000}"
        )
        edit(
            demo.iter_log_dir / "iter-5.hook-outcomes.yaml",
            "scope.stay-in-write-scope",
            "规则$x_1<b>$",
        )
        html = page(digest_of(demo))
        assert not [tag for tag in ("<script>alert", "<img", "<b>$") if tag in html]
        assert html.count("</script>") == 4
        assert "规则" in html
        assert len(html) < 900_000

    def test_lists_over_claims_the_worst_first(self, demo: Demo, html: str) -> None:
        over = digest_of(demo).over_claims
        assert [one.iteration for one, _ in over][:3] == [5, 4, 4]
        assert (over[0][1].role, over[0][1].signal, over[0][1].delta) == (
            "impl",
            "landed",
            -1.0,
        )
        assert html.count('data-label="claimed">') == len(over) == 8

    def test_shows_deliberations_where_there_are_any(
        self, demo: Demo, html: str
    ) -> None:
        assert "Deliberations</h2>" not in html
        rounds = [outputs([f"a claim that is number {n}"], OWNED) for n in range(3)]
        (demo.iter_log_dir / "iter-7.dr.json").write_text(json.dumps(document(*rounds)))
        (demo.iter_log_dir / "iter-8.dr.json").write_text("broken")
        found = digest_of(demo, observe=True)
        seven = found.deliberated[0].deliberation
        assert seven
        assert seven.meter
        shown = page(found)
        assert "Deliberations</h2>" in shown
        verdict, score = (
            seven.meter["stop_recommendation"]["signal"],
            f"{seven.meter['score']:.3f}",
        )
        assert (
            f'<td>{verdict}</td><td class="n" data-label="score">{score}</td>' in shown
        )
        assert '<td class="n" data-label="rounds">3</td>' in shown
        assert '<td>unreadable</td><td class="n" data-label="score">-</td>' in shown
        assert "cannot read DR transcript for iter-8" in shown

    def test_heads_of_tables_say_what_they_head_and_headings_leave_out_no_level(
        self, html: str
    ) -> None:
        assert re.findall(r"<th\b(?! scope=.(?:col|row).)[^>]*>", html) == []
        levels = [1, *map(int, re.findall(r"<h([1-6])", html))]
        assert all(b - a <= 1 for a, b in pairwise(levels))

    def test_of_a_log_without_iterations_or_without_a_score(self) -> None:
        html = page(made())
        assert "This log has no iterations." in html
        assert structure(html).external == []
        assert "What became of the work is not known." in page(
            made(line(1, None, band="unscored"))
        )


class TestTerminal:
    def test_of_an_empty_log(self) -> None:
        last = pipe_text(report_lines(made())).splitlines()[-1]
        assert last == "Nothing to look at: no work was found or chosen."

    def test_begins_with_what_became_of_the_work_and_ends_with_what_to_look_at(
        self, demo: Demo
    ) -> None:
        text = pipe_text(report_lines(digest_of(demo)))
        assert text.startswith("Of 9 units of work 6 landed, 1 was reverted, ")
        assert f"\nEvidence scores under rubric 2.1.0: {NOT_MEASURED}\n" in text
        assert (
            "9 with enough evidence\n" in text,
            "mean" in text,
            "excellent" in text,
        ) == (
            True,
            False,
            False,
        )
        assert "reverted by dc5fe68d151e" in text.partition("\nLook at\n")[2]

    @pytest.mark.usefixtures("here")
    def test_command(self, da_score: DaScore) -> None:
        found = da_score("report", "--terminal")
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith("Of 9 units of work ")
        assert not Path("report.html").exists()


@pytest.mark.usefixtures("here")
class TestCommand:
    @pytest.mark.parametrize("rubric", ["2.1.0", "3.1.0"])
    def test_has_the_figures_of_work_and_run(
        self, da_score: DaScore, rubric: str
    ) -> None:
        chosen = ("--rubric", rubric)
        work, run = (
            da_score("work", "--json").json,
            da_score("run", "--json", *chosen).json,
        )
        units = f"{work['summary']['units']} units of work, {len(run['iterations'])} iterations"
        assert da_score("report", *chosen).out == f"Wrote report.html: {units}\n"
        said = da_score("report", "--json", *chosen).json
        again = da_score("run", "--no-write", "--json", *chosen).json
        assert again.get("verdict", "too few") == said["validity"]["verdict"]
        html = Path("report.html").read_text()
        data = json.loads(html.partition(DATA)[2].partition("</script>")[0])
        assert (said["work"], said["look_at"]) == (work["summary"], work["look_at"])
        total, landed = work["summary"]["cost"], work["summary"]["landed"]
        assert (
            f"<b>{landed}</b> of {work['summary']['units']} units of work landed"
            in html
        )
        assert f"<dt>Cost of all</dt><dd>${total:.2f} <small>that of " in html
        nothing = cost_text(work["summary"]["came_to_nothing"]["cost"])
        assert (
            f"<dt>Lost, reverted or taken back</dt><dd>{nothing} <small>1 unit</small></dd>"
            in html
        )
        months = re.findall(
            r'<tr id="month-([\d-]+)">.*?"units">(\d+)<.*?"cost">([^<]+)<', html
        )
        known = [one for one in work["by"]["month"] if one["name"] != "unknown"]
        assert months == [
            (one["name"], str(one["units"]), cost_text(one["cost"])) for one in known
        ]
        costs = [cost_text(unit["cost"]) for unit in work["units"]]
        assert (
            re.findall(r'<tr id="u\d+">.*?data-label="cost">(.+?)</td>', unescape(html))
            == costs
        )
        scores = {
            str(one["iteration"]): one["value"] if one["scored"] else None
            for one in run["iterations"]
        }
        shown = {
            (line[0], None if line[5] is None else f"{line[5]:.3f}")
            for line in data["breakdowns"]
        }
        assert shown == {
            (int(n), None if value is None else f"{value:.3f}")
            for n, value in scores.items()
        }

    def test_goes_to_standard_output(self, da_score: DaScore) -> None:
        found = da_score("report", "--last", "2", "--out", "-")
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith("<!doctype html>")
        assert not Path("-").exists()
        assert not Path("report.html").exists()

    def test_goes_to_no_terminal(self, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("report", "--out", "-")
        assert (status, b"".join(shown)) == (2, b"")

    def test_never_replaces_what_is_no_report(self, da_score: DaScore) -> None:
        Path("report.html").write_text("mine")
        assert "report.html: not a report of da-score" in one_line(da_score("report"))
        assert Path("report.html").read_text() == "mine"

    def test_without_its_libraries_says_what_to_install(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        said = f"this needs jinja2, of the extra 'report': {installing('report')}"
        assert one_line(da_score("report")) == said


def wait_for(shown: Page, said: str) -> None:
    """Wait until the breakdown of an iteration is open and says its score."""
    is_open = """([title, score]) =>
        document.querySelector('#breakdown[open] #b-title')?.textContent.startsWith(title)
        && document.getElementById('b-body').textContent.startsWith(score)"""
    title, _, score = said.partition(" ")[2].partition(": ")
    shown.wait_for_function(
        is_open, arg=[f"Iteration {title}: ", f"evidence score {score} · "]
    )


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def runs(program: str) -> bool:
    """Tell whether a program starts; one that only tells people to install it does not."""
    return (
        subprocess.run(
            [program, "--version"], capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser. Where there must be one (``NEED_BROWSER=1``), its absence is a failure."""
    found = next(
        (path for name in BROWSERS if (path := shutil.which(name)) and runs(path)), None
    )
    if found is None:
        if os.environ.get("NEED_BROWSER"):
            pytest.fail("no browser was found")
        pytest.skip("needs Chromium; install it, as in: apt-get install chromium")
    with sync_playwright() as driver:
        options = [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-sync",
        ]
        running = driver.chromium.launch(executable_path=found, args=options)
        yield running
        running.close()


@pytest.mark.slow
class TestInABrowser:
    @pytest.fixture
    def opened(
        self,
        request: pytest.FixtureRequest,
        browser: Browser,
        html: str,
        tmp_path: Path,
    ) -> Iterator[Page]:
        """The report of the demo, opened, without any error or request."""
        look = getattr(request, "param", "light")
        (tmp_path / "r.html").write_text(html)
        scheme: Literal["dark", "light"] = "dark" if look == "dark" else "light"
        size = (
            ViewportSize(width=390, height=800)
            if look == "phone"
            else ViewportSize(width=1280, height=900)
        )
        context = browser.new_context(viewport=size, color_scheme=scheme)
        shown = context.new_page()
        troubles: list[str] = []
        shown.on("pageerror", lambda error: troubles.append(str(error)))
        shown.on(
            "console",
            lambda message: (
                troubles.append(message.text) if message.type != "log" else None
            ),
        )
        shown.on(
            "request",
            lambda asked: (
                troubles.append(asked.url)
                if not asked.url.startswith("file:")
                else None
            ),
        )
        shown.goto(f"file://{tmp_path}/r.html")
        yield shown
        context.close()
        assert troubles == []

    @pytest.mark.parametrize("opened", ["light", "dark", "phone"], indirect=True)
    def test_opens_a_breakdown_from_the_table_and_goes_on_from_there(
        self, opened: Page
    ) -> None:
        assert not opened.is_visible("#breakdown")
        opened.click('#list a[href="#iter-5"]')
        wait_for(opened, "Iteration 5: 0.288")
        body = opened.inner_text("#b-body")
        assert "commit f05ce0048ec2 reachable but reverted by dc5fe68d151e" in body
        assert "persisted_via_workflow_commands: yes; review: accept" in body
        opened.click("#b-after")
        wait_for(opened, "Iteration 6: 0.928")
        opened.keyboard.press("ArrowLeft")
        wait_for(opened, "Iteration 5: 0.288")
        opened.keyboard.press("Escape")
        opened.wait_for_function(
            "() => !document.getElementById('breakdown').open && !location.hash"
        )
        assert (
            opened.evaluate("document.activeElement.getAttribute('href')") == "#iter-5"
        )

    def test_keys_go_on_where_there_is_nothing_before(self, opened: Page) -> None:
        opened.click('#list a[href="#iter-2"]')
        wait_for(opened, "Iteration 2: 0.500")
        opened.click("#b-before")  # which is disabled then, and holds the focus no more
        wait_for(opened, "Iteration 1: 1.000")
        assert (opened.is_disabled("#b-before"), opened.is_enabled("#b-after")) == (
            True,
            True,
        )
        opened.keyboard.press("ArrowRight")
        wait_for(opened, "Iteration 2: 0.500")

    def test_filters_the_table_and_dots_are_no_stop_of_the_keyboard(
        self, opened: Page
    ) -> None:
        opened.fill("#filter", "REVERTED")
        assert opened.locator("#list tbody tr:visible").count() == 1
        assert opened.inner_text("#count") == "1 of 9"
        opened.fill("#filter", "")
        assert opened.locator("#list tbody tr:visible").count() == 9
        stops = opened.evaluate(
            "[...document.querySelectorAll('svg a')].filter(a => a.tabIndex >= 0).length"
        )
        assert (stops, opened.locator(".chart[data-chart=scores] svg a").count()) == (
            0,
            9,
        )

    @pytest.mark.parametrize("opened", ["light", "phone"], indirect=True)
    def test_a_point_says_its_exact_values_and_leads_to_its_row(
        self, opened: Page
    ) -> None:
        point = opened.locator('.chart[data-chart=scores] svg a[*|href="#iter-3"]')
        point.scroll_into_view_if_needed()
        point.hover(force=True)
        tip = opened.locator(".chart[data-chart=scores] [aria-label=tip]")
        assert "iteration 3: 0.933" in (tip.text_content() or "")
        assert "feat(api): redirect short links" in (tip.text_content() or "")
        point.click(force=True)
        wait_for(opened, "Iteration 3: 0.933")
        opened.keyboard.press("Escape")
        dearest = opened.locator('.chart[data-chart=costs] svg a[*|href="#u4"]')
        dearest.scroll_into_view_if_needed()
        dearest.hover(force=True)
        said = (
            opened.locator(".chart[data-chart=costs] [aria-label=tip]").text_content()
            or ""
        )
        assert all(
            part in said
            for part in ("limit requests per client", "reverted", "$0.20", "4 min")
        )
        dearest.click(force=True)
        opened.wait_for_function("() => location.hash === '#u4'")

    @pytest.mark.parametrize("opened", ["light", "phone"], indirect=True)
    def test_the_first_screen_answers(self, opened: Page) -> None:
        for answer in (".hero", ".cards", "a[href='#h-scores']", ".look li:last-child"):
            box = opened.locator(answer).first.bounding_box()
            assert (
                box
                and box["y"] + box["height"]
                <= (opened.viewport_size or {"height": 0})["height"]
            ), answer

    def test_the_time_to_draw_grows_with_the_units(
        self, browser: Browser, demo: Demo, tmp_path: Path
    ) -> None:
        small = with_units(digest_of(demo), 100)
        large = with_units(digest_of(demo), 500)
        assert not too_slow(
            lambda: seconds_of(lambda: page(large)),
            lambda: seconds_of(lambda: page(small)),
            times=8,
            spare=0.1,
        )

        shown = browser.new_page()

        def opened(digest: Digest) -> float:
            """Return the seconds until all is drawn."""
            (tmp_path / "r.html").write_text(page(digest))
            shown.goto(f"file://{tmp_path}/r.html")
            took: float = shown.evaluate(
                "performance.timing.domContentLoadedEventEnd - performance.timing.responseEnd"
            )
            return took / 1000

        assert not too_slow(
            lambda: opened(large), lambda: opened(small), times=8, spare=0.3
        )
        assert shown.locator(".chart[data-chart=costs] svg a").count() >= 370
        shown.close()

    def test_prints_dark_on_white_and_whole(self, opened: Page) -> None:
        opened.emulate_media(media="print")
        dark, hidden = opened.evaluate("""[
            getComputedStyle(document.body).color,
            [...document.querySelectorAll('section')].some(
                section => getComputedStyle(section).contentVisibility !== 'visible'),
        ]""")
        assert (dark, hidden) == ("rgb(29, 34, 41)", False)

    @pytest.mark.parametrize("opened", ["light", "dark", "phone"], indirect=True)
    def test_fits_the_screen_and_says_what_is_what(self, opened: Page) -> None:
        wide, screen = opened.evaluate(
            "[document.documentElement.scrollWidth, window.innerWidth]"
        )
        assert wide <= screen
        charts = opened.locator(".chart > svg")
        assert charts.count() == 4
        for chart in charts.all():
            box = chart.bounding_box()
            assert box and 150 < box["width"] <= screen
        contrast = opened.evaluate("""() => {
            const luminance = (color) => {
                const whole = color.startsWith("color(srgb") ? 1 : 255;
                const parts = color.match(/[\\d.]+/g).slice(0, 3).map(v => v / whole)
                    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
            };
            const back = luminance(getComputedStyle(document.body).backgroundColor);
            const texts = '.band, .why, .dim, .bad, h1, p a, li a, td a, td, .state';
            return [...document.querySelectorAll(texts)].map(element => {
                const front = luminance(getComputedStyle(element).color);
                return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
            });
        }""")
        assert min(contrast) >= 4.5

    def test_a_link_to_a_breakdown_opens_it(
        self, browser: Browser, html: str, tmp_path: Path
    ) -> None:
        (tmp_path / "r.html").write_text(html)
        shown = browser.new_page()
        shown.goto(f"file://{tmp_path}/r.html#iter-7")
        wait_for(shown, "Iteration 7: 0.864")
        shown.close()
