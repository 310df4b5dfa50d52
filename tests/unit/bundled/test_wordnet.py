"""The bundled graph keeps its promises, and the script that is said to build it does."""

from __future__ import annotations

import lzma
import tarfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bique.bundled import WORDNET
from bique.bundled.build import main, pack, split
from bique.bundled.synsets import read_wordnet
from bique.errors import UserError

DATA_FILES = Path("/usr/share/wordnet")
SPLITS = ("train", "valid", "test")
HIERARCHICAL = {"_hypernym", "_instance_hypernym", "_has_part", "_member_meronym"}
ONE_WAY = HIERARCHICAL | {"_synset_domain_topic_of", "_entailment", "_cause"}
SYMMETRIC = {"_derivationally_related_form", "_similar_to", "_also_see", "_verb_group", "_antonym", "_attribute"}

Fact = tuple[str, str, str]


@cache
def texts() -> dict[str, str]:
    with tarfile.open(WORDNET) as archive:
        opened = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name: file.read().decode("utf-8") for name, file in opened.items() if file}


@cache
def facts(split: str) -> list[Fact]:
    rows = (line.split("\t") for line in texts()[f"wordnet/{split}.txt"].splitlines())
    return [(head, relation, tail) for head, relation, tail in rows]


def names(triples: list[Fact]) -> set[str]:
    return {name for head, _, tail in triples for name in (head, tail)}


def everything() -> list[Fact]:
    return [fact for split in SPLITS for fact in facts(split)]


def test_the_size_is_that_of_a_demonstration():
    assert 3_000 <= len(names(everything())) <= 6_000
    assert len(facts("train")) >= 12_000
    assert 600 <= len(facts("valid")) <= 800
    assert 600 <= len(facts("test")) <= 800
    assert WORDNET.stat().st_size < 400_000


def test_both_kinds_of_relations_are_learnt_and_tested():
    assert {relation for _, relation, _ in everything()} == ONE_WAY | SYMMETRIC
    for split_name in ("valid", "test"):
        tested = Counter(relation for _, relation, _ in facts(split_name))
        main_relations = HIERARCHICAL | {"_derivationally_related_form", "_similar_to", "_also_see", "_verb_group"}
        assert all(tested[relation] >= 10 for relation in main_relations)


def test_symmetric_relations_hold_both_orientations():
    known = set(everything())
    for relation in SYMMETRIC:
        of_relation = [fact for fact in known if fact[1] == relation]
        reversed_too = sum((tail, relation, head) in known for head, _, tail in of_relation)
        assert reversed_too > 0.9 * len(of_relation)


def test_some_relations_have_many_tails_for_one_head():
    tails = Counter((head, relation) for head, relation, _ in facts("train"))
    for relation in ("_has_part", "_member_meronym"):
        assert max(count for (_, of), count in tails.items() if of == relation) > 10


def test_every_name_to_be_ranked_is_learnt():
    held_out = facts("valid") + facts("test")
    assert names(held_out) <= names(facts("train"))
    assert {relation for _, relation, _ in held_out} <= {relation for _, relation, _ in facts("train")}


def test_every_entity_keeps_two_neighbours_in_train():
    links = {frozenset((head, tail)) for head, _, tail in facts("train")}
    degree = Counter(name for link in links for name in link)
    assert min(degree[name] for name in names(everything())) >= 2


def test_no_one_way_fact_is_given_away_by_another_between_its_entities():
    linked = {frozenset((head, tail)) for head, _, tail in facts("train")}
    held_out = [fact for fact in facts("valid") + facts("test") if fact[1] in ONE_WAY]
    assert not [fact for fact in held_out if frozenset((fact[0], fact[2])) in linked]


def test_hierarchies_have_no_reverse_at_all():
    known = set(everything())
    assert not [(h, r, t) for h, r, t in known if r in HIERARCHICAL and (t, r, h) in known]


def test_most_test_facts_are_not_answered_by_their_reverse():
    train = set(facts("train"))
    given = [(head, relation, tail) for head, relation, tail in facts("test") if (tail, relation, head) in train]
    assert {relation for _, relation, _ in given} <= SYMMETRIC
    assert len(given) < len(facts("test")) / 3


def test_no_fact_is_there_twice_and_none_is_a_loop():
    assert len(set(everything())) == len(everything())
    assert not [fact for fact in everything() if fact[0] == fact[2]]


def test_the_graph_is_connected():
    neighbours: dict[str, set[str]] = {name: set() for name in names(everything())}
    for head, _, tail in everything():
        neighbours[head].add(tail)
        neighbours[tail].add(head)
    reached, waiting = {"dog.n.01"}, ["dog.n.01"]
    while waiting:
        fresh = neighbours[waiting.pop()] - reached
        reached |= fresh
        waiting.extend(fresh)
    assert reached == set(neighbours)


def test_a_dog_is_a_canine_and_a_domestic_animal():
    kinds = {tail for head, relation, tail in everything() if (head, relation) == ("dog.n.01", "_hypernym")}
    assert kinds == {"canine.n.02", "domestic_animal.n.01"}


def test_familiar_things_are_there():
    known = names(everything())
    assert {"cat.n.01", "lion.n.01", "bread.n.01", "hammer.n.02", "car.n.01", "tree.n.01", "mother.n.01"} <= known
    assert {"joy.n.01", "fear.n.01", "run.v.01", "walk.v.01", "happy.a.01", "paris.n.01", "kenya.n.01"} <= known


def test_every_entity_has_one_short_gloss():
    glosses = [line.split("\t") for line in texts()["wordnet/glosses.tsv"].splitlines()]
    assert sorted(name for name, _ in glosses) == sorted(names(everything()))
    assert all(0 < len(gloss) <= 160 and '; "' not in gloss for _, gloss in glosses)


def test_the_notice_travels_with_the_archive():
    notice = texts()["wordnet/NOTICE"]
    assert notice == WORDNET.with_name("NOTICE").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in notice
    assert 'PROVIDED "AS IS"' in notice
    assert "What was changed" in notice


def test_a_fact_with_a_companion_between_its_entities_stays_in_train():
    ring = [f"n{i:03d}" for i in range(200)]
    steps = [(ring[i], ring[(i + k) % 200]) for i in range(200) for k in (1, 2)]
    facts_with_companions = {(a, "_hypernym", b) for a, b in steps} | {(b, "_has_part", a) for a, b in steps[::2]}
    accompanied = {frozenset(step) for step in steps[::2]}
    splits = split(facts_with_companions)
    held_out = splits["valid"] + splits["test"]
    assert held_out
    assert not [fact for fact in held_out if frozenset((fact[0], fact[2])) in accompanied]
    assert sorted(splits["train"] + held_out) == sorted(facts_with_companions)


def test_packing_depends_on_the_texts_only():
    assert pack({"b": "2", "a": "1"}) == pack({"a": "1", "b": "2"})
    assert pack({"a": "1"}) != pack({"a": "2"})


def test_a_missing_file_is_named_with_its_remedy(tmp_path: Path):
    with pytest.raises(UserError, match=r"cntlist\.rev.*--wordnet"):
        read_wordnet(tmp_path)


@pytest.mark.skipif(not DATA_FILES.is_dir(), reason=f"WordNet's data files are not in {DATA_FILES}")
def test_building_again_gives_the_same_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    again = tmp_path / "again.tar.xz"
    monkeypatch.setattr("sys.argv", ["build", "--wordnet", str(DATA_FILES), "--output", str(again)])
    main()
    # compared unpacked: another version of xz may compress otherwise
    assert lzma.decompress(again.read_bytes()) == lzma.decompress(WORDNET.read_bytes())
