"""Downloads, from a server on this machine."""

import io
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.rated import as_text, random_rows, tiny, write_file
from typer.testing import CliRunner

from headstart.cli import app
from headstart.datasets import locations
from headstart.datasets.download import fetch
from headstart.datasets.published import LASTFM, MOVIELENS, PUBLISHED, Published, load

ROWS = random_rows(seed=7)
both = pytest.mark.parametrize("source", PUBLISHED.values(), ids=PUBLISHED.keys())


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def _pack(text: str, source: Published, *, inside: str = "") -> bytes:
    """An archive as the publishers pack it, with its files in a folder or not."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{inside}readme.txt", "the licence")
        archive.writestr(f"{inside}{source.file}", text)
    return packed.getvalue()


@both
@pytest.mark.parametrize("inside", ["", "ml-1m/", "../../up/"])
def test_a_download_is_stored(
    source: Published, inside: str, site: tuple[Path, str], tmp_path: Path
) -> None:
    folder, address = site
    (folder / "a.zip").write_bytes(_pack(as_text(source, ROWS), source, inside=inside))
    home, small = tmp_path / "home", tiny(source, ROWS)
    file = fetch(small, home, f"{address}/a.zip")
    assert file == home / source.folder / source.file
    assert len(load(small, home)) == len(ROWS)
    # The licence stays beside the ratings, and nothing else stays anywhere.
    assert {path.name for path in home.rglob("*") if path.is_file()} == {source.file, "readme.txt"}
    assert not (tmp_path / "up").exists()


@both
def test_a_damaged_file_is_replaced(
    source: Published, site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = site
    (folder / "a.zip").write_bytes(_pack(as_text(source, ROWS), source))
    monkeypatch.setenv("HEADSTART_DATA", str(tmp_path / "mine"))
    small = tiny(source, ROWS)
    write_file(source, "damaged", tmp_path / "mine")
    with pytest.raises(ValueError, match=f"headstart data fetch {source.name}"):
        load(small)
    fetch(small, url=f"{address}/a.zip")
    assert len(load(small)) == len(ROWS)


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (None, "cannot download"),
        (b"<html>not here</html>", "must be a zip archive"),
        (_pack("1::2::3::0\n", MOVIELENS)[:-30], "must be a zip archive"),
        (_pack("1::2::3::0\n", LASTFM), "must hold ratings.dat, got readme.txt, user_artists.dat"),
        (
            _pack("1::2::3::0\n", MOVIELENS),
            "published ratings: ratings.dat must hold .* got 1 ratings",
        ),
        (_pack("1;2;3;0\n", MOVIELENS), "published ratings: ratings.dat, line 1: expected whole"),
    ],
)
def test_anything_else_is_refused_and_leaves_what_was_there(
    served: bytes | None, message: str, site: tuple[Path, str], tmp_path: Path
) -> None:
    folder, address = site
    if served is not None:
        (folder / "a.zip").write_bytes(served)
    home = tmp_path / "home"
    before = write_file(MOVIELENS, "before", home)
    with pytest.raises((ValueError, ConnectionError), match=message):
        fetch(tiny(MOVIELENS, ROWS), home, f"{address}/a.zip")
    assert before.read_text() == "before"
    assert [path for path in home.rglob("*") if path.is_file()] == [before]


def test_the_command_fetches_once_and_says_where(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = site
    small = tiny(LASTFM, ROWS)
    (folder / "a.zip").write_bytes(_pack(as_text(LASTFM, ROWS), LASTFM))
    monkeypatch.setitem(PUBLISHED, "lastfm", small)
    monkeypatch.setattr(locations, "cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("HEADSTART_DATA", raising=False)
    run = CliRunner().invoke
    missing = run(app, ["data", "path"])
    assert missing.exit_code == 0
    assert "lastfm: missing" in missing.output
    assert "headstart data fetch lastfm" in missing.output
    url = ["--url", f"{address}/a.zip"]
    first = run(app, ["data", "fetch", "lastfm", *url])
    assert first.exit_code == 0, first.output
    assert f"{len(ROWS)} ratings" in first.output
    home = tmp_path / "cache" / LASTFM.folder / LASTFM.file
    assert home.is_file()
    assert f"lastfm: {home}" in run(app, ["data", "path"]).output
    # The second time there is nothing to download, and no server is asked.
    (folder / "a.zip").unlink()
    again = run(app, ["data", "fetch", "lastfm", *url])
    assert again.exit_code == 0
    assert "is complete" in again.output


def test_the_command_fails_with_one_sentence(site: tuple[Path, str], tmp_path: Path) -> None:
    _, address = site
    failed = CliRunner().invoke(
        app,
        ["data", "fetch", "movielens", "--data", str(tmp_path), "--url", f"{address}/none.zip"],
    )
    assert failed.exit_code == 1
    assert "Error: " in failed.output
    assert "cannot download" in failed.output
    unknown = CliRunner().invoke(app, ["data", "fetch", "netflix"])
    assert unknown.exit_code == 2
    assert "lastfm, movielens" in unknown.output
