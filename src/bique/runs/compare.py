"""Runs side by side on the same questions, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bique.errors import UserError
from bique.evaluation import Evaluation, paired_bootstrap
from bique.evaluation.metrics import MEANS
from bique.evaluation.significance import PairedDifference
from bique.runs.run import Run


@dataclass(frozen=True)
class Comparison:
    """Each run's evaluation, and how each later run differs from the first in each metric."""

    runs: list[Run]
    evaluations: list[Evaluation]
    differences: list[dict[str, PairedDifference]]

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {"run": str(run.path), "metrics": evaluation.metrics.as_dict()}
            for run, evaluation in zip(self.runs, self.evaluations, strict=True)
        ]
        for row, difference in zip(rows[1:], self.differences, strict=True):
            row["difference"] = {name: found._asdict() for name, found in difference.items()}
        return {"protocol": self.evaluations[0].protocol.as_dict(), "runs": rows}


def run_names(runs: list[Run]) -> list[str]:
    """What to call runs side by side: their folders, or their whole paths where two folders have one name."""
    names = [run.path.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]


def measured_alike(runs: list[Run], split: str) -> list[Evaluation]:
    """The evaluations that are kept with the runs, refused where one has another protocol than the first."""
    evaluations = [run.evaluation(split) for run in runs]
    first = evaluations[0]
    for run, evaluation in zip(runs[1:], evaluations[1:], strict=True):
        unlike = first.protocol.differences(evaluation.protocol)
        if unlike:
            raise UserError(f"{runs[0].path} and {run.path} were not measured alike ({'; '.join(unlike)})")
    return evaluations


def compare(runs: list[Run], split: str = "test", resamples: int = 10_000) -> Comparison:
    """A paired bootstrap of every run against the first; unlike protocols are refused."""
    evaluations = measured_alike(runs, split)
    first = evaluations[0]
    differences = [
        {name: paired_bootstrap(first.per_triple(name), other.per_triple(name), resamples) for name in MEANS}
        for other in evaluations[1:]
    ]
    return Comparison(runs, evaluations, differences)
