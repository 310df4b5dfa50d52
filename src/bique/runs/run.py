"""A run: config.toml, environment.json, metrics.jsonl, log.txt, vocabulary/, checkpoints/ and evaluations/."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, get_args

import numpy as np
import torch

from bique.atomic import atomic_directory, disk_errors, refuse_unless_text, write_text
from bique.config import RunConfig, Ties, dump_config, load_config
from bique.errors import DivergedError, UserError, unknown
from bique.evaluation import Evaluation, Protocol, Ranking, evaluate
from bique.graph import SPLITS, Graph, Labels, Vocabulary
from bique.graph.catalog import locate
from bique.graph.download import Progress
from bique.models import MODELS, Model, build_model
from bique.runs.checkpoint import Checkpoint, read_checkpoint, read_record, write_checkpoint
from bique.runs.environment import environment
from bique.runs.places import free_path, lock
from bique.runs.records import is_number, read_figures, read_json

# the line of the log that tells so
DIVERGED = "diverged:"
# what is computed stays as it is from the first step to the last: else the settings of a run would not be those it was
# trained with. How exactly (precision, engine) may follow the machine that a run goes on with.
FIXED = {
    "model": True,
    "objective": True,
    "penalty": True,
    "optimizer": True,
    "training": {"seed", "batch_size"},
    "evaluation": {"ties"},  # by which the best was chosen
}
# of a run's config.toml, which has every setting: a default must never take the place of one that was lost
SECTIONS = [name for name in RunConfig.model_fields if name not in ("dataset", "graph")]


@dataclass(frozen=True)
class Run:
    path: Path
    config: RunConfig

    # making and opening --------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, config: RunConfig, graph: Graph, path: Path | None = None) -> Run:
        """A new directory that holds all that the run needs but its graph."""
        if config.graph is not None:
            place = config.graph.resolve()
            refuse_unless_text(place)
            config = config.model_copy(update={"graph": place})
        graph.verify()
        while path is None:
            free = free_path(Path("runs"), f"{graph.name}-{config.model.name}")
            try:
                return cls.create(config, graph, free)
            except UserError:
                if not free.exists():  # else another process has taken the name meanwhile
                    raise
        with atomic_directory(path) as directory:
            (directory / "config.toml").write_text(dump_config(config), encoding="utf-8")
            (directory / "environment.json").write_text(json.dumps(environment(), indent=2), encoding="utf-8")
            for folder in ("checkpoints", "evaluations", "vocabulary"):
                (directory / folder).mkdir()
            graph.entities.save(directory / "vocabulary", "entities")
            graph.relations.save(directory / "vocabulary", "relations")
            if graph.labels is not None:
                graph.labels.save(directory / "vocabulary")
            record = {"name": graph.name, "hash": graph.hash, **graph.counts()}
            (directory / "vocabulary" / "graph.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str) -> Run:
        path = Path(path)
        file = path / "config.toml"
        if not file.is_file():
            what = "is not a run (no config.toml in it)" if path.is_dir() else "does not exist"
            raise UserError(f"{path}: {what}; make a run with: bique train --dataset wordnet")
        config = load_config(file)
        if lost := [name for name in SECTIONS if name not in config.model_fields_set]:
            raise UserError(f"{file}: has no [{lost[0]}], so it was cut off or edited; write back what was there")
        return cls(path, config)

    # the graph -----------------------------------------------------------------------------------------------------

    @cached_property
    def graph_record(self) -> dict[str, Any]:
        """Name, hash and counts of the graph this run was trained on."""
        file = self.path / "vocabulary" / "graph.json"
        record = read_json(file)
        kinds = {"hash": str, "name": str, **dict.fromkeys(SPLITS, int)}
        if not all(isinstance(record.get(key), kind) for key, kind in kinds.items()):
            raise UserError(f"{file}: does not describe the graph; the run is damaged")
        return record

    @cached_property
    def names(self) -> Graph:
        """The graph's names and labels without its facts: enough to answer when the graph is elsewhere."""
        folder, none = self.path / "vocabulary", np.zeros((0, 3), dtype=np.int32)
        origin = {"name": self.graph_record["name"]}
        entities, relations = Vocabulary.open(folder, "entities"), Vocabulary.open(folder, "relations")
        labels = Labels.open(folder, len(entities))
        return Graph(entities, relations, none, none, none, origin, labels=labels)

    def graph(self, path: Path | None = None) -> Graph:
        """The graph of the run (or the one at `path`), refused if it is not the one the run was trained on.

        Its labels may have been added or corrected since; where it has none, those that the run has kept are shown.
        """
        if path is None and self.config.graph is not None and not self.config.graph.exists():
            raise UserError(f"the graph of {self.path} is no longer at {self.config.graph}; say where with --graph")
        graph = open_graph(self.config) if path is None else Graph.open(path)
        graph.verify()
        if graph.hash != self.graph_record["hash"]:
            raise UserError(
                f"{graph.path}: holds another graph ({graph.hash[:12]}) than {self.path} was trained on "
                f"({self.graph_record['hash'][:12]}); give the right one with --graph"
            )
        kept = Labels.open(self.path / "vocabulary", graph.num_entities) if graph.labels is None else None
        return graph if kept is None else replace(graph, labels=kept)

    def remember(self, **facts: str) -> None:
        """Add what is known only once training starts to the record of versions and hardware."""
        file = self.path / "environment.json"
        write_text(file, json.dumps(read_json(file) | facts, indent=2))

    # checkpoints and the model -------------------------------------------------------------------------------------

    @property
    def last(self) -> Path:
        return self.path / "checkpoints" / "last.safetensors"

    @property
    def best(self) -> Path:
        return self.path / "checkpoints" / "best.safetensors"

    def write(self, file: Path, checkpoint: Checkpoint) -> None:
        """`last` or `best`, with what it was made of: tables of another model may have the same shapes."""
        record = {**checkpoint.record, "made_of": self._made_of}
        write_checkpoint(file, Checkpoint(checkpoint.tensors, record))

    def read_last(self) -> Checkpoint:
        return self._read_own(self.last, "place")

    @property
    def _made_of(self) -> dict[str, Any]:
        settings = self.config.model_dump(mode="json", include=FIXED)
        return {"graph": self.graph_record["hash"], **settings}

    def _read_own(self, file: Path, *wanted: str) -> Checkpoint:
        checkpoint, ours = read_checkpoint(file, *wanted), self._made_of
        theirs = checkpoint.record.get("made_of", ours)  # older versions did not say
        if not (isinstance(theirs, dict) and {"graph", "model"} <= theirs.keys()) or not all(
            isinstance(theirs.get(name, {}), dict) for name in FIXED
        ):
            raise UserError(f"{file}: does not say what it was made of; it is damaged, restore it")
        if theirs["graph"] != ours["graph"]:
            raise UserError(f"{file}: was trained on another graph than this run; restore the run's own")
        for name in FIXED:
            for key, value in theirs.get(name, {}).items():
                if ours[name].get(key) != value:
                    asked = f"config.toml has {ours[name].get(key)!r}"
                    raise UserError(f"{file}: was trained with {name}.{key} = {value!r}, {asked}; set it back")
        return checkpoint

    def model(self, device: str = "cpu", graph: Graph | None = None) -> tuple[Model, dict[str, Any]]:
        """The best model, ready to answer, and the record of its checkpoint. `graph`: the run's, if it is at hand."""
        if not self.best.exists():
            raise UserError(f"{self.path}: has no best checkpoint yet; {self.remedy}")
        checkpoint = self._read_own(self.best, "epoch")
        kind = MODELS[self.config.model.name]
        # most models answer without their graph; one that passes messages along its facts cannot
        source = (graph or self.graph()) if kind.needs_facts else self.names
        model = build_model(self.config.model, source, seed=0)
        tables = checkpoint.group("model")
        if not all(bool(torch.isfinite(table).all()) for table in tables.values()):
            raise UserError(f"{self.best}: holds numbers that are not finite; was it damaged? Train the run anew")
        model.load_tables(tables)
        return model.to(device).eval().requires_grad_(False), checkpoint.record

    # metrics and log -----------------------------------------------------------------------------------------------

    def append_metrics(self, record: dict[str, Any]) -> None:
        self._append("metrics.jsonl", json.dumps(record))

    def log(self, line: str) -> None:
        self._append("log.txt", f"{datetime.now(UTC).isoformat(timespec='seconds')} {line}")

    def log_divergence(self, error: DivergedError) -> None:
        self.log(f"{DIVERGED} {error}")

    @property
    def diverged(self) -> bool:
        """Whether that was how training ended: it would again."""
        file = self.path / "log.txt"
        with disk_errors(file):
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
        return bool(lines) and DIVERGED in lines[-1]

    @property
    def remedy(self) -> str:
        """What to do with a run that is not finished."""
        if self.diverged:
            return "it diverged and would again: train anew, with a smaller optimizer.learning_rate for example"
        return f"go on with: bique resume {quote(str(self.path))}"

    def _append(self, name: str, line: str) -> None:
        with disk_errors(self.path / name), (self.path / name).open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """One record per epoch. A line that a killed process left half-written is not one."""
        file = self.path / "metrics.jsonl"
        with disk_errors(file):
            lines = file.read_bytes().splitlines() if file.exists() else []
        records: list[Any] = []
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                records.append(json.loads(line))
        return [
            one for one in records if isinstance(one, dict) and "epoch" in one and all(map(is_number, one.values()))
        ]

    def forget_after(self, epoch: int) -> None:
        """Drop the records of epochs that will be trained again."""
        kept = [json.dumps(record) + "\n" for record in self.metrics() if record["epoch"] <= epoch]
        write_text(self.path / "metrics.jsonl", "".join(kept))

    # evaluations ---------------------------------------------------------------------------------------------------

    def rank(self, graph: Graph, split: str = "test", ties: Ties | None = None, device: str = "cpu") -> Evaluation:
        """Rank a split with the best model, and keep ranks (for paired comparisons) and figures with the run."""
        model, record = self.model(device, graph)
        config = self.config.evaluation.model_copy(update={"ties": ties} if ties else {})
        evaluation = evaluate(model, graph, split, config, self.config.training.seed)
        self.save_evaluation(evaluation, evaluation.as_dict(graph, config.resamples), record["epoch"])
        return evaluation

    def save_evaluation(self, evaluation: Evaluation, summary: dict[str, Any], epoch: int | None = None) -> None:
        """`epoch`: of the checkpoint that was ranked; the ranks count only as long as it is the best one."""
        split = evaluation.protocol.split
        counts = {
            name: torch.from_numpy(getattr(evaluation.ranking, name).astype(np.int64))
            for name in ("better", "equal", "candidates")
        }
        record = {"protocol": evaluation.protocol.to_json(), "epoch": epoch}
        write_checkpoint(self.path / "evaluations" / f"{split}.safetensors", Checkpoint(counts, record))
        write_text(self.path / "evaluations" / f"{split}.json", json.dumps(summary, indent=2, ensure_ascii=False))

    def evaluation(self, split: str) -> Evaluation:
        """The ranks that are kept; refused when training has since found a better model."""
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        if not self.graph_record[split]:
            raise UserError(f"{self.path}: the {split} split of its graph is empty; there is nothing to rank")
        again = self._rank_again(split)
        file = self.path / "evaluations" / f"{split}.safetensors"
        if not file.exists():
            raise UserError(f"{self.path}: not ranked on {split} yet; do it with: {again}")
        saved = read_checkpoint(file)
        if saved.tensors.keys() != {"better", "equal", "candidates"} or "protocol" not in saved.record:
            raise UserError(f"{file}: does not hold ranks; rank again with: {again}")
        ranked, best = self._epochs_of(split)
        if best != ranked:
            raise UserError(f"{self.path}: the ranks are of epoch {ranked}, the best is now {best}; {again}")
        counts = {name: tensor.numpy() for name, tensor in saved.tensors.items()}
        protocol = Protocol.from_json(saved.record["protocol"])
        if not self._fit(list(counts.values()), protocol, split):
            raise UserError(f"{file}: these ranks do not fit this run and its graph; rank again with: {again}")
        return Evaluation(protocol, Ranking(**counts))

    def _epochs_of(self, split: str) -> tuple[int | None, int | None]:
        """Of the ranks that are kept, and of the best model; figures of another model are figures of another run."""
        file = self.path / "evaluations" / f"{split}.safetensors"
        ranked = read_record(file).get("epoch") if file.exists() else None
        return ranked, self._best_epoch if self.best.exists() else ranked

    @property
    def _best_epoch(self) -> int | None:
        """Of the best model that is kept: in training, and after a kill, the records are ahead of it."""
        return read_record(self.best).get("epoch") if self.best.exists() else None

    def _rank_again(self, split: str) -> str:
        return f"bique evaluate {quote(str(self.path))} --split {split}"

    def _fit(self, counts: list[np.ndarray], protocol: Protocol, split: str) -> bool:
        """Whether ranks are whole numbers of this split, two for each fact."""
        shape = (2 * self.graph_record[split],)
        whole = all(part.dtype.kind in "iu" and part.shape == shape and (part >= 0).all() for part in counts)
        ours = (protocol.graph_hash, protocol.split) == (self.graph_record["hash"], split)
        return whole and ours and protocol.ties in get_args(Ties)

    def unfinished(self) -> str | None:
        """A sentence for a run that was stopped before its end; None for one that reached it."""
        done, options = self.metrics(), self.config.training
        epoch, wanted = done[-1]["epoch"] if done else 0, options.epochs
        best = next((one["best_epoch"] for one in reversed(done) if "best_epoch" in one), epoch)
        out_of_patience = options.patience is not None and epoch - best >= options.patience * options.validate_every
        if epoch >= wanted or out_of_patience:
            return None
        return f"this run was stopped after epoch {epoch} of {wanted}; {self.remedy}"

    def summary(self) -> dict[str, Any]:
        """Settings, progress, hardware and figures of the run: what a file of results holds."""
        metrics = self.metrics()
        kept = self._best_epoch
        best = next((one for one in metrics if "valid_mrr" in one and one["epoch"] == kept), None)
        return {
            "model": self.config.model.name,
            "graph": self.graph_record,
            "settings": self.config.model_dump(mode="json", exclude_none=True),
            "seed": self.config.training.seed,
            "epochs": metrics[-1]["epoch"] if metrics else 0,
            "seconds": metrics[-1].get("seconds", 0.0) if metrics else 0.0,
            "best_validation": best,
            "curve": [one for one in metrics if "valid_mrr" in one],
            "environment": read_json(self.path / "environment.json"),
            "evaluations": {
                file.stem: read_figures(file, f"rank again with: {self._rank_again(file.stem)}")
                for file in sorted((self.path / "evaluations").glob("*.json"))
                if len(set(self._epochs_of(file.stem))) == 1
            },
        }

    # one writer at a time ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Two processes that train one run would write over each other. A killed process leaves no lock behind."""
        with disk_errors(self.path):
            file = (self.path / ".lock").open("w")
        with file:
            if not lock(file):
                raise UserError(f"{self.path}: another process is training this run")
            yield

    def remove_leftovers(self) -> None:
        """What a killed process was writing; call it only under the lock."""
        for pattern in (".*.part", ".tmp*"):  # safetensors writes into a file of its own first
            for file in (self.path / "checkpoints").glob(pattern):
                file.unlink(missing_ok=True)


def open_graph(config: RunConfig, progress: Progress | None = None) -> Graph:
    """The graph that a configuration names, fetched if need be."""
    if config.graph is not None:
        return Graph.open(config.graph)
    assert config.dataset is not None
    return locate(config.dataset, progress)
