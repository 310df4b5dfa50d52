"""BiQUE in one file: read facts, train, rank. Needs torch only, imports nothing from the package.

    python examples/bique_in_one_file.py FOLDER     (with train.txt, valid.txt, test.txt: head<TAB>relation<TAB>tail)

An entity is k biquaternions w + x𝐢 + y𝐣 + z𝐤 with complex coefficients; a relation is two such vectors, Q⁺ and Q^×.

    score(h, r, t) = ⟨(Q_h + Q_r⁺) Q_r^×, Q_t⟩        (dot product of 8k reals)

Every fact is learned in both directions: (h, r, t) and (t, r⁻¹, h). The package does the same with checkpoints and all;
a test holds the first twenty losses of the two against each other.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

UNITS, EPOCHS, BATCH, LEARNING_RATE, PENALTY, SEED = 32, 25, 500, 0.1, 0.1, 0


# --- the graph -------------------------------------------------------------------------------------------------------


def read_facts(folder: Path) -> tuple[list[str], list[str], dict[str, Tensor]]:
    """Entity names, relation names (both sorted) and the facts of each split as rows (head, relation, tail) of ids."""
    lines = {
        split: [line.split("\t") for line in (folder / f"{split}.txt").read_text(encoding="utf-8").split("\n") if line]
        for split in ("train", "valid", "test")
    }
    facts = [fact for split in lines.values() for fact in split]
    entities = sorted({name for head, _, tail in facts for name in (head, tail)}, key=str.encode)
    relations = sorted({relation for _, relation, _ in facts}, key=str.encode)
    e, r = {name: i for i, name in enumerate(entities)}, {name: i for i, name in enumerate(relations)}
    return entities, relations, {s: torch.tensor([[e[h], r[p], e[t]] for h, p, t in lines[s]]) for s in lines}


def both_directions(facts: Tensor, num_relations: int) -> Tensor:
    """(h, r, t), then (t, r⁻¹, h) with r⁻¹ = r + num_relations."""
    head, relation, tail = facts.unbind(1)
    return torch.cat([facts, torch.stack([tail, relation + num_relations, head], dim=1)])


# --- the model -------------------------------------------------------------------------------------------------------


def start_tables(num_entities: int, num_relations: int, units: int, seed: int) -> tuple[Tensor, Tensor]:
    """Rows of 8·units reals, layout (4, units, 2); a relation row is Q^×, then Q⁺."""
    generator = torch.Generator().manual_seed(seed)
    entity = torch.randn(num_entities, 8 * units, generator=generator) * 1e-3
    relation = torch.randn(2 * num_relations, 16 * units, generator=generator) * 1e-3
    return entity.requires_grad_(), relation.requires_grad_()


def hamilton(p: Tensor, q: Tensor) -> Tensor:
    """The product of biquaternions, complex tensors (batch, 4, units)."""
    (a, b, c, d), (w, x, y, z) = p.unbind(1), q.unbind(1)
    return torch.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ],
        dim=1,
    )


def biquaternions(rows: Tensor) -> Tensor:
    return torch.view_as_complex(rows.reshape(len(rows), 4, -1, 2))


def query(head: Tensor, relation: Tensor) -> Tensor:
    """(Q_h + Q_r⁺) Q_r^× as rows of reals."""
    product, translation = relation.chunk(2, dim=1)
    moved = hamilton(biquaternions(head + translation), biquaternions(product))
    return torch.view_as_real(moved).flatten(1)


def cubed_norms(rows: Tensor) -> Tensor:
    """Σ ‖biquaternion as 8 reals‖³."""
    return rows.view(len(rows), 4, -1, 2).norm(dim=(1, 3)).pow(3).sum()


def batch_loss(entity: Tensor, relation: Tensor, batch: Tensor, penalty: float) -> Tensor:
    """Softmax cross-entropy over all entities, plus group N3 on the translated head, the tail and Q^×."""
    h, r, t = batch.unbind(1)
    head, rel, tail = (
        functional.embedding(h, entity),
        functional.embedding(r, relation),
        functional.embedding(t, entity),
    )
    loss = functional.cross_entropy(query(head, rel) @ entity.T, t)
    product, translation = rel.chunk(2, dim=1)
    n3 = 2 * cubed_norms(head + translation) + 2 * cubed_norms(tail) + 0.5 * cubed_norms(product)
    return loss + penalty * n3 / len(batch)


# --- training and ranking --------------------------------------------------------------------------------------------


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    generator = torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + epoch + 1) % 2**63)
    return torch.randperm(count, generator=generator)


def filtered_ranks(entity: Tensor, relation: Tensor, queries: Tensor, known: Tensor) -> Tensor:
    """1 + the candidates that score at least as much, other known answers left out (ties count against us)."""
    answers: dict[tuple[int, int], list[int]] = {}
    for h, r, t in known.tolist():
        answers.setdefault((h, r), []).append(t)
    ranks = []
    for h, r, t in queries.tolist():
        scores = (query(entity[[h]], relation[[r]]) @ entity.T)[0]
        target = scores[t].item()
        scores[answers[h, r]] = -torch.inf
        ranks.append(1 + int((scores >= target).sum()))
    return torch.tensor(ranks, dtype=torch.float)


def main(folder: Path) -> None:
    entities, relations, splits = read_facts(folder)
    facts = both_directions(splits["train"], len(relations))
    entity, relation = start_tables(len(entities), len(relations), UNITS, SEED)
    optimizer = torch.optim.Adagrad([entity, relation], lr=LEARNING_RATE, eps=1e-10)
    for epoch in range(EPOCHS):
        total = 0.0
        for places in epoch_order(len(facts), SEED, epoch).split(BATCH):
            optimizer.zero_grad()
            loss = batch_loss(entity, relation, facts[places], PENALTY)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(places)
        print(f"epoch {epoch + 1}/{EPOCHS}  loss {total / len(facts):.4f}")
    known = both_directions(torch.cat(list(splits.values())), len(relations))
    with torch.no_grad():
        ranks = filtered_ranks(entity, relation, both_directions(splits["test"], len(relations)), known)
    print(f"test MRR {(1 / ranks).mean():.3f}  Hits@10 {(ranks <= 10).float().mean():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
