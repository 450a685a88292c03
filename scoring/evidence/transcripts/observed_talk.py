"""What the user and the agent say to each other in one transcript, and where the user corrects.

docs/EVIDENCE.md, "Corrections", has the rules.
"""

from typing import Any

from scoring.evidence.commands.claim_texts import claims_tests_pass

from .edits import PathTexts
from .events import ChatText, Event, PlanTaken, Prompt, UserBreak, key_of
from .open_calls import EventPlace
from .prompts import asks, goes_on, planned_in, said_in

_MOST_IDLE_PROMPTS = 3
"""How many prompts after the agent last edited or ran something may be about what it did."""


class ObservedTalk:
    """The talk that is seen in one transcript, in the order of its lines."""

    def __init__(self, noted: dict[type[Event], list[Any]], paths: PathTexts) -> None:
        """Begin a transcript.

        Args:
            noted: takes the events, by kind.
            paths: takes the paths of plans.
        """
        self._noted = noted
        self._paths = paths

        # the agent
        self._has_worked = False  # whether it called a tool before
        self._is_idle = False  # whether it has done nothing since the last prompt
        self._idle_prompts = 0  # those since it last edited or ran something

        # the user
        self._last_prompt = 0  # the key of its text
        self._question_declined = False  # since the agent last wrote a line
        self._is_stopped = (
            False  # whether the user stopped the agent since its last call
        )

    def note_agent_line(self) -> None:
        """Note that the agent wrote a line."""
        self._question_declined = False
        self._is_idle = False

    def note_agent_text(self, place: EventPlace, text: str) -> None:
        """Note a text of the agent to the user. A blank one is not noted."""
        if text.strip():
            self._is_idle = False
            claims = claims_tests_pass(text)
            self._note(ChatText(*place, by_user=False, claims_tests_pass=claims))

    def note_call(self) -> None:
        """Note that the agent calls a tool."""
        self._has_worked = True
        self._is_idle = False
        self._is_stopped = False

    def note_work(self) -> None:
        """Note that a call of the agent edits or runs something."""
        self._idle_prompts = 0

    def note_user_text(self, place: EventPlace) -> None:
        """Note a text of the user, or of the harness in the user's place."""
        self._note(ChatText(*place, by_user=True, claims_tests_pass=False))

    def note_prompt_text(self, place: EventPlace, text: str) -> None:
        """Note what a person says of the work before, if a tool was called. No text is kept.

        A plan that the text takes from another session is noted in any case.
        """
        self._is_idle = True
        is_again = self._last_prompt == key_of(text)
        self._last_prompt = key_of(text)
        self._idle_prompts += 1
        planner = planned_in(text)
        number = self._paths.number(planner) if planner else None
        if number is not None:
            self._note(PlanTaken(*place, session=number))
        if not self._has_worked:
            return

        words = said_in(text)
        if words == "wrong" and self._idle_prompts > _MOST_IDLE_PROMPTS:
            words = None  # it is about an idea
        if words:
            self._note(Prompt(*place, kind=words, text=self._last_prompt))
        elif self._is_stopped and (is_again or goes_on(text)):
            self._note(Prompt(*place, kind="goes_on", text=self._last_prompt))
        self._is_stopped = False

    def take_back_prompts(self, since: int) -> None:
        """Forget the prompts from line ``since`` on, which the user took back."""
        self._noted[Prompt] = [
            prompt for prompt in self._noted[Prompt] if prompt.line < since
        ]

    def note_interruption(self, place: EventPlace) -> None:
        """Note that the user stopped the agent.

        Just after the user declined a question, it does not count as a stop.
        """
        if not self._question_declined:
            self._note(UserBreak(*place, kind="interruption", idle=self._is_idle))
            self._is_stopped = True
        self._question_declined = False

    def note_refusal(
        self, place: EventPlace, response: int, reason: str, *, of_question: bool
    ) -> None:
        """Note that the user refused a call, or declined a question, which is not a correction.

        Args:
            place: where it is written.
            response: the key of the response that asked for the call; 0: not known.
            reason: what the user said; "": nothing. To ask back counts as declining a question.
            of_question: whether the call only asks the user something.
        """
        if of_question or asks(reason):
            self._question_declined = True
        else:
            self._note(UserBreak(*place, kind="refusal", response=response))

    def _note(self, event: Event) -> None:
        self._noted[type(event)].append(event)
