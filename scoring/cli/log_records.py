"""``da-score log records``: the normalised records of a log."""

from scoring.log.load import load_log_for
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.yamlread import TRUE_FLAGS

from .options import LOG_OPTIONS, selection_options, settings_command
from .output import write_json
from .reading import report_broken_entries, rubric_of


@settings_command(*LOG_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Print the entries of a log as JSON, both schemas in one shape.

    Example:  da-score log records --last 1
    """
    rubric = rubric_of(settings)
    records = load_log_for(
        [rubric], settings.iter_log_dir, TRUE_FLAGS, report_broken_entries
    )
    write_json([record.as_dict() for record in selection.select(records)])
