"""The client of headstart's decision service, with and without asyncio.

>>> from headstart_client import AsyncBandit, AsyncClient, Bandit, Client
>>> with Client("http://127.0.0.1:8000") as client:
...     shop = client.bandit("shop")  # nothing is sent yet; shop.decide("ann") asks the service
>>> isinstance(shop, Bandit), shop.name
(True, 'shop')
>>> isinstance(AsyncClient("http://127.0.0.1:8000").bandit("shop"), AsyncBandit)
True

If the service refuses a call, the error has a `Problem`.

>>> from headstart_client import Problem, ServiceError
>>> error = ServiceError(404, "Not found", "there is no bandit 'shop'")
>>> error.problem
Problem(title='Not found', status=404, detail="there is no bandit 'shop'", type='about:blank')
>>> isinstance(error.problem, Problem)
True

`headstart_client.messages` has all that is sent and answered.
"""

from headstart_client._sync import Bandit, Client
from headstart_client.client import AsyncBandit, AsyncClient
from headstart_client.messages import (
    BanditConfiguration,
    DecisionLogColumns,
    DecisionRequest,
    EvaluateRequest,
    FitRequest,
    Guardrail,
    Item,
    ItemChange,
    LogColumns,
    ObservationRequest,
    Problem,
    RewardRequest,
    ServiceError,
)
from headstart_client.transport import ConnectionFailedError, Retries, __version__

__all__ = [
    "AsyncBandit",
    "AsyncClient",
    "Bandit",
    "BanditConfiguration",
    "Client",
    "ConnectionFailedError",
    "DecisionLogColumns",
    "DecisionRequest",
    "EvaluateRequest",
    "FitRequest",
    "Guardrail",
    "Item",
    "ItemChange",
    "LogColumns",
    "ObservationRequest",
    "Problem",
    "Retries",
    "RewardRequest",
    "ServiceError",
    "__version__",
]
