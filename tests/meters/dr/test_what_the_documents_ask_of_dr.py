"""Cases of the documents that the meter of diminishing returns had wrong or lacked."""

import pytest
from helpers.deliberations import BLOCKED, OWNED, outputs, transcript
from msgspec.structs import replace

from rubric import released_profile
from scoring.meters.dr import Profile, score_transcript
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.readiness import ReadinessMeter
from scoring.meters.dr.recommendation import HINTS

FOUR = ["one about ducks", "two concerning geese", "three with swans", "four of herons"]


ONE_MORE = "Little new; one more round to be sure."
NEWS = ["something else entirely", "and more of that kind", "plus this"]


class TestNext:
    """What the advice says to do next: in the first low round, in later ones, and when blocked."""

    @pytest.mark.parametrize(
        ("rounds", "k", "hint", "follows"),
        [
            pytest.param(
                [(FOUR, OWNED)] * 2, 2, ONE_MORE, ONE_MORE, id="the first low round"
            ),
            pytest.param(
                [(FOUR, [])] * 2,
                3,
                f"{ONE_MORE[:-1]} (2 until it counts).",
                "(2 until it counts).",
                id="one of three",
            ),
            pytest.param(
                [(FOUR, []), (NEWS, OWNED)],
                2,
                HINTS["CONTINUE"],
                "so much.",
                id="much is new",
            ),
            pytest.param(
                [(FOUR, []), (NEWS[:1], [])],
                2,
                HINTS["CONTINUE"],
                "finding something.",
                id="a quarter is",
            ),
            pytest.param(
                [(FOUR, [BLOCKED])] * 3,
                2,
                f'Blocked by "{BLOCKED}". {HINTS["ESCALATE"]}',
                f'Blocked, by "{BLOCKED}": more rounds do not remove that.',
                id="blocked",
            ),
            pytest.param(
                [(FOUR, [BLOCKED])] * 2,
                2,
                f'{ONE_MORE} It is blocked by "{BLOCKED}".',
                f'It is blocked, by "{BLOCKED}".',
                id="the first low round is blocked",
            ),
            pytest.param(
                [(FOUR, [BLOCKED])],
                2,
                HINTS["CONTINUE"],
                f'It is blocked, by "{BLOCKED}".',
                id="new and blocked",
            ),
            pytest.param(
                [(FOUR, [])] * 4,
                2,
                HINTS["ESCALATE"],
                "the loop is stuck.",
                id="stuck, and not blocked",
            ),
        ],
    )
    def test_is_what_the_rounds_so_far_call_for(
        self, rounds: list[tuple[list[str], list[str]]], k: int, hint: str, follows: str
    ) -> None:
        payload = score_transcript(
            transcript(*(outputs(*given) for given in rounds)),
            profile=replace(DEFAULT, k=k),
        ).payload()
        assert payload["hint"] == hint
        assert payload["stop_recommendation"]["rationale"].endswith(follows)


class TestClaimInflation:
    """A round of many claims and little news is flagged, and says whether it grew."""

    OTHERWISE = "a loop that has converged repeats as many claims as before"

    def test_of_a_constant_size_says_what_else_it_may_be(self) -> None:
        result = score_transcript(given := transcript(*[outputs(FOUR, OWNED)] * 3))
        inflated = [flag for flag in result.flags if flag.flag == "claim_inflation"]
        assert [flag.round for flag in inflated] == [2, 3]
        assert all(self.OTHERWISE in flag.reason for flag in inflated)
        assert self.OTHERWISE in result.advice(given)["does_not_claim"]


METER = ReadinessMeter()
BY_THE_LISTS = ReadinessMeter(Profile.from_data(released_profile("dr-1"), "dr-1"))


