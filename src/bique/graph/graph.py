"""A graph is a directory: int32 triples per split (memory-mapped), two vocabularies, labels or none, a small JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from bique.atomic import atomic_directory
from bique.errors import UserError, unknown
from bique.graph.answers import Answers
from bique.graph.labels import Labels
from bique.graph.vocabulary import Vocabulary
from bique.shapes import Bool, Int

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Triples = Int[np.ndarray, "_ 3"]
FORMAT = 1


@dataclass(frozen=True)
class Graph:
    """Facts (head, relation, tail) as ids, in three splits, with the names of the ids.

    Relation ids from `num_relations` on are the inverse ones: `inverse(r)` and nobody else knows how they are numbered.
    """

    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    origin: dict[str, Any] = field(default_factory=dict[str, Any])
    path: Path | None = None
    labels: Labels | None = None

    @property
    def name(self) -> str:
        return str(self.origin.get("name") or (self.path.name if self.path else "graph"))

    @property
    def num_entities(self) -> int:
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """The relations that have names; with their inverses there are twice as many."""
        return len(self.relations)

    @property
    def num_directed_relations(self) -> int:
        """The relations and their inverses."""
        return 2 * self.num_relations

    def split(self, name: str) -> Triples:
        if name not in SPLITS:
            raise unknown("split", name, SPLITS)
        return cast("Triples", getattr(self, name))

    # inverse relations ---------------------------------------------------------------------------------------------

    def inverse(self, relation: Any) -> Any:
        """The id of r⁻¹, for a number or an array; inverse(inverse(r)) = r."""
        return (relation + self.num_relations) % self.num_directed_relations

    def inverted(self, triples: Triples) -> Triples:
        """(t, r⁻¹, h) for each (h, r, t): a question for the head becomes one for the tail."""
        return np.stack([triples[:, 2], self.inverse(triples[:, 1]), triples[:, 0]], axis=1)

    def both_directions(self, triples: Triples) -> Triples:
        """The triples, then their inverted ones in the same order."""
        return np.concatenate([triples, self.inverted(triples)])

    def relation_name(self, relation: int) -> str:
        """The name of a relation, with ⁻¹ behind it for an inverse one."""
        if relation < self.num_relations:
            return self.relations[relation]
        return f"{self.relations[self.inverse(relation)]}⁻¹"

    def label(self, entity: int) -> str | None:
        """What people call an entity; None where nothing but its name is known."""
        return None if self.labels is None else self.labels.of(entity)

    @cached_property
    def answers(self) -> Answers:
        """The known answers of every query in both directions, over all splits."""
        facts = np.concatenate([self.split(name) for name in SPLITS])
        return Answers.from_triples(self.both_directions(facts), self.num_directed_relations)

    @cached_property
    def degrees(self) -> Int[np.ndarray, "entities"]:
        """How many training facts each entity takes part in, a self-loop counted twice."""
        return np.bincount(self.train[:, [0, 2]].ravel(), minlength=self.num_entities)

    def mirrored(self, split: str) -> Bool[np.ndarray, "facts"]:
        """Which facts (h, r, t) of a split have their mirror image (t, r, h) in train."""
        known: set[tuple[int, int, int]] = {(h, r, t) for h, r, t in self.train.tolist()}
        return np.array([(t, r, h) in known for h, r, t in self.split(split).tolist()], dtype=bool)

    # the directory -------------------------------------------------------------------------------------------------

    @cached_property
    def hash(self) -> str:
        """sha256 over names and triples, not labels: two graphs with one hash give the same numbers."""
        recorded = self.origin.get("hash")
        if self.path is not None and isinstance(recorded, str):
            return recorded
        return self.content_hash()

    def content_hash(self) -> str:
        """Computed from the content, whatever is recorded."""
        digest = hashlib.sha256()
        for vocabulary in (self.entities, self.relations):
            for part in vocabulary.digest_parts():
                digest.update(part)
        for name in SPLITS:
            triples = self.split(name)
            digest.update(len(triples).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(triples, dtype="<i4").tobytes())
        return digest.hexdigest()

    def verify(self) -> None:
        """Refuse files that were changed after the import: their hash would vouch for other facts."""
        if self.path is not None and self.content_hash() != self.hash:
            raise UserError(
                f"{self.path}: its files have changed since it was made (the hash is wrong); import it again"
            )

    def counts(self) -> dict[str, int]:
        sizes = {name: len(self.split(name)) for name in SPLITS}
        return {"entities": self.num_entities, "relations": self.num_relations, **sizes}

    def save(self, path: Path) -> Graph:
        """Write the directory (it appears only when complete) and open it."""
        with atomic_directory(path) as directory:
            self.write(directory)
        return Graph.open(path)

    def write(self, directory: Path) -> None:
        """Fill a directory that is there already, beside whatever else is put into it."""
        origin = {key: value for key, value in self.origin.items() if key != "hash"}
        record = {"format": FORMAT, "counts": self.counts(), "hash": self.content_hash(), "origin": origin}
        for name in SPLITS:
            np.save(directory / f"{name}.npy", np.ascontiguousarray(self.split(name), dtype=np.int32))
        self.entities.save(directory, "entities")
        self.relations.save(directory, "relations")
        if self.labels is not None:
            self.labels.save(directory)
        (directory / "graph.json").write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def open(cls, path: Path | str) -> Graph:
        path = Path(path)
        record = _read_record(path)
        entities, relations = Vocabulary.open(path, "entities"), Vocabulary.open(path, "relations")
        splits = {name: _open_triples(path / f"{name}.npy", len(entities), len(relations)) for name in SPLITS}
        origin = {**record["origin"], "hash": record["hash"]}
        graph = cls(entities, relations, **splits, origin=origin, path=path, labels=Labels.open(path, len(entities)))
        recorded = record.get("counts")
        if graph.counts() != recorded:
            raise UserError(f"{path}: graph.json counts {recorded}, the files hold {graph.counts()}; import again")
        return graph


def _read_record(path: Path) -> dict[str, Any]:
    file = path / "graph.json"
    if not file.is_file():
        what = "does not exist"
        if path.exists():
            what = "is not a graph directory (no graph.json in it)" if path.is_dir() else "is a file, not a graph"
        raise UserError(f"{path}: {what}; make one with: bique import SOURCE {path}")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        known = record["format"] == FORMAT and isinstance(record["hash"], str) and isinstance(record["origin"], dict)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({error}); import the graph again") from error
    if not known:
        what = f"found format {record['format']!r}, this version reads format {FORMAT} with a hash and an origin"
        raise UserError(f"{file}: {what}; import the graph again")
    return cast("dict[str, Any]", record)


def _open_triples(file: Path, num_entities: int, num_relations: int) -> Triples:
    try:
        triples = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a whole .npy file"
        raise UserError(f"{file}: cannot be read ({reason}); import the graph again") from error
    if triples.dtype != np.int32 or triples.ndim != 2 or triples.shape[1] != 3:
        raise UserError(f"{file}: expected int32 triples (n, 3), found {triples.dtype} {triples.shape}; import again")
    if len(triples):
        # three passes over columns: numpy is slow at reducing rows of three
        entity, relation = max(triples[:, 0].max(), triples[:, 2].max()), triples[:, 1].max()
        if triples.min() < 0 or entity >= num_entities or relation >= num_relations:
            raise UserError(f"{file}: an id lies outside the vocabulary; the file is damaged, import the graph again")
    return triples
