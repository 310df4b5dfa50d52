"""bique models"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    from bique.models.catalog import Card


def models(
    name: Annotated[str | None, typer.Argument(help="One model: its settings, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models: formula, reals per entity and relation, published regime, reference.

    [dim]Example:[/] bique models complex
    """
    from rich.text import Text

    from bique.cli.screen import print_json, screen
    from bique.cli.tables import plain_table
    from bique.config import describe
    from bique.errors import unknown
    from bique.models import MODELS

    if name is not None and name not in MODELS:
        raise unknown("model", name, MODELS)
    cards = [_card(one) for one in MODELS if name in (None, one)]
    settings = [row for row in describe() if row.model == name] if name else []
    if as_json:
        rows = [{"key": row.key, "default": row.default, "meaning": row.meaning} for row in settings]
        print_json([card._asdict() | ({"settings": rows} if name else {}) for card in cards])
        return
    for card in cards:
        screen.print(Text.assemble((f"{card.name}", "bold"), f"  {card.formula}"), soft_wrap=True)
        widths = f"{card.entity_width} reals per entity, {card.relation_width} per relation at units = {card.units}"
        for line in (widths, card.regime, card.reference):
            screen.print(Text(f"  {line}", style="dim"), soft_wrap=True)
    if settings:
        table = plain_table(f"Settings of [model] with name = {name!r}")
        for heading in ("key", "default", "meaning"):
            table.add_column(heading, overflow="fold")
        for row in settings:
            table.add_row(Text(row.key), Text(str(row.default)), Text(row.meaning))
        screen.print(table)


def _card(name: str) -> Card:
    """With the model's default settings, over a graph of two entities: widths do not depend on the graph."""
    import numpy as np
    import torch

    from bique.config import parse_config
    from bique.models import MODELS, Size
    from bique.models.catalog import card

    config = parse_config({"dataset": "none", "model": {"name": name}}).model
    facts = np.array([[0, 0, 1], [1, 1, 0]], dtype=np.int32)
    return card(name, MODELS[name](config, Size(2, 2, facts), torch.Generator()), config.units)
