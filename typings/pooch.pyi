import logging
from os import PathLike

class HTTPDownloader:
    def __init__(self, *, timeout: float = ...) -> None: ...

def os_cache(project: str) -> PathLike[str]: ...
def get_logger() -> logging.Logger: ...
def retrieve(
    url: str,
    known_hash: str | None,
    fname: str | None = ...,
    path: PathLike[str] | None = ...,
    downloader: HTTPDownloader | None = ...,
) -> str: ...
