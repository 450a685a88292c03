"""The meeting meter: whether a meeting may end, must go on, or should be parked.

docs/DELIBERATION.md describes it.
"""

from scoring.meters.meeting.verdicts import MeetingVerdict as MeetingVerdict
from scoring.meters.meeting.verdicts import score_meeting as score_meeting
