"""The cluster's HTTP interface: connecting to it, and one clear error for each way to fail."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import ray
import requests
from ray.exceptions import AuthenticationError
from ray.job_submission import JobSubmissionClient

from pipeline.base.errors import TransientError, UserError
from pipeline.formats.plural import counted
from pipeline.ops.cluster.job import ADDRESS_VARIABLES, NODE_MINUTES, Job, address_variable

PROBE_SECONDS = 8.0  # to learn that nobody answers at an address
REQUEST_SECONDS = 20.0
LOST_SECONDS = 180.0  # without an answer: the cluster is gone
RETRY_SECONDS = 2.0

# What Ray's client raises when a request fails: RuntimeError stands for an HTTP error status.
REQUEST_ERRORS = (requests.RequestException, ConnectionError, RuntimeError, AuthenticationError)


T = TypeVar("T")


@dataclass(frozen=True)
class Address:
    """Where a cluster's dashboard answers.

    Attributes:
        url: ``http(s)://host:port``.
        token: Bearer token, or None; never part of a message.
        origin: The variable a person set it with, or what it is, for messages.
        lives: Whether a head that is this process's own has not ended yet; True of all others.
    """

    url: str
    token: str | None = field(repr=False)
    origin: str
    lives: Callable[[], bool] = field(default=lambda: True, repr=False, compare=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def get(self, path: str, seconds: float) -> requests.Response:
        """Send one request."""
        return requests.get(f"{self.url}{path}", headers=self.headers, timeout=seconds)

    def __str__(self) -> str:
        if self.origin not in ADDRESS_VARIABLES:
            return self.origin
        host = urlsplit(self.url)
        return f"{self.origin}={host.scheme}://{host.netloc.rpartition('@')[2]}{host.path}"


def configured_address(environment: Mapping[str, str]) -> Address | None:
    """The cluster that the environment names, or None if it names none.

    Raises:
        UserError: If it is not the address of a dashboard, or the token's file cannot be read.
    """
    origin = address_variable(environment)
    if origin is None:
        return None
    address = Address(environment[origin].rstrip("/"), _token(environment), origin)
    host = _hostname(environment[origin])
    if urlsplit(address.url).scheme not in ("http", "https") or not host:
        raise UserError(
            f"{origin}={environment[origin].rpartition('@')[2]!r} is not the address of a Ray "
            "dashboard, which takes jobs over HTTP; allowed: http://HOST:PORT or "
            f"https://HOST:PORT, for example {origin}=http://{host or 'HOST'}:8265. Unset it to "
            "train on a private Ray head on this machine"
        )
    return address


def _hostname(url: str) -> str | None:
    """The host of an address with or without a scheme; None for what has none."""
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return None if host in ("auto", "local") else host


def _token(environment: Mapping[str, str]) -> str | None:
    """The token where Ray itself looks for it."""
    if environment.get("RAY_AUTH_MODE", "").lower() == "disabled":
        return None
    if environment.get("RAY_AUTH_TOKEN"):
        return environment["RAY_AUTH_TOKEN"].strip()
    named = environment.get("RAY_AUTH_TOKEN_PATH")
    path = Path(named) if named else Path.home() / ".ray" / "auth_token"
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError as error:
        if not named:
            return None
        raise UserError(
            f"RAY_AUTH_TOKEN_PATH={named}: {error.strerror}; name a readable file that holds the "
            "cluster's token, or set RAY_AUTH_TOKEN"
        ) from error


class Client(JobSubmissionClient):  # type: ignore[misc] # ray is not typed
    """Ray's job client with a time limit on every request."""

    def __init__(self, address: Address) -> None:
        self.place = address
        super().__init__(address.url, headers=address.headers)

    def _do_request(self, method: str, endpoint: str, **options: object) -> requests.Response:
        options["timeout"] = REQUEST_SECONDS
        answer: requests.Response = super()._do_request(method, endpoint, **options)
        return answer

    def submit(self, job: Job, submission: str) -> None:
        """Submit a job under an id of ours.

        Packages come with the cluster's own image: Ray's ``image_uri`` cannot be combined with an
        uploaded folder.

        Raises:
            UserError: If the cluster refuses the job.
            TransientError: If it stays without an answer.
        """

        def request() -> None:
            try:
                self.submit_job(
                    entrypoint=shlex.join(job.arguments),
                    submission_id=submission,
                    runtime_env={
                        "working_dir": str(job.folder),
                        "env_vars": dict(job.environment),
                    },
                    entrypoint_num_gpus=job.own_gpus,
                    entrypoint_num_cpus=job.own_cpus,
                )
            except (requests.RequestException, ConnectionError):
                raise
            except (RuntimeError, AuthenticationError, ValueError) as error:
                if self._knows(submission):  # the answer to an earlier request was lost
                    return
                if "status code 5" in str(error):  # the server's own trouble
                    raise ConnectionError(str(error)) from error
                reason = str(error).strip().splitlines()[-1]
                raise UserError(f"{self.place}: the cluster refuses the job: {reason}") from error

        self._patiently(request)

    def running(self, prefix: str) -> str | None:
        """The submission whose id begins with ``prefix`` and that has not ended."""
        for details in self._patiently(self.list_jobs):
            submission = details.submission_id or ""
            if submission.startswith(prefix) and not details.status.is_terminal():
                return str(submission)
        return None

    def node_accelerators(self) -> list[int]:
        """The number of accelerators of each live node, the largest first."""
        return sorted((gpus for gpus, _ in self.node_resources()), reverse=True)

    def node_resources(self) -> list[tuple[int, int]]:
        """The accelerators and the processor cores that Ray counts on each live node."""
        nodes = self._data("/api/v0/nodes?detail=1&limit=10000")["result"]["result"]
        alive = [node["resources_total"] for node in nodes if node["state"] == "ALIVE"]
        return [(int(total.get("GPU", 0)), int(total.get("CPU", 0))) for total in alive]

    def free_accelerators(self) -> list[int]:
        """How many accelerators no job holds on each node, the most first."""
        status = self._data("/api/cluster_status")["clusterStatus"] or {}
        nodes = status.get("loadMetricsReport", {}).get("usageByNode", {}).values()
        usage = [node.get("GPU", (0, 0)) for node in nodes]
        return sorted((int(total - taken) for taken, total in usage), reverse=True)

    def check_lives(self) -> None:
        """Check that a head of this process has not ended.

        Raises:
            TransientError: If it has.
        """
        if not self.place.lives():
            raise TransientError(
                f"{self.place} has ended before the job; run the stage again to go on from the "
                "last checkpoint"
            )

    def _knows(self, submission: str) -> bool:
        try:
            self.get_job_status(submission)
        except REQUEST_ERRORS:
            return False
        return True

    def _patiently(self, request: Callable[[], T]) -> T:
        """Repeat a request that the cluster does not answer, or answers with an error."""
        deadline = time.monotonic() + LOST_SECONDS
        while True:
            try:
                return request()
            except REQUEST_ERRORS as error:
                self.check_lives()
                if time.monotonic() > deadline:
                    raise TransientError(
                        f"{self.place}: the cluster has not answered for {LOST_SECONDS:g} s; a job "
                        "that still runs there is found when the stage runs again"
                    ) from error
            time.sleep(RETRY_SECONDS)

    def _data(self, endpoint: str) -> Any:
        response = self._patiently(lambda: self._do_request("GET", endpoint))
        return response.json()["data"]


