"""Reads the data files of WordNet 3.0: synsets with their usual names, pointers, glosses and frequencies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bique.errors import UserError

SynsetId = tuple[str, str]
"""Part of speech (n, v, a, r) and offset in its data file; satellite adjectives are in data.adj, so they have an a."""

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


class Theme(IntEnum):
    """The lexicographer files that somebody asks for; there are 45."""

    ADJECTIVE = 0
    ANIMAL = 5
    ARTIFACT = 6
    FEELING = 12
    FOOD = 13
    LOCATION = 15
    OBJECT = 17
    PERSON = 18
    PLANT = 20
    COMMUNICATION_VERB = 32
    CONSUMPTION_VERB = 34
    EMOTION_VERB = 37
    MOTION_VERB = 38
    PERCEPTION_VERB = 39


@dataclass(frozen=True)
class Synset:
    """One line of a data file.

    `theme` is the number of its lexicographer file, `pointers` are pairs (symbol, target), and `occurrences` counts
    the synset's words in WordNet's sense-tagged texts.
    """

    name: str
    theme: int
    pointers: list[tuple[str, SynsetId]]
    gloss: str
    occurrences: int


def read_wordnet(folder: Path) -> dict[SynsetId, Synset]:
    """Every synset of data.noun, data.verb, data.adj and data.adv."""
    tagged = _read_occurrences(folder)
    synsets: dict[SynsetId, Synset] = {}
    for part, file in FILES.items():
        senses = _read_senses(folder / f"index.{file}")
        occurrences: Counter[str] = Counter()
        for (lemma, offset), number in senses.items():
            occurrences[offset] += tagged.get((lemma, part, number), 0)
        for line in _lines(folder / f"data.{file}"):
            offset = line.split(maxsplit=1)[0]
            synsets[part, offset] = _parse_synset(line, senses, occurrences[offset])
    return synsets


def _lines(file: Path) -> Iterator[str]:
    """The lines of a WordNet file, without the licence at its top, which is indented."""
    if not file.is_file():
        raise UserError(f"{file}: does not exist; install wordnet-base or name its folder with --wordnet")
    return (line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(" "))


def _read_senses(file: Path) -> dict[tuple[str, str], int]:
    """(lemma, offset) → number of the sense, from 1: an index file lists the offsets of a lemma in this order."""
    senses: dict[tuple[str, str], int] = {}
    for line in _lines(file):
        fields = line.split()
        offsets = fields[-int(fields[2]) :]
        senses.update({(fields[0], offset): number for number, offset in enumerate(offsets, 1)})
    return senses


def _read_occurrences(folder: Path) -> dict[tuple[str, str, int], int]:
    """(lemma, part, sense) → how often it is tagged, from lines `lemma%type:… sense count`."""
    parts = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
    occurrences: dict[tuple[str, str, int], int] = {}
    for line in _lines(folder / "cntlist.rev"):
        key, number, count = line.split()
        lemma, kind = key.split("%")
        occurrences[lemma, parts[kind[0]], int(number)] = int(count)
    return occurrences


def _parse_synset(line: str, senses: dict[tuple[str, str], int], occurrences: int) -> Synset:
    """`offset theme type word_count(hex) (word id)… pointer_count (symbol offset part words)… | gloss`."""
    data, gloss = line.split(" | ", 1)
    offset, theme, kind, word_count, *fields = data.split()
    lemma = re.sub(r"\(\w+\)$", "", fields[0]).lower()  # an adjective may carry its place: asleep(p)
    count, *pointers = fields[2 * int(word_count, 16) :]
    symbols, targets, parts = (pointers[place : 4 * int(count) : 4] for place in range(3))
    return Synset(
        name=f"{lemma}.{kind}.{senses[lemma, offset]:02d}",
        theme=int(theme),
        pointers=list(zip(symbols, zip(parts, targets, strict=True), strict=True)),
        gloss=gloss.strip(),
        occurrences=occurrences,
    )
