"""Stage ``dataset@combo``: training, validation and probe parquet, with a data card."""

from __future__ import annotations

from pipeline.config.lookup import lookup
from pipeline.data.build import (
    check_licences,
    check_stories_apart,
    data_card,
    select_parts,
    select_probe,
    training_rows,
    write_rows,
)
from pipeline.files import remove_leftovers, replacing, write_json
from pipeline.stages.common import Stage, run


def main(stage: Stage, key: str) -> None:
    """Build one combination."""
    entry = lookup(stage.params.dataset, key, "combination")
    check_licences(entry)
    sets = {
        "train": select_parts(stage.raw, entry.train, entry.seed),
        "validation": select_parts(stage.raw, entry.validation, entry.seed),
    }
    shared = check_stories_apart(entry, sets)
    target = stage.data / "combos" / key
    remove_leftovers(target.parent)
    with replacing(target) as temporary:
        temporary.mkdir()
        for split, examples in sets.items():
            rows = training_rows(examples, entry.prompt, split)
            write_rows(temporary / f"{split}.parquet", rows)
        if entry.probe is not None:
            (temporary / "probe").mkdir()
            for name, examples in select_probe(stage.raw, entry.probe).items():
                rows = training_rows(examples, entry.prompt, "probe")
                write_rows(temporary / "probe" / f"{name}.parquet", rows)
        write_json(temporary / "card.json", data_card(entry, sets, shared))
    sizes = ", ".join(f"{len(examples)} {split}" for split, examples in sets.items())
    print(f"dataset {key}: {sizes} rows, split {entry.split}")


if __name__ == "__main__":
    run("dataset", main)
