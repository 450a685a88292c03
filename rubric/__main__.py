"""``python -m rubric`` writes the JSON file of every released YAML file."""

from .datafiles import PROFILES_DIR, as_json
from .registry import VERSIONS_DIR

for folder in (VERSIONS_DIR, PROFILES_DIR):
    for path in folder.glob("*.yaml"):
        path.with_suffix(".json").write_text(as_json(path), "utf-8")
