"""The small graph that ships with the package: everyday words and places of WordNet 3.0, about 5,000 entities.

`WORDNET` is an archive of `wordnet/{train,valid,test}.txt` (head, relation, tail), `wordnet/glosses.tsv` (entity,
definition) and `wordnet/NOTICE`. Entities are synsets by the usual names (`dog.n.01`: lemma, part of speech, sense).
Every relation is there in one direction only, so no fact of a hierarchical relation is given away by its reverse.
The symmetric relations hold both orientations of a pair, split at random as in WN18RR: nine in ten of their test facts
have the other orientation in train and are easy for a model that has found out that the relation is symmetric. They
are a quarter of the test facts; quote the others beside the whole.
"""

from __future__ import annotations

from pathlib import Path

WORDNET = Path(__file__).with_name("wordnet.tar.xz")
"""Built by `python -m bique.bundled.build`; the WordNet licence is in NOTICE beside it and inside it."""
