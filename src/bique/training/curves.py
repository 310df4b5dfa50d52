"""The curves of a run for TensorBoard (extra 'tensorboard')."""

from __future__ import annotations

from typing import Any

from bique.errors import missing_extra
from bique.runs import Run


class Curves:
    """Every number of metrics.jsonl as a scalar over epochs, in `tensorboard/` inside the run."""

    def __init__(self, run: Run, epoch: int) -> None:
        """`epoch`: where training goes on; what an earlier sitting wrote after it is hidden."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "tensorboard", "training.tensorboard = true") from None
        self._writer = SummaryWriter(str(run.path / "tensorboard"), purge_step=epoch + 1)

    def add(self, record: dict[str, Any]) -> None:
        for name, value in record.items():
            if name != "epoch":
                self._writer.add_scalar(name, value, record["epoch"])
        self._writer.flush()
