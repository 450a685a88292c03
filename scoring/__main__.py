"""Lets ``python -m scoring`` be ``da-score``."""

from scoring.cli import run

if __name__ == "__main__":
    run()
