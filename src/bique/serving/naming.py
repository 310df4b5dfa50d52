"""What a user calls an entity or a relation, and what it is shown as."""

from __future__ import annotations

import heapq
import unicodedata
from dataclasses import dataclass

from rich.text import Text

from bique.errors import UserError, cut, shown
from bique.graph import Graph
from bique.graph.labels import with_label

# so many are listed when a name fits none, or a label several
LISTED = 5


@dataclass(frozen=True)
class Named:
    """An entity or a relation: the name that identifies it, and its label where it has one."""

    name: str
    label: str | None = None

    def text(self) -> Text:
        """The label first, the name dimmed beside it: labels need not be unique."""
        if self.label is None or self.label == self.name:
            return Text(shown(self.name))
        return Text.assemble(shown(cut(self.label)), (f" ({shown(self.name)})", "dim"))


def entity_named(names: Graph, entity: int) -> Named:
    return Named(names.entities[entity], names.label(entity))


def find_relation(names: Graph, name: str, place: str) -> int:
    """`place`: where it was asked, as `file:line: `."""
    found = names.relations.find(name)
    if found is None:
        near = [shown(names.relations[i]) for _, i in names.relations.nearest(name, LISTED)]
        raise UserError(f"{place}no relation is called {_quoted(name)}; {_hint(name, near)}")
    return found


def find_entity(names: Graph, name: str, place: str) -> int:
    """The entity of that name; else, where no entity has it, the only one with that label."""
    found = names.entities.find(name)
    if found is not None:
        return found
    labelled = names.labels.find(name) if names.labels is not None else []
    if len(labelled) == 1:
        return labelled[0]
    if labelled:
        some = ", ".join(shown(names.entities[i]) for i in labelled[:LISTED])
        more = ", …" if len(labelled) > LISTED else ""
        raise UserError(
            f"{place}{len(labelled)} entities have the label {_quoted(name)}: {some}{more}; give the id of one"
        )
    near = [with_label(names.entities[i], names.label(i)) for i in _nearest(names, name)]
    raise UserError(f"{place}no entity is called {_quoted(name)}; {_hint(name, near)}")


def _nearest(names: Graph, name: str) -> list[int]:
    """The entities whose name or whose label is most like it."""
    likeness: dict[int, float] = {}
    labels = names.labels.nearest(name, LISTED) if names.labels is not None else []
    for like, entity in [*names.entities.nearest(name, LISTED), *labels]:
        likeness[entity] = max(like, likeness.get(entity, 0))
    return heapq.nlargest(LISTED, likeness, key=likeness.__getitem__)


def _quoted(name: str) -> str:
    return repr(cut(name))


def _hint(name: str, near: list[str]) -> str:
    if not near:
        return "nothing is near it"
    # as é, or as e and an accent behind it: on a screen the same
    alike = unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", near[0])
    why = f"; {near[0]} looks the same but is other characters, so copy it from here" if alike else ""
    return f"the nearest are: {', '.join(near)}{why}"
