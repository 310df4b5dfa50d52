"""Every knob, explained where it is defined.

The defaults suit a small graph on a laptop; the published settings of each dataset are in its recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Ties = Literal["worst", "mean", "best"]
# far beyond any use, but small enough for 64-bit sizes and float32
Positive = Annotated[int, Field(ge=1, le=10**9)]
NotNegative = Annotated[float, Field(ge=0, le=1e30, allow_inf_nan=False)]
Above0 = Annotated[float, Field(gt=0, le=1e30, allow_inf_nan=False)]


class Section(BaseModel):
    """A table of the recipe file: unknown keys are errors, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ModelConfig(Section):
    """BiQUE: score(h, r, t) = ⟨(Q_h + Q_r⁺) Q_r^×, Q_t⟩."""

    name: Literal["bique"] = "bique"
    """The model."""
    units: Positive = 32
    """k, biquaternions per entity: an entity has 8·units reals."""
    translation: bool = True
    """Q_r⁺ before the product; false is the paper's ablation without it."""
    relation_norm: Literal["none", "vector", "unit"] = "none"
    """Q_r^× as it is, as a real vector of length 1 (Q^×⋆ of the paper), or as a unit biquaternion (Q^×◁)."""
    initial_scale: Above0 = 1e-3
    """Standard deviation of the normal distribution every table starts from."""


class ObjectiveConfig(Section):
    """What is minimised over all candidates."""

    loss: Literal["softmax", "logistic"] = "softmax"
    """softmax: cross-entropy over all entities, which gives the published numbers. logistic: the sum over all
    entities of log(1 + exp(±score)), which is what the paper prints."""
    target_weight: Literal["none", "degree"] = "none"
    """degree: each triple counts 0.1 + 0.9·deg(target)/max deg. Parity: the published WN18RR figures use it."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """ε: the target's label is 1 − ε, and ε is shared by all candidates."""


class PenaltyConfig(Section):
    """Group N3: weight · (entity·(|head|³ + |tail|³) + relation·|relation|³) / batch size, |·|³ summed over units."""

    weight: NotNegative = 0.1
    """λ; 0 means no penalty."""
    entity: NotNegative = 2.0
    """λ1, for head and tail."""
    relation: NotNegative = 0.5
    """λ2."""
    head: Literal["translated", "plain"] = "translated"
    """translated: Q_h + Q_r⁺ is penalised (parity with the published numbers). plain: Q_h, as the paper prints."""
    relation_part: Literal["product", "both"] = "product"
    """product: only Q_r^× is penalised (parity with the published numbers). both: Q_r^× and Q_r⁺."""


class OptimizerConfig(Section):
    name: Literal["adagrad", "adam"] = "adagrad"
    """adagrad or adam."""
    learning_rate: Above0 = 0.1
    """The size of a step."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate goes from epoch to epoch: not at all, or down to 0 at the end of the run along a line or a
    half cosine. Whoever resumes with another training.epochs changes it."""
    eps: Above0 = 1e-10
    """Added to the root in the denominator. First gradients are as small as 1e-12, so it matters."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] | None = None
    """Adam only; (0.9, 0.999) when not given."""

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
    a CUDA device that has it, fp32 elsewhere. Ranking is always fp32."""
    engine: Literal["fast", "plain"] = "fast"
    """fast: the engine, captured on a CUDA device. plain: autograd and torch's optimizer in fp32, the reference that
    the engine is tested against."""
    score_memory_mb: Positive = 4096
    """Of the slopes of a batch's scores, the largest thing in a step; a batch that needs more is worked on in blocks of
    queries. It changes memory and speed, no result."""
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
    resamples: Positive = 1000
    """Bootstrap resamples behind the 95 % intervals."""


class RunConfig(Section):
    """Everything that decides the outcome of a run. Give either a known dataset or the directory of a graph."""

    dataset: str | None = None
    """A name from `bique datasets`."""
    graph: Path | None = None
    """A directory made by `bique import`."""
    model: ModelConfig = ModelConfig()
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

    @model_validator(mode="after")
    def no_translation_no_penalty_on_it(self) -> RunConfig:
        if self.penalty.relation_part == "both" and not self.model.translation:
            raise ValueError("penalty.relation_part = 'both' needs model.translation = true; use 'product'")
        return self
