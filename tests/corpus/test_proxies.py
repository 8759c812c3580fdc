"""No proxy, of whatever kind, stands between processes of this machine, for any client."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Callable, Iterator, Mapping

import aiohttp
import httpx
import openai
import pytest
import requests
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from pipeline.base.ports import UNUSABLE, keep_loopback_direct
from tests.corpus.proxies import PROXIES
from tests.serving import Quiet, quiet_server, serving_in_a_thread


class _Handler(Quiet):
    protocol_version = "HTTP/1.1"  # as websockets expect of who refuses them

    def do_GET(self) -> None:
        self.answer(b"{}")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving_in_a_thread(quiet_server(_Handler)) as server:
        yield server.server_port


async def _by_aiohttp(url: str) -> None:
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url) as answer:
        answer.raise_for_status()


async def _by_websockets(url: str) -> None:
    try:
        async with connect(url.replace("http", "ws", 1), open_timeout=5):
            pass
    except InvalidStatus:
        pass  # it came through, to a server that knows no such thing


CLIENTS: Mapping[str, Callable[[str], object]] = {
    "httpx": lambda url: httpx.get(url, timeout=5).raise_for_status(),
    "requests": lambda url: requests.get(url, timeout=5).raise_for_status(),
    "urllib": lambda url: urllib.request.build_opener().open(url, timeout=5).close(),
    "openai": lambda url: openai.OpenAI(
        base_url=url, api_key="none", max_retries=0, timeout=5
    ).models.list(),
    "aiohttp": lambda url: asyncio.run(_by_aiohttp(url)),
    "websockets": lambda url: asyncio.run(_by_websockets(url)),
}


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("proxies", PROXIES, ids=lambda proxies: " ".join(proxies.values()))
def test_loopback_goes_through_no_proxy(
    proxies: Mapping[str, str], client: str, port: int, clean: pytest.MonkeyPatch
) -> None:
    found = dict(proxies)
    keep_loopback_direct(found)
    for name, value in found.items():
        clean.setenv(name, value)
    for host in ("127.0.0.1", "localhost"):
        CLIENTS[client](f"http://{host}:{port}/v1")


def test_what_goes_elsewhere_keeps_its_proxy_or_says_why_not(clean: pytest.MonkeyPatch) -> None:
    found = {
        "NO_PROXY": "a.example, ",
        "http_proxy": "http://proxy.example",
        "all_proxy": "socks5://a",
    }
    keep_loopback_direct(found)
    assert found["NO_PROXY"] == found["no_proxy"] == "a.example,127.0.0.1,127.0.0.2,localhost,::1"
    assert (found["http_proxy"], found["all_proxy"]) == ("http://proxy.example", UNUSABLE)
    for name, value in found.items():
        clean.setenv(name, value)
    clean.setenv("http_proxy", UNUSABLE)
    with pytest.raises(requests.exceptions.ProxyError, match="only-http-and-https-proxies"):
        requests.get("http://elsewhere.example", timeout=5)
