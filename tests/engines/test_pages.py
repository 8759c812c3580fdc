"""What people see: a team's MLflow and Prefect in a browser, after a worker has run a study.

With TOMRL_SCREENSHOTS=docs/images the pictures of the documentation are made again. They show
the results of this checkout's study `mini` where those are there, else made-up ones.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect
from prefect.client.schemas.objects import FlowRun

from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.config.study_files import find_study
from pipeline.ops.mirror.send import complete
from pipeline.ops.mirror.server import EXPERIMENT, prepare
from tests.browser import chromium
from tests.conftest import PROJECT, TINY
from tests.engines.team import Served
from tests.engines.test_team import client_of, worked_off
from tests.made_runs import write_study

pytestmark = pytest.mark.nightly
LARGEST = 150_000
TRAINING = "workflowType=machine_learning"  # of MLflow's two sets of pages
_FOLDERS = ("runs/mini", "logs/mini", "reports/mini", "data/mini/suite", "data/mini/combos")


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    """These tests need no engine."""


@pytest.fixture(scope="module")
def tracked(served: Served, tmp_path_factory: pytest.TempPathFactory) -> tuple[Params, str]:
    """A finished study in the team's MLflow, and the id of the experiment."""
    root = tmp_path_factory.mktemp("shown")
    if (PROJECT / "reports" / "mini" / "index.html").is_file():
        for folder in _FOLDERS:
            shutil.copytree(PROJECT / folder, root / folder)
        params = read_params(PROJECT / "params.yaml")
    else:
        params = expand(find_study(TINY, "mini"))
        write_study(params, root)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in served.client.items():
            patch.setenv(name, value)
        complete(params, root, again=True)
        return params, str(prepare(root).get_experiment_by_name(EXPERIMENT).experiment_id)


@pytest.fixture(scope="module")
def ran(served: Served) -> FlowRun:
    """A study that the team's worker ran."""
    with client_of(served) as client:
        return worked_off(client, "study/mini")


@contextmanager
def browser() -> Iterator[BrowserContext]:
    with chromium() as found:
        context = found.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(180_000)
        expect.set_options(timeout=180_000)
        yield context


@pytest.fixture
def mlflow(served: Served, tracked: tuple[Params, str]) -> Iterator[Page]:
    account = (served.client["MLFLOW_TRACKING_USERNAME"], served.client["MLFLOW_TRACKING_PASSWORD"])
    with browser() as context:
        context.set_extra_http_headers({"Authorization": f"Basic {_coded(':'.join(account))}"})
        yield context.new_page()


@pytest.fixture
def prefect(served: Served, ran: FlowRun) -> Iterator[Page]:
    password = _coded(served.client["PREFECT_API_AUTH_STRING"])
    with browser() as context:
        context.add_init_script(f"localStorage.setItem('prefect-password', '{password}')")
        yield context.new_page()


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def keep(page: Page, name: str, folder: Path) -> None:
    """Take a picture, and keep it where TOMRL_SCREENSHOTS says."""
    page.wait_for_timeout(2000)  # what moves comes to rest
    page.screenshot(path=folder / "picture.png")
    picture = folder / f"{name}.webp"
    with Image.open(folder / "picture.png") as image:
        image.convert("RGB").save(picture, quality=80)
    assert 0 < picture.stat().st_size < LARGEST
    if target := os.environ.get("TOMRL_SCREENSHOTS"):
        (PROJECT / target).mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, PROJECT / target)


def runs_page(served: Served, experiment: str, filter_: str, view: str) -> str:
    address = served.client["MLFLOW_TRACKING_URI"]
    flat = f"orderByKey={quote('tags.`mlflow.runName`')}&orderByAsc=true"
    query = f"searchFilter={quote(filter_)}&compareRunsMode={view}&{flat}&{TRAINING}"
    return f"{address}/#/experiments/{experiment}/runs?{query}"


def without_assistant(page: Page) -> None:
    """Close the panel that MLflow opens beside its pages, if it is there."""
    close = page.get_by_role("button", name="Close").first
    if close.is_visible():
        close.click()


def test_mlflow_filters_by_combination(
    served: Served, tracked: tuple[Params, str], mlflow: Page, tmp_path: Path
) -> None:
    params, experiment = tracked
    study = f"tags.study = 'mini' and tags.level = 'cell' and tags.seed = '{params.study.seed}'"
    mlflow.goto(runs_page(served, experiment, study, "TABLE"))
    for key in params.cells:
        expect(mlflow.get_by_text(key, exact=True).first).to_be_visible()
    without_assistant(mlflow)
    keep(mlflow, "mlflow-runs", tmp_path)
    combination = next(iter(params.dataset))
    mlflow.goto(runs_page(served, experiment, f"tags.combination = '{combination}'", "TABLE"))
    mlflow.reload()
    trained = [k for k, cell in params.cells.items() if cell.combination == combination]
    for key in trained:
        expect(mlflow.get_by_text(key, exact=True).first).to_be_visible()
    for key in params.cells.keys() - set(trained):
        expect(mlflow.get_by_text(key, exact=True)).to_have_count(0)


def test_mlflow_compares_curves(
    served: Served, tracked: tuple[Params, str], mlflow: Page, tmp_path: Path
) -> None:
    _, experiment = tracked
    filter_ = "tags.study = 'mini' and tags.kind = 'trained' and tags.current = 'true'"
    mlflow.goto(runs_page(served, experiment, filter_, "CHART"))
    search = mlflow.get_by_placeholder("Search metric charts")
    search.wait_for()
    without_assistant(mlflow)
    search.fill("train/(reward_mean|length_mean)")
    for metric in ("reward_mean", "length_mean"):
        expect(mlflow.get_by_text(f"train/{metric}", exact=True).first).to_be_visible()
    expect(mlflow.locator(".js-plotly-plot path.js-line")).not_to_have_count(0)
    keep(mlflow, "mlflow-curves", tmp_path)


def test_prefect_shows_deployments(served: Served, prefect: Page, tmp_path: Path) -> None:
    prefect.goto(served.client["PREFECT_API_URL"].removesuffix("/api") + "/deployments")
    for name in ("nightly", "grid-mini", "order-ablation"):
        expect(prefect.get_by_text(name, exact=True).first).to_be_visible()
    keep(prefect, "prefect-deployments", tmp_path)


def test_prefect_shows_a_run(served: Served, prefect: Page, ran: FlowRun, tmp_path: Path) -> None:
    """Its graph, what its stages said, and the table that it leaves."""
    address = served.client["PREFECT_API_URL"].removesuffix("/api")
    prefect.goto(f"{address}/runs/flow-run/{ran.id}")
    expect(prefect.get_by_text("study-mini").first).to_be_visible()
    expect(prefect.locator("canvas").first).to_be_visible()
    expect(prefect.get_by_text("Running stage").first).to_be_visible()
    keep(prefect, "prefect-run", tmp_path)
    prefect.get_by_text("Artifacts", exact=True).first.click()
    expect(prefect.get_by_text("results-mini").first).to_be_visible()
    prefect.goto(f"{address}/artifacts/key/results-mini")
    expect(prefect.get_by_text("report: ").first).to_be_visible()
