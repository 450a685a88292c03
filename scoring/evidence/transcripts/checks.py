"""What the objective checks look for in a tool call (contract section 2.8)."""

TEST_COMMANDS = ("go test", "pytest", "npm test", "yarn test", "make test", "cargo test", "rspec", "phpunit")
LOOP_STATE_FILE = "loop-state.md"


def is_test_command(command: str) -> bool:
    """Tell whether a shell command runs a known test tool."""
    return any(name in command for name in TEST_COMMANDS)


def reads_loop_state(path: str) -> bool:
    """Tell whether a file that was read is the loop state."""
    return path.endswith(LOOP_STATE_FILE)
