"""The public names of the library, ``from scoring import …``, and where each is defined."""

from rubric import (
    BAND_INSUFFICIENT,
    BAND_UNSCORED,
    COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    RUBRIC_VERSION,
    Bounds,
    CombinationMethod,
    Coverage,
    Rubric,
    Score,
    ScoreBand,
    SignalContribution,
    SignalID,
    SignalSpec,
    default_rubric,
)

from .demo import build_demo
from .errors import (
    DaScoreError,
    FleetError,
    GaveUpError,
    GitError,
    InputError,
    LogError,
    MeetingError,
    NoFileError,
    NotARepositoryError,
    NotFoundError,
    OptionError,
    RubricError,
    SettingsError,
    TooLargeError,
    TranscriptError,
    WriteError,
    YamlError,
)
from .evidence.transcripts.facts import (
    HarnessFacts,
    IterationWindow,
)
from .log.load import load_iteration_log
from .log.model import (
    AgentInfo,
    ImplBlock,
    IterationRecord,
    LinkedTrace,
    ReviewBlock,
    SelfAssessment,
    TestAdded,
    TokenUsage,
    VerifierRecord,
)
from .log.parse import parse_iteration_record
from .meters.meeting import (
    MeetingVerdict,
    score_meeting,
)
from .meters.meeting.config import (
    MeetingConfig,
    find_meeting_config,
    meeting_config,
)
from .meters.meeting.record_reading import parse_meeting_records, read_meeting_records
from .meters.meeting.records import JudgeRecord
from .parity import (
    BackfillSignals,
    GitSignals,
    IterlogSignals,
    assemble_signal_set,
    backfill_iterations,
    build_signal_sets,
    extract_git_signals,
    extract_hook_outcomes_signal,
    extract_human_label_signals,
    extract_iteration_objectives,
    extract_iterlog_signals,
)
from .score import (
    examine_iteration,
    score_iteration,
    score_log,
)
from .scored import (
    ScoredIteration,
    ScoredLog,
)
from .sessions import (
    SessionIterRef,
    SessionScore,
    aggregate_sessions,
)
from .sidecars.provenance import (
    Provenance,
    evidence_path,
    read_provenance,
)
from .sidecars.read_scores import read_iteration_score, read_session_score
from .sidecars.scores import (
    PersistedContribution,
    PersistedScore,
    build_persisted_score,
    derive_linked_traces_to_outcomes,
    iteration_score_path,
    session_score_path,
    write_iteration_score,
    write_iteration_score_with_record,
    write_iteration_scores,
    write_session_score,
    write_session_scores,
)
from .sidecars.writing import write_scored_log
from .signals.correction_pressure import CORRECTION_PRESSURE
from .signals.diminishing_returns import DIMINISHING_RETURNS
from .signals.hook_outcomes import HOOK_OUTCOMES
from .signals.human_label import HUMAN_LABEL
from .signals.landed import LANDED
from .signals.scope import SCOPE
from .signals.tests import TESTS
from .signals.token_efficiency import TOKEN_EFFICIENCY
from .signals.values import (
    ROLE_IMPL,
    ROLE_REVIEW,
    ROLE_VERIFIER,
    AgentRole,
    Deliberation,
    IntegrityObservation,
    IterationObjectives,
    SignalSet,
    SignalValue,
    absent_signal,
    present_signal,
)
from .signals.verifier import VERIFIER
from .views import frames
from .views.compare import (
    IterationDiff,
    LogDiff,
    RubricDiff,
    diff_logs,
    diff_rubrics,
)
from .views.integrity import (
    IntegritySummary,
    summarize_integrity,
)

__all__ = [
    "BAND_INSUFFICIENT",
    "BAND_UNSCORED",
    "COMBINE_WEIGHTED_MEAN_RENORMALIZED",
    "CORRECTION_PRESSURE",
    "DIMINISHING_RETURNS",
    "HOOK_OUTCOMES",
    "HUMAN_LABEL",
    "LANDED",
    "ROLE_IMPL",
    "ROLE_REVIEW",
    "ROLE_VERIFIER",
    "RUBRIC_VERSION",
    "SCOPE",
    "TESTS",
    "TOKEN_EFFICIENCY",
    "VERIFIER",
    "AgentInfo",
    "AgentRole",
    "BackfillSignals",
    "Bounds",
    "CombinationMethod",
    "Coverage",
    "DaScoreError",
    "Deliberation",
    "FleetError",
    "GaveUpError",
    "GitError",
    "GitSignals",
    "HarnessFacts",
    "ImplBlock",
    "InputError",
    "IntegrityObservation",
    "IntegritySummary",
    "IterationDiff",
    "IterationObjectives",
    "IterationRecord",
    "IterationWindow",
    "IterlogSignals",
    "JudgeRecord",
    "LinkedTrace",
    "LogDiff",
    "LogError",
    "MeetingConfig",
    "MeetingError",
    "MeetingVerdict",
    "NoFileError",
    "NotARepositoryError",
    "NotFoundError",
    "OptionError",
    "PersistedContribution",
    "PersistedScore",
    "Provenance",
    "ReviewBlock",
    "Rubric",
    "RubricDiff",
    "RubricError",
    "Score",
    "ScoreBand",
    "ScoredIteration",
    "ScoredLog",
    "SelfAssessment",
    "SessionIterRef",
    "SessionScore",
    "SettingsError",
    "SignalContribution",
    "SignalID",
    "SignalSet",
    "SignalSpec",
    "SignalValue",
    "TestAdded",
    "TokenUsage",
    "TooLargeError",
    "TranscriptError",
    "VerifierRecord",
    "WriteError",
    "YamlError",
    "absent_signal",
    "aggregate_sessions",
    "assemble_signal_set",
    "backfill_iterations",
    "build_demo",
    "build_persisted_score",
    "build_signal_sets",
    "default_rubric",
    "derive_linked_traces_to_outcomes",
    "diff_logs",
    "diff_rubrics",
    "evidence_path",
    "examine_iteration",
    "extract_git_signals",
    "extract_hook_outcomes_signal",
    "extract_human_label_signals",
    "extract_iteration_objectives",
    "extract_iterlog_signals",
    "find_meeting_config",
    "frames",
    "iteration_score_path",
    "load_iteration_log",
    "meeting_config",
    "parse_iteration_record",
    "parse_meeting_records",
    "present_signal",
    "read_iteration_score",
    "read_meeting_records",
    "read_provenance",
    "read_session_score",
    "score_iteration",
    "score_log",
    "score_meeting",
    "session_score_path",
    "summarize_integrity",
    "write_iteration_score",
    "write_iteration_score_with_record",
    "write_iteration_scores",
    "write_scored_log",
    "write_session_score",
    "write_session_scores",
]
