"""Builds `wordnet.tar.xz` from the data files of WordNet 3.0, as Debian's package wordnet-base installs them.

    python -m bique.bundled.build [--wordnet DIR] [--output FILE]

Read the synsets, choose the familiar and well-connected ones, split their facts, pack. The same files give the same
bytes: nothing is drawn at random, facts are ordered by their sha256 instead.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import sys
import tarfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bique.atomic import write_bytes
from bique.bundled import WORDNET
from bique.bundled.synsets import Synset, SynsetId, Theme, read_wordnet
from bique.errors import UserError

# one pointer of each pair of inverses: @ without ~, %p without #p, and so on
ONE_WAY = {
    "@": "_hypernym",
    "@i": "_instance_hypernym",
    "%m": "_member_meronym",
    "%p": "_has_part",
    ";c": "_synset_domain_topic_of",
    "*": "_entailment",
    ">": "_cause",
}
SYMMETRIC = {
    "+": "_derivationally_related_form",
    "&": "_similar_to",
    "^": "_also_see",
    "$": "_verb_group",
    "!": "_antonym",
    "=": "_attribute",
}
RELATIONS = ONE_WAY | SYMMETRIC

ONE_WAY_SHARE = 0.07  # of the facts of a relation, for test and as many again for valid
SYMMETRIC_SHARE = 0.03  # less: most of these facts are answered by their reverse in train
ENOUGH = 12  # small relations give up to a tenth to reach it, so that a figure per relation means something
NEIGHBOURS_IN_TRAIN = 2

GLOSS_WIDTH = 160
RELEASED = 1164931200  # 2006-12-01, the month of WordNet 3.0: the time of every file in the archive

Fact = tuple[str, str, str]

# vivid themes: a word that the tagged texts, prose of 1961, use once is still one that everybody knows
VIVID = {
    Theme.ADJECTIVE,
    Theme.ANIMAL,
    Theme.FEELING,
    Theme.FOOD,
    Theme.PERSON,
    Theme.COMMUNICATION_VERB,
    Theme.CONSUMPTION_VERB,
    Theme.EMOTION_VERB,
    Theme.MOTION_VERB,
    Theme.PERCEPTION_VERB,
}
OCCURRENCES_ELSEWHERE = 4
# themes that WordNet links sparsely: with three neighbours there would be no hammer and no cat
SPARSE = {
    Theme.ANIMAL,
    Theme.ARTIFACT,
    Theme.FEELING,
    Theme.FOOD,
    Theme.LOCATION,
    Theme.OBJECT,
    Theme.PLANT,
    Theme.MOTION_VERB,
}


# choosing ------------------------------------------------------------------------------------------------------------


def choose(synsets: dict[SynsetId, Synset]) -> set[SynsetId]:
    """The familiar synsets and what they belong to, as far as they are well connected, in one component."""
    familiar = {key for key, synset in synsets.items() if _is_familiar(synset)}
    candidates = _with_what_they_belong_to(familiar, synsets)
    neighbours = _neighbours(candidates, synsets)
    return _largest_component(_core(neighbours, lambda key: _neighbours_needed(synsets[key])), neighbours)


def _is_familiar(synset: Synset) -> bool:
    needed = 1 if synset.theme in VIVID else OCCURRENCES_ELSEWHERE
    return synset.theme == Theme.LOCATION or synset.occurrences >= needed


def _neighbours_needed(synset: Synset) -> int:
    """Of the many places that no text mentions, only the well-connected are of interest."""
    unheard_of = synset.theme == Theme.LOCATION and not synset.occurrences
    return 2 if synset.theme in SPARSE and not unheard_of else 3


def _with_what_they_belong_to(familiar: set[SynsetId], synsets: dict[SynsetId, Synset]) -> set[SynsetId]:
    """The groups that the familiar are members of, then all their kinds and wholes up to the root.

    Groups are not climbed further: above dog and Canis there are many Latin names that few have met.
    """

    def above(keys: Iterable[SynsetId], *symbols: str) -> set[SynsetId]:
        return {target for key in keys for symbol, target in synsets[key].pointers if symbol in symbols}

    chosen = familiar | above(familiar, "#m")
    fresh = chosen
    while fresh:
        fresh = above(fresh, "@", "@i", "#p") - chosen
        chosen = chosen | fresh
    return chosen


def _links(keys: set[SynsetId], synsets: dict[SynsetId, Synset]) -> Iterator[tuple[SynsetId, str, SynsetId]]:
    """(head, relation, tail) among some synsets. What a verb says to see also are its phrasal verbs: left out."""
    for key in keys:
        for symbol, target in synsets[key].pointers:
            wanted = symbol in RELATIONS and not (symbol == "^" and key[0] == "v")
            if wanted and target in keys and target != key:
                yield key, RELATIONS[symbol], target


def _neighbours(keys: set[SynsetId], synsets: dict[SynsetId, Synset]) -> dict[SynsetId, set[SynsetId]]:
    neighbours: dict[SynsetId, set[SynsetId]] = {key: set() for key in keys}
    for head, _, tail in _links(keys, synsets):
        neighbours[head].add(tail)
        neighbours[tail].add(head)
    return neighbours


def _core(neighbours: dict[SynsetId, set[SynsetId]], needed: Callable[[SynsetId], int]) -> set[SynsetId]:
    """The largest set in which everyone has as many neighbours as needed."""
    core = set(neighbours)
    while lonely := {key for key in core if len(neighbours[key] & core) < needed(key)}:
        core -= lonely
    return core


def _largest_component(core: set[SynsetId], neighbours: dict[SynsetId, set[SynsetId]]) -> set[SynsetId]:
    components: list[set[SynsetId]] = []
    left = set(core)
    while left:
        component = fresh = {min(left)}
        while fresh:
            fresh = {other for key in fresh for other in neighbours[key] & left} - component
            component = component | fresh
        components.append(component)
        left -= component
    return max(components, key=len)


def facts_among(chosen: set[SynsetId], synsets: dict[SynsetId, Synset]) -> set[Fact]:
    return {(synsets[head].name, relation, synsets[tail].name) for head, relation, tail in _links(chosen, synsets)}


# splitting -----------------------------------------------------------------------------------------------------------


def split(facts: set[Fact]) -> dict[str, list[Fact]]:
    """A test and a valid quota of every relation; the rest is train. Rules: see `_may_leave_train`."""
    wanted = _quotas(facts)
    splits: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    links: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for head, _, tail in facts:
        links[head][tail] += 1
        links[tail][head] += 1
    for fact in sorted(facts, key=lambda fact: hashlib.sha256("\t".join(fact).encode()).digest()):
        place = next((name for name in ("test", "valid") if wanted[name, fact[1]]), None)
        if place is None or not _may_leave_train(fact, links):
            splits["train"].append(fact)
            continue
        splits[place].append(fact)
        wanted[place, fact[1]] -= 1
        _unlink(fact, links)
    return {name: sorted(content) for name, content in splits.items()}


def _quotas(facts: set[Fact]) -> Counter[tuple[str, str]]:
    """The number of facts wanted for (split, relation)."""
    quotas: Counter[tuple[str, str]] = Counter()
    for relation, count in Counter(relation for _, relation, _ in facts).items():
        share = ONE_WAY_SHARE if relation in ONE_WAY.values() else SYMMETRIC_SHARE
        quota = max(round(share * count), min(ENOUGH, count // 10))
        quotas["test", relation] = quotas["valid", relation] = quota
    return quotas


def _may_leave_train(fact: Fact, links: dict[str, Counter[str]]) -> bool:
    """`links[a][b]` counts the facts between a and b, either way round, that are not held out yet.

    A one-way fact must be the only one between its entities: no reverse and no other relation gives it away.
    The last fact between two entities may go only if both keep other neighbours.
    """
    head, relation, tail = fact
    if links[head][tail] > 1:
        return relation in SYMMETRIC.values()
    return min(len(links[head]), len(links[tail])) > NEIGHBOURS_IN_TRAIN


def _unlink(fact: Fact, links: dict[str, Counter[str]]) -> None:
    head, _, tail = fact
    for one, other in ((head, tail), (tail, head)):
        links[one][other] -= 1
        if not links[one][other]:
            del links[one][other]


# packing -------------------------------------------------------------------------------------------------------------


def build(folder: Path) -> tuple[bytes, dict[str, list[Fact]]]:
    """The archive and the facts in it, from a folder of WordNet's data files."""
    synsets = read_wordnet(folder)
    chosen = choose(synsets)
    splits = split(facts_among(chosen, synsets))
    glosses = sorted((synsets[key].name, _definition(synsets[key].gloss)) for key in chosen)
    texts = {f"{name}.txt": _table(facts) for name, facts in splits.items()} | {"glosses.tsv": _table(glosses)}
    texts["NOTICE"] = WORDNET.with_name("NOTICE").read_text(encoding="utf-8")
    return pack(texts), splits


