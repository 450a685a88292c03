"""A judge of a meeting that has its answers ready: of each round the record in answers.json."""

import json
import sys

with open("answers.json", encoding="utf-8") as file:
    answers = json.load(file)
print(json.dumps(answers[json.load(sys.stdin)["next_round"] - 1]))
