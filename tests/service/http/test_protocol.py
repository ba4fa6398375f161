"""Bytes on a connection: answers in one piece, and requests that never get to their body."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
from tests.service.http.fake import FakeService

from headstart.service.engine.service import Service
from headstart.service.http import server
from headstart.service.http.app import Application
from headstart.service.http.server import listen, server_of


@pytest.fixture
def connection(fake: FakeService, tmp_path: Path) -> Iterator[socket.socket]:
    process = server_of(Application(cast(Service, fake), log_requests=False))
    listener = listen("127.0.0.1", 0)
    thread = Thread(target=process.run, args=([listener],))
    thread.start()
    with socket.create_connection(listener.getsockname()[:2], timeout=10) as found:
        yield found
    process.should_exit = True
    thread.join()


def whole(connection: socket.socket) -> bytes:
    text = b""
    while part := connection.recv(65536):
        text += part
    return text


def test_answers_of_requests_sent_together_come_in_their_order(connection: socket.socket) -> None:
    def request(task: str, close: str = "") -> str:
        body = f'{{"task":"{task}"}}'
        head = "POST /v1/bandits/news/decisions HTTP/1.1\r\nhost: localhost\r\n"
        head += "content-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n{close}\r\n{body}"

    sent = request("a") + request("b") + request("c", "connection: close\r\n")
    connection.sendall(sent.encode())
    answers = whole(connection).split(b"HTTP/1.1 200 OK")[1:]
    assert [answer.split(b'"task":"')[1][:1] for answer in answers] == [b"a", b"b", b"c"]


def test_head_and_204_are_complete_without_a_body(connection: socket.socket) -> None:
    connection.sendall(
        b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
        b"DELETE /v1/bandits/news HTTP/1.1\r\nhost: localhost\r\n"
        b"connection: close\r\n\r\n"
    )
    text = whole(connection)
    assert text.startswith(b"HTTP/1.1 200 OK")
    assert b"HTTP/1.1 204 No Content" in text


@pytest.mark.parametrize("part", [b"x" * 5_000, b"x: " + b"y" * 5_000 + b"\r\n"])
def test_headers_without_end_are_refused(connection: socket.socket, part: bytes) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\n")
    try:
        for _ in range(100):
            connection.sendall(part)
        text = whole(connection)
    except (ConnectionResetError, BrokenPipeError):
        return
    assert text.startswith(b"HTTP/1.1 400")


def test_headers_in_one_piece_have_the_same_limit(connection: socket.socket) -> None:
    head = b"POST /v1/bandits/news/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n"
    connection.sendall(head + b"x: " + b"y" * 120_000 + b"\r\n\r\n{}")
    try:
        assert whole(connection).startswith(b"HTTP/1.1 400")
    except ConnectionResetError:
        return


def test_headers_that_come_too_late_are_refused(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    connection: Any = request.getfixturevalue("connection")
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: loc")
    assert whole(connection).startswith(b"HTTP/1.1 400")


def test_bytes_that_are_no_request_are_a_problem(connection: socket.socket) -> None:
    connection.sendall("GET /v1/bandits/café HTTP/1.1\r\nhost: localhost\r\n\r\n".encode("latin-1"))
    head, _, body = whole(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in head
    problem = json.loads(body)
    assert (problem["status"], problem["title"]) == (400, "Bad request")
    assert problem["detail"] == "invalid HTTP request received"
