"""All that is told about a run, gathered once. A run that lacks something is told with what there is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bique.analysis.geometry import RelationGeometry, relation_geometry
from bique.errors import UserError
from bique.evaluation import Evaluation, FrequencyBaseline, Interval, Metrics, bootstrap, evaluate
from bique.graph import Graph
from bique.graph.categories import relation_categories
from bique.models import MODELS, BiQUE, Model
from bique.runs import Run, run_names
from bique.shapes import Bool, Float

# multiplications of the baseline's ranking; above it a report would take minutes on a laptop
MOST_WORK = 10**12


@dataclass(frozen=True)
class Told:
    """A run with its model and its ranks of the test split, each None where `lacking` says what mends it."""

    run: Run
    label: str
    graph: Graph
    summary: dict[str, Any]
    model: Model | None
    evaluation: Evaluation | None
    lacking: list[str]
    baselines: dict[str, Evaluation]
    """By tie rule, shared by the runs of a report: ranking one may take longer than all the rest."""

    @property
    def model_name(self) -> str:
        return MODELS[self.run.config.model.name].__name__

    @cached_property
    def metrics(self) -> Metrics | None:
        return self.evaluation.metrics if self.evaluation else None

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        return self.evaluation.intervals(self.run.config.evaluation.resamples) if self.evaluation else {}

    @cached_property
    def by(self) -> dict[str, dict[str, Metrics]]:
        """Figures by direction, category and relation; nothing for a run without ranks."""
        return self.evaluation.breakdown(self.graph) if self.evaluation else {}

    @cached_property
    def mirrored(self) -> Bool[np.ndarray, "facts"]:
        """Which test facts training has the other way round."""
        return self.graph.mirrored("test")

    @cached_property
    def mrr_intervals(self) -> dict[str, dict[str, Interval]]:
        """Of the MRR in each part of `by`: a triple is drawn with both questions; in a direction it has only one."""
        if self.evaluation is None:
            return {}
        resamples = self.run.config.evaluation.resamples
        tail, head = 1 / self.evaluation.ranks.reshape(2, -1)
        relation, values = self.graph.test[:, 1], self.evaluation.per_triple("mrr")
        category = np.array(relation_categories(self.graph.train, self.graph.num_relations))[relation]
        parts = {
            "direction": {"tail": tail, "head": head},
            "category": {name: values[category == name] for name in self.by["category"]},
            "relation": {self.graph.relations[i]: values[relation == i] for i in np.unique(relation).tolist()},
        }
        return {
            kind: {name: bootstrap(part, resamples) for name, part in named.items()} for kind, named in parts.items()
        }

    @cached_property
    def directions(self) -> Float[Tensor, "entities width"]:
        """Every entity at unit length: what lies nearest points the same way."""
        assert self.model is not None
        with torch.no_grad():
            return functional.normalize(self.model.entities.float().cpu(), dim=1)

    @cached_property
    def baseline(self) -> Evaluation | None:
        """The no-learning baseline by the protocol of this run; None where it would take too long."""
        graph = self.graph
        work = 2 * len(graph.test) * graph.num_entities * graph.num_directed_relations
        if self.evaluation is None or not FrequencyBaseline.fits(graph) or work > MOST_WORK:
            return None
        ties = self.evaluation.protocol.ties
        if ties not in self.baselines:
            config = self.run.config.evaluation.model_copy(update={"ties": ties})
            self.baselines[ties] = evaluate(FrequencyBaseline(graph), graph, "test", config)
        return self.baselines[ties]

    @cached_property
    def learned(self) -> list[RelationGeometry] | None:
        """Of every relation, then of every inverse one. Only a BiQUE has biquaternions to read."""
        return relation_geometry(self.model, self.graph) if isinstance(self.model, BiQUE) else None


def gather(runs: list[Run], place: Path | None) -> list[Told]:
    """Runs of one graph; `place` is where it lies now, if it has moved."""
    graph = runs[0].graph(place)
    for run in runs[1:]:
        other = run.graph_record["hash"]
        if other != graph.hash:
            raise UserError(
                f"{run.path}: was trained on another graph ({other[:12]}) than {runs[0].path} ({graph.hash[:12]}); "
                "a report is about one graph, so give each its own"
            )
    baselines: dict[str, Evaluation] = {}
    return [_tell(run, label, graph, baselines) for run, label in zip(runs, run_names(runs), strict=True)]


def _tell(run: Run, label: str, graph: Graph, baselines: dict[str, Evaluation]) -> Told:
    lacking: list[str] = []
    if sentence := run.unfinished():
        lacking.append(sentence)
    model = evaluation = None
    try:
        model, _ = run.model(graph=graph)
    except UserError as error:
        lacking.append(str(error))
    if not len(graph.test):
        lacking.append(f"the test split of {graph.name} is empty, so there are no figures on it")
    else:
        try:
            evaluation = run.evaluation("test")
        except UserError as error:
            lacking.append(str(error))
    return Told(run, label, graph, run.summary(), model, evaluation, lacking, baselines)


def alike(told: list[Told]) -> list[list[Told]]:
    """The runs that have ranks, those with like protocols together: only they may stand side by side."""
    groups: list[list[Told]] = []
    for one in told:
        if one.evaluation is None:
            continue
        for group in groups:
            first = group[0].evaluation
            if first is not None and not first.protocol.differences(one.evaluation.protocol):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups
