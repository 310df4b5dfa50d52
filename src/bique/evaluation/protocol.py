"""How a number was made. Two numbers stand side by side only if their protocols are alike."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from bique.config import Ties
from bique.errors import UserError

# may differ between two numbers that are compared: they say which run it was, not how it was measured (of the graph
# the hash decides, not the name of its folder)
_OF_THE_RUN = ("dataset", "seed", "version")


@dataclass(frozen=True)
class Protocol:
    dataset: str
    graph_hash: str
    split: str
    filtered_by: tuple[str, ...]
    """The splits whose facts are removed from the candidates."""
    ties: Ties
    seed: int | None
    version: str
    directions: str = "both"
    candidates: str = "all entities"
    unseen_entities: str = "kept"

    def line(self) -> str:
        """The protocol in one line, for under a table."""
        filters = "+".join(self.filtered_by) or "nothing"
        return (
            f"{self.dataset} {self.split} ({self.graph_hash[:12]}) · both directions against {self.candidates} · "
            f"filtered by {filters} · ties {self.ties} · unseen entities {self.unseen_entities}"
        )

    def differences(self, other: Protocol) -> list[str]:
        """In words, what makes two protocols unlike."""
        names = [field.name for field in fields(self) if field.name not in _OF_THE_RUN]
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return [f"{name}: {_short(mine)} / {_short(theirs)}" for name, mine, theirs in pairs if mine != theirs]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.as_dict())

    @classmethod
    def from_json(cls, text: str) -> Protocol:
        try:
            values: dict[str, Any] = json.loads(text)
            values["filtered_by"] = tuple(values["filtered_by"])
            return cls(**values)
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"the protocol saved with these ranks cannot be read ({error}); evaluate again") from error


def _short(value: object) -> str:
    """A hash by its first twelve digits."""
    return str(value)[:12] if len(str(value)) == 64 else str(value)