class TestBeyondTheLists:
    """Owners, things and blockers that the first profile takes otherwise."""

    @pytest.mark.parametrize(
        "action",
        [
            "Nadia will raise the time-out",
            "Ops will deploy it",
            "O'Brien  will test it",
        ],
    )
    def test_a_name_and_will_says_who_acts(self, action: str) -> None:
        assert (METER.is_owned(action), BY_THE_LISTS.is_owned(action)) == (True, False)

    NO_OWNER = (
        "It will deploy itself",
        "Nothing will change",
        "nadia will raise it",
        "Raise it, Nadia will not mind",
    )

    @pytest.mark.parametrize("action", [*NO_OWNER, "Nadia willingly agrees"])
    def test_a_sentence_about_something_else_does_not(self, action: str) -> None:
        assert not METER.is_owned(action)

    @pytest.mark.parametrize(
        "action", ["proxy.yaml", "`upload.py`", "Makefile", "guide/README.md."]
    )
    def test_a_file_name_alone_is_an_artifact(self, action: str) -> None:
        assert (METER.is_specific(action), BY_THE_LISTS.is_specific(action)) == (
            True,
            False,
        )

    @pytest.mark.parametrize(
        "action", ["End.", "Makefiles", "e.g.", "10.5", "Later today"]
    )
    def test_another_word_alone_is_none(self, action: str) -> None:
        assert not METER.is_specific(action)

    @pytest.mark.parametrize(
        "text",
        [
            "Add handling of missing values to load.py",
            "Does the parser skip missing fields?",
            "Write a test for blocked users",
            "Report all the missing columns",
        ],
    )
    def test_a_blocker_word_in_another_sense_blocks_all_the_same_and_that_is_said(
        self, text: str
    ) -> None:
        assert METER.find_blocker([text]) == BY_THE_LISTS.find_blocker([text]) == text
        (measured,) = METER.measure(transcript(outputs(actions=[text])).rounds)
        found = measured.blockers
        assert found.score == 0
        assert f'has another sense in "{text}"' in found.found

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(
                "The credentials are missing",
                id="what is said is that something is missing",
            ),
            pytest.param(
                "Missing values from the team", id="nothing is done about them"
            ),
            pytest.param("Handle the missing access", id="what is missing is access"),
            pytest.param(
                "Handle missing values once we get the missing key",
                id="one sense of two",
            ),
            pytest.param(
                "Handling depends on the vendor", id="another word of the list"
            ),
            pytest.param("It is _blocked_ by legal", id="in marks of Markdown"),
        ],
    )
    def test_a_blocker_word_in_its_own_sense_blocks(self, text: str) -> None:
        assert METER.find_blocker([text]) == text
        (measured,) = METER.measure(transcript(outputs(actions=[text])).rounds)
        assert measured.blockers.found == "a blocker"


class TestOwners:
    """An owner is a person, a role or a team."""

    LABELS = (
        *(
            "Next",
            "Then",
            "Todo",
            "TODO",
            "Note",
            "Decision",
            "Prerequisite",
            "Follow-up",
            "Step",
            "Friday",
            "API",
        ),
        *(
            "Heads-up",
            "Backlog",
            "Impact",
            "Tradeoff",
            "Eventually",
            "Uploads",
            "Policy",
            "Users",
            "Rollback",
        ),
        *(
            "Step 1",
            "Option B",
            "Next Steps",
            "Dark Mode",
            "Open Question",
            "- Todo",
            "**Next**",
            "1. Then",
            "Owner",
        ),
    )
    PEOPLE = (
        *(
            "Nadia",
            "O'Neil",
            "QA",
            "Legal",
            "The QA team",
            "Release manager",
            "platform engineers",
            "Ada and Omar",
        ),
        *(
            "Nadia Haddad",
            "Dr. Patel",
            "Ada/Omar",
            "Agent 2",
            "Team B",
            "Data scientist",
        ),
    )

    @pytest.mark.parametrize(
        "label", [*LABELS, "Migration", "Next step", "Deploy", "Terraform", "Redis"]
    )
    def test_a_label_is_none(self, label: str) -> None:
        for action in (
            f"{label}: run the load test",
            f"{label} will run the load test",
        ):
            assert not METER.is_owned(action)
        assert (
            METER.rate_actions(
                [f"{label}: run the load test", "Write proxy.yaml anew"]
            ).score
            == 0.7
        )

    @pytest.mark.parametrize("owner", PEOPLE)
    def test_a_person_a_role_and_a_team_are(self, owner: str) -> None:
        for action in (
            f"{owner}: run the load test",
            f"{owner} will run the load test",
            f"Run it, owned by {owner}",
        ):
            assert METER.is_owned(action)

    @pytest.mark.parametrize(
        "action",
        [
            "- Nadia: run it",
            "**Nadia**: run it",
            "1. Nadia will run it",
            "Nadia (QA): go",
        ],
    )
    def test_marks_of_markdown_and_a_note_in_brackets_change_nothing(
        self, action: str
    ) -> None:
        assert METER.is_owned(action)

    @pytest.mark.parametrize(
        "action",
        [
            "Run it. Owner: Nadia",
            "Run it (assigned to the QA team)",
            "I'll run it",
            "Run it. DRI: Nadia",
        ],
    )
    def test_an_owner_may_be_named_at_the_end(self, action: str) -> None:
        assert METER.is_owned(action)

    @pytest.mark.parametrize(
        "action",
        [
            "Run it. Owner: TBD",
            "Find an owner",
            "Assigned to nobody",
            "Ask the QA team: ok?",
            "No owner: run it",
            "Owner: run",
        ],
    )
    def test_an_owner_that_is_sought_is_none(self, action: str) -> None:
        assert not METER.is_owned(action)

    def test_the_first_profile_takes_any_word_with_a_colon(self) -> None:
        assert BY_THE_LISTS.is_owned("Next: run the load test")


