"""The diminishing-returns meter: a transcript in, a result out; see docs/DIMINISHING_RETURNS.md."""

from scoring.meters.dr.dr_result import DRResult as DRResult
from scoring.meters.dr.dr_result import score_transcript as score_transcript
from scoring.meters.dr.profile import BUILT_IN as BUILT_IN
from scoring.meters.dr.profile import DRThresholds
from scoring.meters.dr.profile import Profile as Profile
from scoring.meters.dr.profile import Words as Words
from scoring.meters.dr.recommendation import Signal as Signal
from scoring.meters.dr.semantic import Embed as Embed
from scoring.meters.dr.semantic import open_embedder as open_embedder
from scoring.meters.dr.transcript import Outputs as Outputs
from scoring.meters.dr.transcript import Round as Round
from scoring.meters.dr.transcript import Transcript as Transcript
from scoring.meters.dr.transcript import parse_transcript as parse_transcript
from scoring.meters.dr.transcript import read_transcript as read_transcript

Thresholds = DRThresholds
