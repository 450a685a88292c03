"""Work in forks: every task is done once, whatever becomes of a fork. Run apart, where there are no threads."""

import subprocess
import sys

SHARED = """
import os, sys
from scoring.processes import Workers, how_many, in_order
parent = os.getpid()
"""


def said(program: str) -> str:
    """Return what a program prints, which runs in a process of its own."""
    command = [sys.executable, "-c", SHARED + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_results_come_in_order_from_several_processes() -> None:
    program = """
import time
def do(n):
    time.sleep(0.01)
    return n * n, os.getpid()
found = list(in_order(40, 3, do, list, tuple))
print([square for square, _ in found] == [n * n for n in range(40)], len({who for _, who in found}))
"""
    assert said(program) == "True 3"


def test_one_process_shares_nothing() -> None:
    assert said("print(list(in_order(3, 1, lambda n: os.getpid() == parent, None, None)))") == "[True, True, True]"


def test_there_are_no_more_processes_than_tasks() -> None:
    program = """
real, forks = os.fork, []
os.fork = lambda: forks.append(1) or real()
print(len(list(in_order(2, 8, lambda n: n))), len(forks))
"""
    assert said(program) == "2 1"


def test_what_a_fork_left_undone_is_done_here() -> None:
    program = """
import time
def do(n):
    if os.getpid() != parent and n > 3:
        os._exit(9)
    time.sleep(0.01)
    return n
print(sorted(in_order(30, 2, do)) == list(range(30)))
"""
    assert said(program) == "True"


def test_the_error_of_a_task_is_raised_here() -> None:
    program = """
import time
def do(n):
    time.sleep(0.01)
    if n == 7:
        raise ValueError(f"task {n}")
    return n
try:
    print(list(in_order(12, 2, do)))
except ValueError as e:
    print(e)
"""
    assert said(program) == "task 7"


def test_whoever_stops_early_leaves_no_process() -> None:
    program = """
import time
workers = Workers(lambda n: time.sleep(0 if os.getpid() == parent else 60))
workers.start(40, 3)
next(workers.results())
workers.close()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("none")
"""
    assert said(program) == "none"


def test_nobody_forks_beside_threads() -> None:
    program = """
import threading
done = threading.Event()
thread = threading.Thread(target=done.wait)
print(how_many(4, 100), end=" ")
thread.start()
print(how_many(4, 100), how_many(None, 100))
done.set()
thread.join()
"""
    assert said(program) == "4 1 1"
