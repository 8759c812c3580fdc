"""A server of the S3 API on loopback: moto's, an emulator. It is not Amazon's, and knows no more
of S3 than what is asked of it here: single requests, their errors, and who may make them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "lab"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextmanager
def emulator() -> Iterator[str]:
    """Run the server with an empty bucket; yield its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        client(url).create_bucket(Bucket=BUCKET)
        yield url
    finally:
        server.stop()


def client(url: str):  # type: ignore[no-untyped-def]  # boto3 has no types
    """A client that reaches the server itself."""
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        region_name=KEYS["AWS_DEFAULT_REGION"],
    )
