"""Idempotency keys: the same key gets the same answer."""

import hashlib
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import insert, select

from headstart.service.engine.bandits import Bandit
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import Message, ServiceError, conflict, read
from headstart.service.store.schema import idempotency as table

Answer = TypeVar("Answer", bound=Message)


class Keys(Generic[Answer]):
    """The keys of a transaction's requests, and the answers that they got before."""

    def __init__(
        self,
        transaction: Transaction,
        bandit: Bandit,
        requests: Sequence[Any],
        answer: type[Answer],
    ) -> None:
        self._transaction = transaction
        self._bandit = bandit
        self._kind = answer
        self._known: dict[str, tuple[bytes, bytes]] = {}  # digests of requests, and answers as JSON
        self._new: list[dict[str, Any]] = []
        keys = sorted({each.idempotency_key for each in requests if each.idempotency_key})
        if keys:
            query = select(table.c.key, table.c.digest, table.c.answer).where(
                table.c.bandit == bandit.number, table.c.key.in_(keys)
            )
            for row in transaction.connection.execute(query):
                self._known[row.key] = (bytes(row.digest), bytes(row.answer))

    def __len__(self) -> int:
        """How many keys are known."""
        return len(self._known)

    def answer(self, request: Any) -> Answer | ServiceError | None:
        """The answer that the key of a request got before; None if it is a new one."""
        key = request.idempotency_key
        if key is None or key not in self._known:
            return None
        digest, answer = self._known[key]
        if digest != _digest(request):
            return conflict(f"idempotency_key {key!r} was used for another request")
        return read(answer, self._kind)

    def note(self, request: Any, answer: Answer, task: int) -> None:
        """Remember the answer of a request, if it has a key."""
        key = request.idempotency_key
        if key is not None:
            digest, content = _digest(request), msgspec.json.encode(answer)
            self._known[key] = (digest, content)
            self._new.append(
                {
                    "bandit": self._bandit.number,
                    "key": key,
                    "digest": digest,
                    "answer": content,
                    "task": task,
                    "time": self._transaction.now,
                }
            )

    def write(self) -> None:
        """Store the new keys; if another process has just stored one, the transaction fails."""
        if self._new:
            self._transaction.connection.execute(insert(table), self._new)


def _digest(request: Any) -> bytes:
    """The digest of what a request says; a field that a later version adds has its default."""
    told = {
        field.name: value
        for field in msgspec.structs.fields(request)
        if (value := getattr(request, field.name)) != _default_of(field)
    }
    return hashlib.blake2b(msgspec.json.encode(told), digest_size=16).digest()


def _default_of(field: msgspec.structs.FieldInfo) -> object:
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()
