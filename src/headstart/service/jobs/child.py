"""The process of a job: `python -m headstart.service.jobs.child`, work on stdin, answers on stdout.

It ends with the process that started it, in the middle of its work too.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import IO

from headstart.service import children
from headstart.service.jobs import frames


def main() -> None:
    """Do the work that stdin holds."""
    answers = children.begin()
    logging.disable()  # log lines would name tasks
    content = children.read(sys.stdin.buffer)
    if content is None:
        return
    threading.Thread(target=_end_with_parent, args=(sys.stdin.buffer,), daemon=True).start()
    work = frames.work_of(content)
    os.chdir(work.folder)  # so that errors and reports name files as the request did
    frames.write(answers, answer(work, lambda each: frames.write(answers, each)))


def answer(work: frames.Work, send: Callable[[frames.Answer], None]) -> frames.Answer:
    """The last answer to some work; updates are sent on the way."""
    # Here, since they take a second: the parent sees that the process has begun.
    from headstart.service.jobs.evaluating import evaluate  # noqa: PLC0415
    from headstart.service.jobs.fitting import fit  # noqa: PLC0415
    from headstart.service.jobs.steps import Steps  # noqa: PLC0415
    from headstart.service.messages import ServiceError  # noqa: PLC0415

    steps = Steps(lambda at, what: send(frames.Update(at, what)))
    try:
        if isinstance(work, frames.FitWork):
            return fit(work, steps)
        return evaluate(work, steps)
    except (ValueError, TypeError, OSError, ImportError, ServiceError) as error:
        return frames.Failed(error=str(error))
    except MemoryError:
        return frames.Failed(error="the job needs more memory than there is: use a part of the log")
    except Exception as error:  # a fault of ours: the job fails, the service goes on
        return frames.Failed(error=f"{type(error).__name__}: {error}", unexpected=True)


def _end_with_parent(stdin: IO[bytes]) -> None:
    """Wait for the end of stdin, which comes when the parent is gone."""
    stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