class TestTools:
    """A tool's name with an action is something concrete."""

    @pytest.mark.parametrize(
        "action",
        ["Rerun pytest", "Profile the parser with hyperfine", "kubectl drain node 7"],
    )
    def test_makes_a_step_specific(self, action: str) -> None:
        assert (METER.is_specific(action), BY_THE_LISTS.is_specific(action)) == (
            True,
            False,
        )

    @pytest.mark.parametrize(
        "action",
        ["pytest", "Consider docker", "Maybe pytest then", "Use helmets for it all"],
    )
    def test_alone_or_in_a_vague_step_it_does_not(self, action: str) -> None:
        assert not METER.is_specific(action)


@pytest.mark.parametrize(
    ("actions", "questions", "change", "said"),
    [
        pytest.param(
            [[BLOCKED]] * 3, [0, 0, 0], "human", "Bring in a human", id="blocked"
        ),
        pytest.param(
            [["End."]] * 4, [0] * 4, "agent", "another agent", id="never ready"
        ),
        pytest.param(
            [[]] * 3, [1, 1, 1], "prompt", "Change the prompt", id="no action"
        ),
        pytest.param(
            [["Maybe this one"]] * 3,
            [1, 2, 3],
            "scope",
            "Narrow the scope",
            id="questions grow",
        ),
    ],
)
def test_escalating_says_which_of_four_changes_it_means(
    actions: list[list[str]], questions: list[int], change: str, said: str
) -> None:
    rounds = [
        outputs(FOUR, acts, ["Why?", "When?", "Where?"][:n])
        for acts, n in zip(actions, questions, strict=True)
    ]
    advice = (result := score_transcript(given := transcript(*rounds))).advice(given)
    assert (result.signal, advice["change"]) == ("ESCALATE", change)
    assert said in advice["next_action"]
    assert (
        sum(
            other in advice["next_action"]
            for other in ("a human", "agent", "prompt", "scope")
        )
        == 1
    )


class TestAsking:
    def test_the_question_comes_before_any_deployment(self) -> None:
        given = transcript(
            *[outputs(FOUR, OWNED, ["Which region first?", "And then?"])] * 3
        )
        advice = (result := score_transcript(given)).advice(given)
        assert (result.signal, result.recommendations[-1].rule) == (
            "ASK",
            "open_question",
        )
        assert (advice["next_action"], advice["first_next_action"]) == (
            "ASK: Which region first?",
            None,
        )
        first = score_transcript(
            given, profile=Profile.from_data(released_profile("dr-1"), "dr-1")
        )
        assert first.signal == "SHIP"
