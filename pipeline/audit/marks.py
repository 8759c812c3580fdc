"""The study's declarations of trained columns, against the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.base.errors import UserError
from pipeline.config.data import SuiteTask
from pipeline.data.connection import Connection, Shown, connections
from pipeline.data.origin import Origin, StudyOrigins


def refuse_false_marks(study: str, columns: Mapping[str, SuiteTask], origins: StudyOrigins) -> None:
    """Refuse a study whose declarations contradict the data.

    A column that declares nothing is never wrong: the report's marks are computed.

    Args:
        study: Its name.
        columns: Its columns, with the combinations declared to train on them.
        origins: Origins of columns and training sets.

    Raises:
        UserError: If a declared combination does not train on the column, or one that does is
            missing; names all of them.
    """
    found = [text for name, column in columns.items() for text in _false(name, column, origins)]
    if found:
        raise UserError(f"study {study}: {'; '.join(found)}")


def _false(name: str, column: SuiteTask, origins: StudyOrigins) -> Iterator[str]:
    if not column.trained:
        return
    is_trained = {
        key: connections(origins.columns[name], Shown(trained=training))
        for key, training in origins.training.items()
    }
    training = [key for key, found in is_trained.items() if Connection.TRAINED in found]
    for key, found in is_trained.items():
        if (key in column.trained) == (key in training):
            continue
        named = ", ".join(training)
        mend = f"write trained: [{named}], or leave it out" if training else "leave trained out"
        yield (
            f"suite.tasks.{name}.trained {'names' if key in column.trained else 'leaves out'} "
            f"combination {key}, {_why(found, origins.columns[name])}; {mend}: the report's marks "
            "are computed"
        )


def _why(found: Mapping[Connection, int], column: Origin) -> str:
    if rows := found.get(Connection.TRAINED):
        return f"which trains on what {rows} of the column's {column.rows} questions ask"
    connection = next(each for each in Connection if each in found)
    return f"which trains on no question of its kind (found: {connection})"
