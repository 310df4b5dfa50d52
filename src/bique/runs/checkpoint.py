"""Checkpoints: safetensors with a small JSON beside the tensors, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from bique.atomic import atomic_path, disk_errors
from bique.errors import UserError

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """Named tensors and what they mean."""

    tensors: dict[str, Tensor]
    record: dict[str, Any]

    def group(self, prefix: str) -> dict[str, Tensor]:
        """The tensors named `prefix/…`, without the prefix."""
        start = f"{prefix}/"
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    record = json.dumps({"format": FORMAT, **checkpoint.record})
    with disk_errors(path):
        path.parent.mkdir(exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.touch()  # the disk's own error, if nothing may be written here
        try:
            save_file(tensors, temporary, metadata={"bique": record})
        except SafetensorError as error:  # it hides that error in its text
            raise UserError(f"{path}: could not be saved ({error}); is the disk full?") from error


def read_checkpoint(path: Path, *wanted: str) -> Checkpoint:
    """`wanted`: what its record must have; a checkpoint of another kind under this name has not."""
    with _opened(path, wanted) as (file, record):
        return Checkpoint({name: file.get_tensor(name) for name in file.keys()}, record)  # noqa: SIM118  (not a dict)


def read_record(path: Path, *wanted: str) -> dict[str, Any]:
    """Only the JSON: the tensors stay on the disk."""
    with _opened(path, wanted) as (_, record):
        return record


@contextmanager
def _opened(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[Any, dict[str, Any]]]:
    try:
        with safe_open(path, framework="pt") as file:
            record = json.loads((file.metadata() or {})["bique"])
            if not isinstance(record, dict):
                raise ValueError("its record is not an object")
            if record.get("format") != FORMAT:
                raise UserError(f"{path}: checkpoint format {record.get('format')!r}; this version reads {FORMAT}")
            if missing := [key for key in wanted if key not in record]:
                raise UserError(f"{path}: is not the file that belongs here (it has no {missing[0]!r}); restore it")
            yield file, record
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such checkpoint") from None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise UserError(f"{path}: not a checkpoint of this program, or damaged ({error})") from error
