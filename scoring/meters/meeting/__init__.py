"""The deliberation meter: whether a meeting may end, must go on, or should be parked: docs/DELIBERATION.md."""

from scoring.meters.meeting.made_meetings import Ending as Ending
from scoring.meters.meeting.made_meetings import MeetingKnobs as MeetingKnobs
from scoring.meters.meeting.made_meetings import endings as endings
from scoring.meters.meeting.made_meetings import simulate_meeting as simulate_meeting
from scoring.meters.meeting.verdicts import MeetingVerdict as MeetingVerdict
from scoring.meters.meeting.verdicts import score_meeting as score_meeting
