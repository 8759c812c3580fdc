"""Proxies as people have them in their environment, all of which answer nobody."""

from __future__ import annotations

from collections.abc import Mapping

NOWHERE = "127.0.0.1:9"

PROXIES: tuple[Mapping[str, str], ...] = (
    {"http_proxy": f"http://{NOWHERE}"},
    {"HTTP_PROXY": f"http://{NOWHERE}", "HTTPS_PROXY": f"http://{NOWHERE}"},
    {"http_proxy": NOWHERE},
    {"http_proxy": f"http://user:pass@{NOWHERE}/", "https_proxy": f"https://{NOWHERE}"},
    {"all_proxy": f"http://{NOWHERE}"},
    {"ALL_PROXY": f"socks5://{NOWHERE}"},
    {"ALL_PROXY": f"socks5h://{NOWHERE}", "all_proxy": f"socks4://{NOWHERE}"},
    {"HTTPS_PROXY": f"SOCKS5://{NOWHERE}", "http_proxy": f"socks://{NOWHERE}"},
    {"ALL_PROXY": f"quic://{NOWHERE}"},
    {"http_proxy": "::::"},
    {"http_proxy": "http://:9"},
    {"http_proxy": "http://a:port"},
    {"http_proxy": "", "HTTP_PROXY": f"http://{NOWHERE}"},
    {"http_proxy": f"http://{NOWHERE}", "no_proxy": ""},
    {"http_proxy": f"http://{NOWHERE}", "NO_PROXY": "a.example, .b.example ,10.0.0.0/8"},
    {"http_proxy": f"http://{NOWHERE}", "no_proxy": "*"},
    {"http_proxy": f"http://{NOWHERE}", "no_proxy": "[::1]:80,fe80::/10"},
    {"https_proxy": f"http://{NOWHERE}", "NO_PROXY": "bücher.example,::1"},
)
