"""Embeddings with their names, for other programs: .npy, .parquet or .tsv."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from bique.atomic import atomic_path, write_bytes
from bique.errors import UserError, unknown
from bique.runs import Run
from bique.serving.tabular import refuse_unless_tabular

FORMATS = (".npy", ".parquet", ".tsv")


def export_embeddings(run: Run, destination: Path, what: str = "entities", graph: Path | None = None) -> list[Path]:
    """Write entities or relations as the model uses them. The second half of the relations are the inverse ones.

    BiQUE's row is 8·units reals in the layout (4, units, 2): w, x, y, z; each unit's real and imaginary part. Its
    relation row is Q^×, then Q⁺ where the model translates. Beside .npy stands a .names.txt with a JSON string per row.
    A .parquet has the labels that the run has kept, too, null where an entity has none. `graph`: where it is, if it has
    moved and the model passes messages along its facts.
    """
    model, _ = run.model(graph=None if graph is None else run.graph(graph))
    labels = None
    if what == "entities":
        table, names = model.entities.numpy(), list(run.names.entities)
        if run.names.labels is not None:
            labels = [run.names.label(entity) for entity in range(len(names))]
    elif what == "relations":
        table = model.relations.detach().numpy()
        names = [run.names.relation_name(i) for i in range(run.names.num_directed_relations)]
    else:
        raise unknown("table", what, ("entities", "relations"))
    if destination.suffix not in FORMATS:
        raise UserError(f"{destination}: the ending says the format; choose one of {', '.join(FORMATS)}")
    if destination.suffix == ".parquet":
        return _parquet(destination, names, labels, table)
    return (_npy if destination.suffix == ".npy" else _tsv)(destination, names, table)


def _npy(path: Path, names: list[str], table: np.ndarray) -> list[Path]:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.save(file, table)
    names_path = path.with_suffix(".names.txt")
    with atomic_path(names_path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(name, ensure_ascii=False) + "\n" for name in names)
    return [path, names_path]


def _parquet(path: Path, names: list[str], labels: list[str | None] | None, table: np.ndarray) -> list[Path]:
    import polars

    told = {} if labels is None else {"label": polars.Series(labels, dtype=polars.String)}
    frame = polars.DataFrame({"name": names, **told, "embedding": table})
    content = io.BytesIO()
    frame.write_parquet(content)
    write_bytes(path, content.getvalue())
    return [path]


def _tsv(path: Path, names: list[str], table: np.ndarray) -> list[Path]:
    refuse_unless_tabular(path, names, "use .parquet or .npy")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for name, row in zip(names, table, strict=True):
            file.write(name + "\t" + "\t".join(str(value) for value in row) + "\n")
    return [path]
