"""The report's page in a real browser: wide and narrow, light and dark, with hostile text."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.made_study import write_results
from benchmarks.report import CELLS, large_study
from pipeline.analysis.collect import collect
from pipeline.analysis.looks import looks
from pipeline.analysis.report import write_report
from pipeline.analysis.results import Results
from pipeline.analysis.run_links import RunsAt
from pipeline.analysis.samples import KINDS, Recorded, choose, every_sample, read_recorded
from pipeline.analysis.signatures import cell_signatures
from pipeline.config.params import Params
from pipeline.ops.mirror.ran import write_with_runs
from tests.browser import PHONE, WIDE, opened
from tests.conftest import PROJECT

pytestmark = pytest.mark.xdist_group("report page")
LARGEST = 2_000_000  # bytes
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)> {{ 1 }}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Recorded]:
    """Forty cells and 13 columns, with a hostile response."""
    root = tmp_path_factory.mktemp("made study")
    params = large_study(PROJECT)
    write_results(params, root)
    results = collect(params, root)
    return results, hostile(params, read_recorded(results, root))


def hostile(params: Params, recorded: Recorded) -> Recorded:
    """Put hostile text into the first response of the last cell."""
    *_, key = params.cells
    column, items = next(iter(recorded.items[key].items()))
    first = min(items, key=lambda item: item.example.id)
    changed = [replace(i, response=HOSTILE, extracted=HOSTILE) if i is first else i for i in items]
    of_cell = {**recorded.items[key], column: changed}
    return replace(recorded, items={**recorded.items, key: of_cell})


@pytest.fixture(scope="module")
def page(made: tuple[Results, Recorded], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report of it")
    write_report(*made, folder)
    return folder / "index.html"


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_it_fits_its_window_and_asks_for_nothing(page: Path, width: int, scheme: str) -> None:
    with opened(page, width, scheme) as (window, said):
        assert said == []
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        dark = window.evaluate("getComputedStyle(document.body).backgroundColor") != (
            "rgb(255, 255, 255)"
        )
        assert dark == (scheme == "dark")


def test_forty_cells_fit_a_phone_with_all_that_is_folded(page: Path) -> None:
    assert page.stat().st_size < LARGEST
    with opened(page, PHONE) as (window, said):
        window.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        assert window.locator(".said").count() > 0
        window.wait_for_selector("details[data-table] td.number")
        image = "document.querySelector('img[data-figure]')"
        window.locator("img[data-figure]").first.scroll_into_view_if_needed()
        window.wait_for_function(f"{image}.naturalWidth > 0")
        assert window.evaluate("document.documentElement.scrollWidth") <= PHONE
        assert said == []


def test_points_and_lines_say_their_names(page: Path, made: tuple[Results, Recorded]) -> None:
    cells = list(made[0].cells)
    with opened(page, WIDE) as (window, said):
        panel = window.locator(".panels > div").first
        panel.locator(".point").first.focus()
        for place in range(2):
            shown = panel.locator("output").inner_text()
            assert shown.startswith(f"{cells[place]}: ")
            window.keyboard.press("ArrowRight")
        panel.locator(".point path").last.hover(force=True)
        assert panel.locator("output").inner_text().partition(": ")[0] in cells
        window.locator("#curves").scroll_into_view_if_needed()
        label = window.locator("#curve-cells label").nth(3)
        label.locator("input").focus()
        assert window.locator("#curve-near").inner_text() == label.inner_text().strip()
        window.locator("#curve-plot .u-over").hover()
        assert window.locator("#curve-near").inner_text() in cells
        assert said == []


def test_a_model_has_its_shape_and_a_training_its_colour(made: tuple[Results, Recorded]) -> None:
    found = looks(made[0])
    assert len(set(found.cells.values())) == CELLS


def test_the_answer_comes_first_and_rules_are_explained(page: Path) -> None:
    with opened(page, WIDE) as (window, _):
        assert window.locator("h1 + .answer").inner_text().endswith("find beliefs.")
        title = window.locator(".verdicts td.rule").first.get_attribute("title") or ""
        assert "answers with" in title
        glossary = window.locator("dl").text_content() or ""
        assert "tracks who sees what but ignores claims" in glossary


def test_a_table_is_sorted_by_what_is_clicked(page: Path) -> None:
    with opened(page, WIDE) as (window, _):
        head = window.locator("#result-table th").nth(4)
        cells = window.locator("#result-table td:nth-child(5)")
        for way, reverse in (("ascending", False), ("descending", True)):
            head.click()
            shown = [text.split()[0] for text in cells.all_text_contents()]
            numbers = [float(text) for text in shown if text[0].isdigit()]
            assert head.get_attribute("aria-sort") == way
            assert numbers == sorted(numbers, reverse=reverse) and len(set(numbers)) > 1


def test_two_cells_answer_side_by_side(page: Path, made: tuple[Results, Recorded]) -> None:
    first, *_, last = (key for key, cell in made[0].cells.items() if cell.cell.combination)
    with opened(page, WIDE) as (window, said):
        window.select_option("#sample-cell", last)
        window.select_option("#sample-beside", first)
        window.wait_for_selector(f"#sample-count:has-text('of {answers_of(made, last)}')")
        window.locator(".sample summary").last.click()
        window.wait_for_selector(f".said h3:has-text('{first}: ')")
        assert said == []


def test_all_answers_of_a_cell_are_read_from_beside_the_page(
    page: Path, made: tuple[Results, Recorded], tmp_path: Path
) -> None:
    results, recorded = made
    *_, cell = results.cells
    column, items = list(recorded.items[cell].items())[-1]
    wanted = items[-1].example
    with opened(page, WIDE) as (window, said):
        window.select_option("#sample-cell", cell)
        window.select_option("#sample-column", column)
        window.wait_for_selector(f"#sample-count:has-text('of {len(items)}')")
        window.fill("#sample-search", wanted.id)
        window.wait_for_selector(f"#sample-count:has-text('1 of {len(items)}')")
        window.locator(".sample summary").click()
        shown = window.locator(".sample[open]").inner_text()
        assert items[-1].response in shown and wanted.answer in shown
        assert said == []
    alone = shutil.copy(page, tmp_path / "alone.html")
    with opened(Path(alone), WIDE) as (window, _):
        window.select_option("#sample-cell", cell)
        window.wait_for_selector("#sample-count:has-text('lie beside it')")
        assert window.locator(".sample").count() > 0


def test_a_sample_leads_to_the_file_of_its_cell(page: Path, made: tuple[Results, Recorded]) -> None:
    *_, key = made[0].cells
    with opened(page, WIDE) as (window, _):
        window.select_option("#sample-cell", key)
        window.wait_for_selector(f"#sample-count:has-text('of {answers_of(made, key)}')")
        window.locator(f".sample:has-text('{key}') summary").first.click()
        links = window.locator(".sample[open] > p a")
        href = links.first.get_attribute("href") or ""
        assert (page.parent / href).resolve().is_file() and f"/{key}/" in href
        run = f"a.run[data-run='{key}']"
        assert links.last.get_attribute("href") == window.locator(run).get_attribute("href")


def test_signatures_stand_in_one_table_to_which_verdicts_lead(
    page: Path, made: tuple[Results, Recorded]
) -> None:
    with opened(page, WIDE) as (window, _):
        link = window.locator(".verdicts td a[data-signatures]").first
        link.click()
        rows = window.locator("details[data-section=signatures] tbody tr:visible")
        rows.first.wait_for()
        found = rows.all_text_contents()
        assert all("present" in text for text in found)
        wanted = link.inner_text().split(", ")
        assert [name for name in wanted if not any(name in text for text in found)] == []
        window.fill("details[data-section=signatures] input", "")
        assert rows.count() == len(cell_signatures(made[0])) > CELLS


def test_the_licence_of_what_is_embedded_is_on_the_page(page: Path) -> None:
    vendored = files("pipeline.analysis") / "templates" / "vendor"
    licence = (vendored / "uPlot.LICENSE").read_text(encoding="utf-8")
    assert "Leon Sorokin" in licence and licence in page.read_text(encoding="utf-8")


def test_filters_and_links_find_samples(page: Path, made: tuple[Results, Recorded]) -> None:
    with opened(page, WIDE) as (window, said):
        cell = list(made[0].cells)[-1]
        window.click(f'a[data-cell="{cell}"] >> nth=0')
        assert window.input_value("#sample-cell") == cell
        window.wait_for_selector(".sample")
        badges = window.locator(".sample").first.locator(".badge").all_text_contents()
        assert cell in badges and badges[0] in KINDS
        window.fill("#sample-search", "surely no sample says this")
        assert window.locator(".sample").count() == 0
        window.fill("#sample-search", "")
        window.select_option("#sample-cell", "")  # of forty, not each has one
        window.select_option("#sample-kind", "false claim")
        window.locator(".sample summary").first.click()
        window.wait_for_selector(".sample mark.false")  # a sample is filled once it is open
        rows = window.locator("#result-table tbody tr")
        every = rows.count()
        combination = made[0].cells[cell].cell.combination
        window.fill('input[data-filters="result-table"]', str(combination))
        assert 0 < window.locator("#result-table tbody tr:visible").count() < every
        assert said == []


def answers_of(made: tuple[Results, Recorded], key: str) -> int:
    return sum(map(len, made[1].items[key].values()))


def test_the_name_of_a_cell_leads_to_its_run(
    page: Path, made: tuple[Results, Recorded], tmp_path: Path
) -> None:
    results, _ = made
    key = next(iter(results.cells))
    with opened(page, WIDE) as (window, _):
        link = window.get_by_role("rowheader").get_by_role("link", name=key, exact=True)
        found = urlsplit(link.get_attribute("href") or "")
        assert (found.netloc, found.fragment.partition("?")[0]) == (
            "127.0.0.1:5000",
            "/experiments/1/runs",
        )
        query = parse_qs(found.fragment.partition("?")[2])
        (wanted,) = query["searchFilter"]
        assert f"tags.cell = '{key}'" in wanted
        assert f"tags.study = '{results.params.study.name}'" in wanted
        copy = tmp_path / "logs" / "report.html"
        write_with_runs(
            results.params, tmp_path, page, copy, RunsAt('https://runs.example"onload="x', "7")
        )
        window.goto(copy.as_uri())
        window.wait_for_selector("body[data-ready]")
        moved = link.get_attribute("href") or ""
        assert moved.startswith('https://runs.example"onload="x/#/experiments/7/runs?searchFilter=')
        window.select_option("#sample-cell", key)
        window.wait_for_selector(f"#sample-count:has-text('of {answers_of(made, key)}')")


def test_curves_are_drawn_and_can_be_chosen(page: Path) -> None:
    with opened(page, WIDE) as (window, said):
        window.locator("#curves").scroll_into_view_if_needed()
        window.wait_for_selector("#curve-plot canvas")
        window.fill("#curve-filter", "no such cell")
        assert window.locator("#curve-cells label:visible").count() == 0
        window.select_option("#curve-name", "length_mean")
        window.fill("#curve-smooth", "5")
        assert window.locator("#curve-plot canvas").count() == 1
        assert said == []


def test_hostile_text_stays_text(page: Path, made: tuple[Results, Recorded]) -> None:
    assert HOSTILE not in page.read_text(encoding="utf-8")
    with opened(page, WIDE) as (window, said):
        window.select_option("#sample-cell", list(made[0].cells)[-1])
        window.fill("#sample-search", "onerror=alert")
        window.locator(".sample summary").first.click()
        assert HOSTILE in window.locator(".said").inner_text()
        assert window.title() != "taken" and said == []


def test_every_kind_is_there_for_every_cell(made: tuple[Results, Recorded]) -> None:
    results, recorded = made
    chosen = choose(every_sample(results, recorded), 2)
    for key, result in results.cells.items():
        kinds = {sample.kind for sample in chosen if sample.cell == key}
        trained = result.cell.combination is not None
        assert kinds == set(KINDS[:4] if trained else KINDS[4:])
    followed = [sample for sample in chosen if sample.rule]
    assert all(not sample.item.right for sample in followed)


def test_samples_that_cells_share_are_the_same_questions(made: tuple[Results, Recorded]) -> None:
    chosen = choose(every_sample(*made), 8)
    asked = {sample.item.example.id for sample in chosen}
    assert len(asked) < len(chosen) / 2
