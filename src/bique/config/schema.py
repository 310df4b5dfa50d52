"""Every knob, explained where it is defined.

The defaults suit a small graph on a laptop; the published settings of each dataset are in its recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from bique.config.models import BiQUEConfig, ConvolutionSection, ModelConfig
from bique.config.section import Above0, NotNegative, Positive, Section

Ties = Literal["worst", "mean", "best"]


class ObjectiveConfig(Section):
    """What is minimised: over all candidates, or over the target and sampled negatives when negatives > 0."""

    loss: Literal["softmax", "logistic", "binary", "shared_softmax", "margin", "self_adversarial"] = "softmax"
    """softmax: cross-entropy, which gives the published numbers. logistic: the sum of log(1 + exp(±score)), which is
    what the paper prints. Of all known tails of (h, r) in train at once (1-N): binary, the mean over all candidates,
    and shared_softmax, the cross-entropy with equal shares for the tails. With negatives only: margin and
    self_adversarial."""
    target_weight: Literal["none", "degree", "rarity", "query_rarity"] = "none"
    """degree: each triple counts 0.1 + 0.9·deg(target)/max deg. Parity: the published WN18RR figures use it. rarity: it
    counts the less the more answers (h, r) and (t, r⁻¹) have, 1/√(both + 6), as RotatE was published (subsampling).
    query_rarity: the less the more (h, r) has, 1/√(its answers + 3), so that frequent targets are not neglected
    (Kamigaito and Hayashi, 2022)."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """ε: a target's label is 1 − ε, and ε is shared by all candidates."""
    smoothing_share: Literal["textbook", "published"] = "textbook"
    """binary only. textbook: every candidate gets ε/candidates. published: 1/candidates, as ConvE and its heirs do."""
    negatives: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Wrong answers that each triple is compared with; 0 means all candidates. As each fact is trained in both
    directions, heads are replaced as often as tails."""
    sampler: Literal["uniform", "shared", "bernoulli", "pairs"] = "uniform"
    """uniform: wrong tails of the triple's own head. shared: so, too, but the same for the whole batch; one
    matrix product compares them all (RotatE's distances are none). bernoulli: as uniform, and a triple counts more in
    the direction whose wrong answers are less often true (Wang et al., 2014). pairs: head and tail of a negative are
    both drawn, as RotH was published."""
    filtered: bool = False
    """Whether a negative that is a fact of train costs nothing, as RotatE was published; else it counts as wrong."""
    margin: NotNegative = 6.0
    """γ of margin and self_adversarial."""
    temperature: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 1.0
    """α of self_adversarial: how much the hard negatives count; 0 means all alike."""

    @property
    def one_to_n(self) -> bool:
        """Whether a training example is a query with all of its known tails, not a triple."""
        return self.loss in ("binary", "shared_softmax")

    def lookups(self, batch: int) -> int:
        """Entities that a batch looks up, each as often as it does; 0 without negatives, when it sees all."""
        drawn = self.negatives if self.sampler == "shared" else batch * self.negatives
        return (2 * batch + drawn * (2 if self.sampler == "pairs" else 1)) if self.negatives else 0

    @model_validator(mode="after")
    def makes_sense(self) -> ObjectiveConfig:
        if self.negatives == 0 and self.loss in ("margin", "self_adversarial"):
            raise ValueError(f"loss = {self.loss!r} needs negatives, for example negatives = 256")
        if self.negatives and self.one_to_n:
            other = "logistic" if self.loss == "binary" else "softmax"
            raise ValueError(f"loss = {self.loss!r} is over all candidates; set negatives = 0, or use {other!r}")
        if self.label_smoothing and self.loss in ("margin", "self_adversarial"):
            raise ValueError(f"label_smoothing is for losses with labels; with loss = {self.loss!r} set it to 0")
        if self.label_smoothing and self.filtered:
            raise ValueError("label_smoothing gives every negative a share, and filtered = true some of them none")
        if self.one_to_n and self.target_weight != "none":
            raise ValueError(f"loss = {self.loss!r} has many targets in a query; use target_weight = 'none'")
        if self.smoothing_share == "published" and self.loss != "binary":
            raise ValueError("smoothing_share = 'published' belongs to loss = 'binary'")
        if self.smoothing_share == "published" and not self.label_smoothing:
            raise ValueError("smoothing_share = 'published' needs label_smoothing, for example 0.1")
        if self.sampler == "bernoulli" and self.target_weight != "none":
            raise ValueError("sampler = 'bernoulli' weighs directions; use target_weight = 'none' with it")
        if self.margin != 6.0 and self.loss not in ("margin", "self_adversarial"):
            raise ValueError(f"margin belongs to the losses 'margin' and 'self_adversarial', not to {self.loss!r}")
        if self.temperature != 1.0 and self.loss != "self_adversarial":
            raise ValueError(f"temperature belongs to the loss 'self_adversarial', not to {self.loss!r}")
        if self.sampler != "uniform" and not self.negatives:
            raise ValueError(f"sampler = {self.sampler!r} needs negatives, for example negatives = 256")
        if self.filtered and not self.negatives:
            raise ValueError("filtered = true is about negatives; set them, for example negatives = 256")
        return self


class PenaltyConfig(Section):
    """weight · (entity·(|head| + |tail|) + relation·|relation|) / batch size, |·| as `kind` says."""

    kind: Literal["group_n3", "n3", "l2", "dura"] = "group_n3"
    """group_n3: Σ over units of (length of the unit)³; a unit is a real, complex number, quaternion or biquaternion.
    n3: the same over single reals. l2: Σ of squares. dura: squares of query and tail (Zhang et al., 2020), biases
    included; for models that compare by a dot product."""
    weight: NotNegative = 0.1
    """λ; 0 means no penalty."""
    entity: NotNegative = 2.0
    """λ1, for head and tail."""
    relation: NotNegative = 0.5
    """λ2."""
    head: Literal["translated", "plain"] = "translated"
    """BiQUE only. translated: Q_h + Q_r⁺ is penalised (parity with the published numbers). plain: Q_h, as printed."""
    relation_part: Literal["product", "both"] = "product"
    """BiQUE only. product: only Q_r^× is penalised (parity with the published numbers). both: Q_r^× and Q_r⁺."""

    @model_validator(mode="after")
    def dura_has_one_weight(self) -> PenaltyConfig:
        parts = (self.entity, self.relation, self.head, self.relation_part)
        if self.kind == "dura" and parts != (2.0, 0.5, "translated", "product"):
            raise ValueError("kind = 'dura' has one weight; leave entity, relation, head and relation_part out")
        return self


Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimizerConfig(Section):
    name: Literal["adagrad", "adam"] = "adagrad"
    """adagrad or adam."""
    learning_rate: Above0 = 0.1
    """The size of a step. Not given, 0.1 for adagrad and 0.01 for adam."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate goes from epoch to epoch: not at all, or down to 0 at the end of the run along a line or a
    half cosine. Whoever resumes with another training.epochs changes it."""
    eps: Above0 = 1e-10
    """Added to the root in the denominator. First gradients are as small as 1e-12, so it matters. Not given, 1e-10 for
    adagrad and 1e-8 for adam."""
    betas: Annotated[tuple[Beta, Beta] | None, Field(strict=False)] = None
    """Adam only; (0.9, 0.999) when not given."""

    @model_validator(mode="before")
    @classmethod
    def adam_has_its_own_defaults(cls, tree: Any) -> Any:
        """With Adagrad's it stays at half of what it can reach (LOG.md)."""
        if isinstance(tree, dict):
            known = cast("dict[str, Any]", tree)
            if known.get("name") == "adam":
                return {"learning_rate": 0.01, "eps": 1e-8} | known
        return cast("Any", tree)

    @model_validator(mode="after")
    def betas_need_adam(self) -> OptimizerConfig:
        if self.betas is not None and self.name != "adam":
            raise ValueError(f"betas belong to adam; {self.name} has none")
        return self


class TrainingConfig(Section):
    epochs: Positive = 50
    """How often every fact is trained."""
    batch_size: Positive = 500
    """Queries per step; each fact gives two, one in each direction. The last short batch is trained too."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Decides the start of the tables and the order of the batches. Below 2³²: torch's generator reads no more."""
    deterministic: bool = False
    """Refuse operations whose result may change between two runs (a CPU run never uses one)."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto: CUDA where there is a device, else the CPU."""
    precision: Literal["auto", "bf16", "tf32", "fp32"] = "auto"
    """Of what is multiplied with the entity table; tables, scores and optimizer state are always float32. auto: bf16 on
    a CUDA device that has it, fp32 elsewhere. With bf16 a model's own layers use tf32, on a CPU bf16, too; scores are
    made of fp32 there, and a CPU without instructions for bf16 is slow at it. Ranking is always fp32."""
    engine: Literal["fast", "plain"] = "fast"
    """fast: the engine, captured on a CUDA device. plain: autograd and torch's optimizer in fp32, the reference that
    the engine is tested against."""
    score_memory_mb: Positive = 4096
    """Of the slopes of a batch's scores, the largest thing in a step of a dot-product model over all candidates: a
    batch that needs more is worked on in blocks of queries. It changes memory and speed, and how sums round."""
    validate_every: Positive = 5
    """Epochs between two rankings of the validation split; the best checkpoint is chosen by its MRR."""
    patience: Positive | None = None
    """Stop after so many validations without a better MRR; none means all epochs."""
    checkpoint_seconds: NotNegative = 30.0
    """Seconds between two saves of the training state, also in mid-epoch; 0 saves after every step."""
    tensorboard: bool = False
    """Also write the curves for TensorBoard into the run (extra 'tensorboard')."""

    @model_validator(mode="after")
    def plain_is_fp32(self) -> TrainingConfig:
        if self.engine == "plain" and self.precision not in ("auto", "fp32"):
            raise ValueError(
                f"engine = 'plain' multiplies in fp32; precision = {self.precision!r} needs engine = 'fast'"
            )
        return self


class EvaluationConfig(Section):
    ties: Ties = "worst"
    """Where a tail stands among others of equal score: behind them (the paper's BOTTOM), amid them, before them."""
    memory_mb: Positive = 256
    """Size of the score tiles; it changes speed, never a rank."""
    resamples: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    """Bootstrap resamples behind the 95 % intervals."""


class RunConfig(Section):
    """Everything that decides the outcome of a run. Give either a known dataset or the directory of a graph."""

    dataset: str | None = None
    """A name from `bique datasets`."""
    graph: Annotated[Path | None, Field(strict=False)] = None
    """A directory made by `bique import`."""
    model: Annotated[ModelConfig, Field(discriminator="name")] = BiQUEConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    penalty: PenaltyConfig = PenaltyConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def one_source(self) -> RunConfig:
        if (self.dataset is None) == (self.graph is None):
            raise ValueError("give exactly one of dataset (a name) and graph (a directory)")
        return self

    @model_validator(mode="before")
    @classmethod
    def bique_unless_said(cls, tree: Any) -> Any:
        """A [model] without a name is BiQUE."""
        if isinstance(tree, dict):
            known = cast("dict[str, Any]", tree)
            if isinstance(known.get("model"), dict) and "name" not in known["model"]:
                return known | {"model": {"name": "bique", **known["model"]}}
        return cast("Any", tree)

    @model_validator(mode="after")
    def penalties_weigh_triples(self) -> RunConfig:
        if self.objective.one_to_n and self.penalty.weight:
            loss = self.objective.loss
            raise ValueError(
                f"objective.loss = {loss!r} trains queries, which have no one tail; set penalty.weight = 0"
            )
        return self

    @model_validator(mode="after")
    def pairs_share_a_norm(self) -> RunConfig:
        if self.objective.sampler == "pairs" and isinstance(self.model, ConvolutionSection):
            raise ValueError(
                f"objective.sampler = 'pairs' would give {self.model.name}'s batch norms a second batch, of the drawn "
                "heads; use 'uniform'"
            )
        return self

    @model_validator(mode="after")
    def a_distance_is_not_a_probability(self) -> RunConfig:
        if self.model.compares_by == "distance" and self.objective.loss in ("logistic", "binary"):
            raise ValueError(
                f"objective.loss = {self.objective.loss!r} wants scores above 0 for facts, and those of "
                f"{self.model.name} are minus a distance; use 'softmax', or negatives with 'self_adversarial'"
            )
        return self

    @model_validator(mode="after")
    def dura_weighs_dot_products(self) -> RunConfig:
        if self.penalty.weight and self.penalty.kind == "dura" and self.model.compares_by != "dot product":
            raise ValueError(
                f"penalty.kind = 'dura' is for models that compare by a dot product, and {self.model.name} compares by "
                "a distance; use 'l2' or 'n3'"
            )
        return self

    @model_validator(mode="after")
    def angles_have_no_size(self) -> RunConfig:
        if self.model.name == "rotate" and self.penalty.relation != 0.5:
            raise ValueError("penalty.relation: the angles of rotate have no size to keep down; leave it out")
        return self

    @model_validator(mode="after")
    def only_bique_translates_heads(self) -> RunConfig:
        if self.penalty.head == "plain" and self.model.name != "bique":
            raise ValueError(f"penalty.head = 'plain' is an option of bique; {self.model.name} has no other")
        if self.penalty.head == "plain" and not getattr(self.model, "translation", False):
            raise ValueError("penalty.head = 'plain' needs model.translation = true; without it every head is plain")
        return self

    @model_validator(mode="after")
    def no_translation_no_penalty_on_it(self) -> RunConfig:
        if self.penalty.relation_part == "both" and not getattr(self.model, "translation", False):
            raise ValueError("penalty.relation_part = 'both' needs model.translation = true; use 'product'")
        return self
