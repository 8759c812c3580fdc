"""Stage ``audit``: rule baselines, contradictions and leakage of the study's data, with a card."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.audit.card import data_card
from pipeline.audit.cheats import won_without_answer
from pipeline.audit.contamination import Fingerprints, Overlap, refuse_contamination
from pipeline.audit.figures import draw_all
from pipeline.audit.marks import refuse_false_marks
from pipeline.audit.records import Audit, Leak, Learned, WonWithoutAnswer
from pipeline.audit.sets import leakage, learned_baseline, set_audit
from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.data.build import select_written
from pipeline.data.card import DatasetCard
from pipeline.data.codec import read_column, read_dataset
from pipeline.data.origin import Origin, StudyOrigins
from pipeline.formats.files import replacing
from pipeline.rules.learned import LearnedRule
from pipeline.rules.reading import read_all
from pipeline.rules.surface import gold_places
from pipeline.stages.common import Stage, run
from pipeline.tasks.example import Example


def main(stage: Stage) -> None:
    """Audit every column of the suite, also against every training set."""
    suite = {
        name: read_column(stage.data / "suite" / f"{name}.parquet", column.task)
        for name, column in stage.params.suite.tasks.items()
    }
    overlaps: dict[str, dict[str, Overlap]] = {}
    validation: dict[str, Leak] = {}
    won: dict[str, WonWithoutAnswer] = {}
    training: dict[str, Origin] = {}
    learned: dict[str, Learned] = {}
    rules: dict[str, LearnedRule] = {}
    for key, entry in stage.params.dataset.items():
        examples = written_examples(stage, key, "train", entry.train)
        known = Fingerprints.of(examples, stage.params.audit.ngram)
        overlaps[key] = {name: known.overlap(column) for name, column in suite.items()}
        refuse_contamination(entry.split, overlaps[key])
        readings = read_all(examples)
        won[key] = won_without_answer(readings)
        if (baseline := learned_baseline(readings)) is not None:
            learned[key] = baseline
        if (rule := LearnedRule.fit(*gold_places(readings))) is not None:
            rules[key] = rule
        validated = written_examples(stage, key, "validation", entry.validation)
        validation[key] = known.overlap(validated).record()
        training[key] = _origin(stage, examples)
    origins = StudyOrigins(
        columns={name: _origin(stage, examples) for name, examples in suite.items()},
        training=training,
    )
    refuse_false_marks(stage.study, stage.params.suite.tasks, origins)
    columns = {name: set_audit(examples, rules) for name, examples in suite.items()}
    audit = Audit(
        columns=columns,
        training=won,
        learned=learned,
        leakage=leakage(overlaps),
        validation=validation,
    )
    _write(stage, audit, origins)
    for name, column in columns.items():
        best, cheat = column.baselines.best, column.without_answer.cheat
        print(
            f"audit {name}: {best.accuracy:.1%} by the rule {best.rule!r}; published rule: "
            f"{cheat.published:.1%} by {cheat.what!r}, strictly {cheat.strict:.1%}"
        )


def _origin(stage: Stage, examples: list[Example]) -> Origin:
    return Origin.of(examples, stage.params.acquire.values())


def written_examples(stage: Stage, key: str, name: str, parts: Sequence[Part]) -> list[Example]:
    """The examples of a written set: the parquet has prompts, the raw files the texts.

    Raises:
        UserError: If the parquet holds rows that the parameters do not select from the raw files.
    """
    path = stage.data / "combos" / key / f"{name}.parquet"
    written = [row.example.id for row in read_dataset(path)]
    examples = select_written(stage.raw, parts, written)
    if examples is None:
        raise UserError(
            f"{path} does not hold what params.yaml selects from {stage.raw}; "
            f"make it again with: dvc repro --single-item --force dataset@{key}"
        )
    return examples


def _write(stage: Stage, audit: Audit, origins: StudyOrigins) -> None:
    """Write audit.json, origins.json, card.md and figures/ in one go."""
    cards = {
        key: DatasetCard.read_of(stage.data / "combos" / key / "card.json", key, entry)
        for key, entry in stage.params.dataset.items()
    }
    target = stage.runs / "audit"
    with replacing(target) as temporary:
        (temporary / "figures").mkdir(parents=True)
        audit.write(temporary / "audit.json")
        origins.write(temporary / "origins.json")
        for name, svg in draw_all(audit).items():
            (temporary / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
        card = data_card(stage.params, audit, cards)
        (temporary / "card.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    run("audit", main)
