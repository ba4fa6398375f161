"""The client of the decision service, with and without asyncio.

>>> from headstart.service.client import AsyncBandit, AsyncClient, Bandit, Client
>>> with Client("http://127.0.0.1:8000") as client:
...     shop = client.bandit("shop")  # nothing is sent yet; shop.decide("ann", …) asks the service
>>> isinstance(shop, Bandit), shop.name
(True, 'shop')
>>> isinstance(AsyncClient("http://127.0.0.1:8000").bandit("shop"), AsyncBandit)
True

If the service refuses a call, the error has a `Problem`.

>>> from headstart.service.client import Problem, ServiceError
>>> error = ServiceError(404, "Not found", "there is no bandit 'shop'")
>>> error.problem
Problem(title='Not found', status=404, detail="there is no bandit 'shop'", type='about:blank')
>>> isinstance(error.problem, Problem)
True
"""

from headstart.service.client._sync import Bandit, Client
from headstart.service.client.client import AsyncBandit, AsyncClient
from headstart.service.client.transport import ConnectionFailedError, Retries
from headstart.service.messages import Problem, ServiceError

__all__ = [
    "AsyncBandit",
    "AsyncClient",
    "Bandit",
    "Client",
    "ConnectionFailedError",
    "Problem",
    "Retries",
    "ServiceError",
]
