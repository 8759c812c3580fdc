"""Stage ``audit``: rule baselines, contradictions and leakage of the study's data, with a card."""

from __future__ import annotations

from pipeline.audit.card import data_card
from pipeline.audit.contamination import Fingerprints, Overlap, refuse_contamination
from pipeline.audit.figures import draw_all
from pipeline.audit.records import Audit
from pipeline.audit.sets import leakage, set_audit
from pipeline.config.params import DatasetEntry
from pipeline.data.build import select_parts
from pipeline.data.card import DatasetCard
from pipeline.data.codec import read_dataset, read_examples
from pipeline.errors import UserError
from pipeline.files import remove_leftovers, replacing
from pipeline.stages.common import Stage, run
from pipeline.tasks.example import Example


def main(stage: Stage) -> None:
    """Audit every column of the suite, also against every training set."""
    suite = {
        name: read_examples(stage.data / "suite" / f"{name}.parquet")
        for name in stage.params.suite.tasks
    }
    overlaps: dict[str, dict[str, Overlap]] = {}
    for key, entry in stage.params.dataset.items():
        overlaps[key] = _overlaps(stage, key, entry, suite)
        refuse_contamination(entry.split, overlaps[key])
    columns = {name: set_audit(examples) for name, examples in suite.items()}
    _write(stage, Audit(columns=columns, leakage=leakage(overlaps)))
    for name, column in columns.items():
        best = column.baselines.best
        print(f"audit {name}: {best.accuracy:.1%} by the rule {best.rule!r}")


def _overlaps(
    stage: Stage, key: str, entry: DatasetEntry, suite: dict[str, list[Example]]
) -> dict[str, Overlap]:
    training = _training(stage, key, entry)
    known = Fingerprints.of(training, stage.params.audit.ngram)
    return {name: known.overlap(examples) for name, examples in suite.items()}


def _training(stage: Stage, key: str, entry: DatasetEntry) -> list[Example]:
    """Return the training examples: the parquet has prompts, the raw files the texts themselves.

    Raises:
        UserError: If the parquet is not what the parameters select from the raw files.
    """
    path = stage.data / "combos" / key / "train.parquet"
    if not path.is_file():
        raise UserError(f"{path} does not exist; make it with: dvc repro dataset@{key}")
    examples = select_parts(stage.raw, entry.train, entry.seed)
    written = [row.example.id for row in read_dataset(path)]
    if written != [example.id for example in examples]:
        raise UserError(
            f"{path} does not hold what params.yaml selects from {stage.raw}; "
            f"make it again with: dvc repro dataset@{key}"
        )
    return examples


def _write(stage: Stage, audit: Audit) -> None:
    """Write audit.json, card.md and figures/ in one go."""
    cards = {
        key: DatasetCard.read(stage.data / "combos" / key / "card.json", f"dataset@{key}")
        for key in stage.params.dataset
    }
    target = stage.runs / "audit"
    remove_leftovers(target.parent)
    with replacing(target) as temporary:
        (temporary / "figures").mkdir(parents=True)
        audit.write(temporary / "audit.json")
        for name, svg in draw_all(audit).items():
            (temporary / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
        card = data_card(stage.params, audit, cards)
        (temporary / "card.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    run("audit", main)
