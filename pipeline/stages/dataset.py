"""Stage ``dataset@combo``: training and validation parquet, with a data card."""

from __future__ import annotations

from pipeline.config.lookup import lookup
from pipeline.data.build import (
    check_licences,
    check_stories_apart,
    select_parts,
)
from pipeline.data.card import DatasetCard
from pipeline.data.codec import write_dataset
from pipeline.data.imitation import with_responses
from pipeline.data.prompt import maker
from pipeline.formats.files import replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.prompts import frame_of
from pipeline.stages.sources import tasks_of, write_rules


def main(stage: Stage, key: str) -> None:
    """Build one combination."""
    entry = lookup(stage.params.dataset, key, "combination")
    licences = check_licences(entry)
    sets = {
        "train": with_responses(select_parts(stage.raw, entry.train, entry.seed), entry.imitated),
        "validation": select_parts(stage.raw, entry.validation, entry.seed),
    }
    shared = check_stories_apart(entry, sets)
    target = stage.data / "combos" / key
    prompt = maker(entry.prompt, frame_of(stage, entry.prompt))
    with replacing(target) as temporary:
        temporary.mkdir()
        for split, examples in sets.items():
            write_dataset(temporary / f"{split}.parquet", examples, prompt, split)
        write_rules(stage, f"dataset-{key}", tasks_of(entry), temporary)
        card = DatasetCard.of(entry, sets, licences, shared, stage.params.acquire.values())
        card.write(temporary / "card.json")
    sizes = ", ".join(f"{len(examples)} {split}" for split, examples in sets.items())
    print(f"dataset {key}: {sizes} rows, split {entry.split}")


if __name__ == "__main__":
    run("dataset", main)
