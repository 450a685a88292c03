"""The meeting meter: whether a meeting may end, must go on, or should be parked.

docs/DELIBERATION.md describes it.
"""

from .verdicts import MeetingVerdict as MeetingVerdict
from .verdicts import score_meeting as score_meeting
