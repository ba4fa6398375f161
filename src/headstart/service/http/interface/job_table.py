"""The routes of jobs and fits."""

from headstart.service.http.interface.answers import LimitQuery
from headstart.service.http.interface.routing import VERSION, Call, Route
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import (
    EvaluateRequest,
    FitChange,
    FitRequest,
    FitView,
    JobView,
    not_found,
    unavailable,
)

_ONE = f"/{VERSION}/bandits/{{bandit}}"
_JOB = f"{_ONE}/jobs/{{job}}"
_FIT = f"{_ONE}/fits/{{fit}}"
_LARGEST_FIT = 2**31 - 1


def _jobs(call: Call) -> Jobs:
    if call.jobs is None:
        raise unavailable("this process does no jobs")
    return call.jobs


def _fit(call: Call) -> int:
    """The number of a fit in the path."""
    text = call.names["fit"]
    if not (text.isascii() and text.isdigit()) or int(text) > _LARGEST_FIT:
        raise not_found(f"fit must be the number of one of this bandit, got {text!r}")
    return int(text)


JOBS = (
    Route(
        method="POST",
        path=f"{_ONE}/fit",
        name="start_fit",
        summary="Learn from a log: a report first, then a shadow fit that counts once promoted.",
        role="admin",
        body=FitRequest,
        upload=True,
        read=lambda call: _jobs(call).start_fit(call.names["bandit"], call.body, call.upload),
        answer=JobView,
        status=202,
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{_ONE}/evaluate",
        name="start_evaluate",
        summary="Estimate the mean reward of the bandit on a log of decisions.",
        role="admin",
        body=EvaluateRequest,
        upload=True,
        read=lambda call: _jobs(call).start_evaluate(call.names["bandit"], call.body, call.upload),
        answer=JobView,
        status=202,
        errors=(404,),
    ),
    Route(
        method="GET",
        path=f"{_ONE}/jobs",
        name="list_jobs",
        summary="The jobs of a bandit, the latest first.",
        role="read",
        query=LimitQuery,
        read=lambda call: _jobs(call).jobs(call.names["bandit"], limit=call.query.limit),
        answer=list[JobView],
        errors=(404,),
    ),
    Route(
        method="GET",
        path=_JOB,
        name="get_job",
        summary="A job as it stands: progress, and its report once it is done.",
        role="read",
        read=lambda call: _jobs(call).job(call.names["bandit"], call.names["job"]),
        answer=JobView,
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=_JOB,
        name="cancel_job",
        summary="Cancel a job that has not ended.",
        role="admin",
        read=lambda call: _jobs(call).cancel(call.names["bandit"], call.names["job"]),
        answer=JobView,
        errors=(404, 409),
    ),
)

FITS = (
    Route(
        method="GET",
        path=f"{_ONE}/fits",
        name="list_fits",
        summary="The logs that were learned, the latest first.",
        role="read",
        read=lambda call: _jobs(call).fits(call.names["bandit"]),
        answer=list[FitView],
        errors=(404,),
    ),
    Route(
        method="GET",
        path=_FIT,
        name="get_fit",
        summary="A log that was learned.",
        role="read",
        read=lambda call: _jobs(call).fit(call.names["bandit"], _fit(call)),
        answer=FitView,
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{_FIT}/promote",
        name="promote_fit",
        summary="Have a fit count for the prior, which gets a new version.",
        role="admin",
        read=lambda call: _jobs(call).promote(call.names["bandit"], _fit(call)),
        answer=FitChange,
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{_FIT}/withdraw",
        name="withdraw_fit",
        summary="Have a fit count no longer; the prior gets a new version, without it.",
        role="admin",
        read=lambda call: _jobs(call).withdraw(call.names["bandit"], _fit(call)),
        answer=FitChange,
        errors=(404, 409),
    ),
    Route(
        method="DELETE",
        path=_FIT,
        name="delete_fit",
        summary="Delete a fit that is not promoted.",
        role="admin",
        read=lambda call: _jobs(call).delete_fit(call.names["bandit"], _fit(call)),
        status=204,
        errors=(404, 409),
    ),
)