def connect(address: Address) -> Client:
    """A client of the cluster at ``address`` after a probe of it.

    Raises:
        TransientError: If nobody answers there.
        UserError: If something else does, the token is missing or wrong, or the cluster runs
            another Ray.
    """
    version = _version(address)
    if _minor(version) != _minor(ray.__version__):
        raise UserError(
            f"{address}: the cluster runs Ray {version}, this environment has Ray "
            f"{ray.__version__}; both need the same major.minor version. Install "
            f"'ray[default]=={_minor(version)}.*' here, or bring the cluster to Ray "
            f"{_minor(ray.__version__)}"
        )
    return Client(address)


def _version(address: Address) -> str:
    try:
        response = address.get("/api/version", PROBE_SECONDS)
    except requests.RequestException as error:
        raise TransientError(
            f"{address}: no Ray dashboard answers there ({_reason(error)}). Check that the cluster "
            "runs, that this machine reaches it, and that the port is the dashboard's (8265 unless "
            f"changed), as in {address.origin}=http://HOST:8265; unset it to train on a private "
            "Ray head on this machine"
        ) from error
    refusals = {401: "requires a token, and none was given", 403: "refuses the token"}
    if refusal := refusals.get(response.status_code):
        raise UserError(
            f"{address}: the cluster {refusal}; set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a "
            "file, to the cluster's own (`ray get-auth-token` there prints it)"
        )
    try:
        return str(response.json()["ray_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{address}: something answers there (HTTP {response.status_code}) that is not a Ray "
            "dashboard; check host and port (8265 unless changed)"
        ) from error


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return f"no answer within {PROBE_SECONDS:g} s"
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return str(getattr(cause, "strerror", None) or type(cause).__name__)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def check_room(client: Client, job: Job) -> None:
    """Check that the cluster's nodes have what a job takes, free or not.

    What Ray has no core for waits without a word, and the job with it.

    Raises:
        UserError: If they have not, with what is needed and what there is.
    """
    gpus, cpus = job.gpus or math.ceil(job.own_gpus), job.rank_cpus * job.gpus
    present = client.node_resources()
    fitting = sum(own >= gpus and cores >= cpus for own, cores in present)
    wanted = job.helper_cpus + cpus * job.nodes
    if fitting >= job.nodes and sum(cores for _, cores in present) >= wanted:
        return
    listing = ", ".join(f"{counted(own, 'GPU')} and {counted(n, 'CPU')}" for own, n in present)
    raise UserError(
        f"{client.place}: the job needs {counted(job.nodes, 'node')} with {counted(gpus, 'GPU')} "
        f"and {counted(cpus, 'CPU')} each, and {counted(wanted, 'CPU')} in all; the cluster's "
        f"nodes have: {listing or 'nothing'}. Lower train.cluster.gpus and train.cluster.nodes of "
        "the cell, or enlarge the cluster: start nodes with a larger --num-cpus, since Ray counts "
        "cores and binds no process to them. If it starts nodes on demand, set "
        f"{NODE_MINUTES}=15 to wait so many minutes for them"
    )
