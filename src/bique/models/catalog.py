"""What there is to know about each model, for people: formula, size, the regime it was published with, the paper."""

from __future__ import annotations

from typing import NamedTuple

from bique.errors import UserError
from bique.models import MODELS, Model


class Card(NamedTuple):
    name: str
    formula: str
    entity_width: int
    relation_width: int
    units: int
    """The widths are those of a model with so many units."""
    regime: str
    reference: str


# the regime of the publication, and where it appeared
PUBLISHED = {
    "bique": ("softmax over all candidates, group N3", "Guo and Kok, EMNLP 2021"),
    "transe": ("margin, sampled negatives", "Bordes et al., NeurIPS 2013"),
    "distmult": ("margin, sampled negatives", "Yang et al., ICLR 2015"),
    "complex": ("softmax over all candidates, N3", "Trouillon et al., ICML 2016; Lacroix et al., ICML 2018"),
    "rotate": ("self-adversarial negatives", "Sun et al., ICLR 2019"),
    "quate": ("softmax over all candidates, N3", "Zhang et al., NeurIPS 2019"),
    "duale": ("logistic, sampled negatives, L2", "Cao et al., AAAI 2021"),
    "conve": ("binary over all candidates (1-N)", "Dettmers et al., AAAI 2018"),
    "interacte": ("binary over all candidates (1-N)", "Vashishth et al., AAAI 2020"),
    "convtranse": ("binary over all candidates (1-N)", "Shang et al., AAAI 2019"),
    "compgcn": ("binary over all candidates (1-N)", "Vashishth et al., ICLR 2020"),
    "murp": ("logistic, sampled negatives", "Balažević et al., NeurIPS 2019"),
    "roth": ("logistic, sampled negatives", "Chami et al., ACL 2020"),
    "refh": ("logistic, sampled negatives", "Chami et al., ACL 2020"),
    "atth": ("logistic, sampled negatives", "Chami et al., ACL 2020"),
}


def card(name: str, model: Model, units: int) -> Card:
    """Of a model that was built with so many units."""
    said = MODELS[name].__doc__
    if said is None:
        raise UserError("a model's formula is its docstring, and python -OO leaves those out; use python or python -O")
    formula = said.splitlines()[0].removeprefix("score(h, r, t) = ").rstrip(".")
    return Card(name, formula, model.entity_width, model.relation_width, units, *PUBLISHED[name])