def _definition(gloss: str) -> str:
    """A gloss without its examples, and not too long."""
    return textwrap.shorten(gloss.partition('; "')[0], GLOSS_WIDTH, placeholder=" …")


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def pack(texts: dict[str, str]) -> bytes:
    """A tar.xz of `wordnet/<name>`, whose bytes depend on nothing but the texts."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(texts.items()):
            content = text.encode("utf-8")
            member = tarfile.TarInfo(f"wordnet/{name}")
            member.size, member.mtime = len(content), RELEASED
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def report(splits: dict[str, list[Fact]]) -> str:
    """A table of counts, and how many test facts have their reverse in train."""
    entities = {entity for facts in splits.values() for head, _, tail in facts for entity in (head, tail)}
    counts = {name: Counter(relation for _, relation, _ in facts) for name, facts in splits.items()}
    rows = [(relation, *(counts[name][relation] for name in splits)) for relation in sorted(RELATIONS.values())]
    rows = [("", *splits), *rows, (f"{len(entities)} entities", *(len(facts) for facts in splits.values()))]
    train = set(splits["train"])
    given = sum((tail, relation, head) in train for head, relation, tail in splits["test"])
    lines = [f"{first:30}" + "".join(f"{cell:>8}" for cell in cells) for first, *cells in rows]
    return "\n".join([*lines, f"{given} test facts have their reverse in train"])


def main() -> None:
    description = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bique.bundled.build", description=description)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), metavar="DIR")
    parser.add_argument("--output", type=Path, default=WORDNET, metavar="FILE")
    arguments = parser.parse_args()
    try:
        archive, splits = build(arguments.wordnet)
        write_bytes(arguments.output, archive)
    except UserError as error:
        sys.exit(f"error: {error}")
    print(report(splits))
    print(f"{arguments.output}: {len(archive)} bytes")


if __name__ == "__main__":
    main()
