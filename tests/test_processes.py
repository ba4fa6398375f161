"""Processes: one BLAS thread, for NumPy and for compiled code."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from headstart.processes import use_one_blas_thread

def n_threads():
    return sorted({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})

threadpool_limits(2, "blas")
print(n_threads())
use_one_blas_thread()
print(n_threads())
"""


def test_blas_has_one_thread_from_then_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == ["[2]", "[1]"]


TOGETHER = """
import threading
from threadpoolctl import threadpool_info, threadpool_limits
import numpy as np

from headstart.processes import one_blas_thread

def n_threads():
    return sorted({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})

threadpool_limits(2, "blas")
begun, ended = threading.Event(), threading.Event()

def other():
    with one_blas_thread:
        begun.set()
        ended.wait()

thread = threading.Thread(target=other)
with one_blas_thread:
    thread.start()
    begun.wait()
print(n_threads())
ended.set()
thread.join()
print(n_threads())
"""


def test_two_simulations_do_not_give_blas_back_to_each_other() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == ["[1]", "[2]"]
