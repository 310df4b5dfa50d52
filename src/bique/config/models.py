"""The settings of each model. `model.name` says which of these sections a recipe's [model] is."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bique.config.section import Above0, Positive, Section

Share = Annotated[float, Field(ge=0, lt=1)]


class ModelSection(Section):
    compares_by: ClassVar[Literal["dot product", "distance", "distance and biases"]] = "dot product"
    """A distance without biases gives no score above 0."""
    initial_scale: Above0 = 1e-3
    """Standard deviation of the normal distribution every table starts from."""


class BiQUEConfig(ModelSection):
    name: Literal["bique"] = "bique"
    units: Positive = 32
    """k, biquaternions per entity: an entity has 8·units reals."""
    translation: bool = True
    """Q_r⁺ before the product; false is the paper's ablation without it."""
    relation_norm: Literal["none", "vector", "unit"] = "none"
    """Q_r^× as it is, as a real vector of length 1 (Q^×⋆ of the paper), or as a unit biquaternion (Q^×◁)."""


class DistMultConfig(ModelSection):
    name: Literal["distmult"]
    units: Positive = 256
    """Reals per entity."""


class ComplExConfig(ModelSection):
    name: Literal["complex"]
    units: Positive = 128
    """Complex numbers per entity."""


class QuatEConfig(ModelSection):
    name: Literal["quate"]
    units: Positive = 64
    """Quaternions per entity."""


class DualEConfig(ModelSection):
    name: Literal["duale"]
    units: Positive = 32
    """Dual quaternions per entity: 8·units reals."""


class TransEConfig(ModelSection):
    compares_by = "distance"
    name: Literal["transe"]
    units: Positive = 256
    """Reals per entity."""
    norm: Literal["l1", "l2"] = "l2"
    """The distance; l2 is one matrix product against all candidates, l1 is not."""


class RotatEConfig(ModelSection):
    compares_by = "distance"
    name: Literal["rotate"]
    initial_scale: Above0 = 0.1
    """Standard deviation of the numbers every table starts from. A step of the size ε turns an angle by ε·π/(√3·this),
    so it belongs to the learning rate; published are (margin + 2)/(√3·units) and 5e-5."""
    units: Positive = 128
    """Complex numbers per entity; a relation has as many angles."""


class ConvolutionSection(ModelSection):
    initial_scale: Above0 = 0.01
    """Standard deviation of the normal distribution the embeddings start from."""
    initial_bias: Literal["zero", "prior"] = "zero"
    """What the biases of candidates start from. prior: −ln(entities), the score of a guess, which biases take epochs to
    learn by loss = "binary". For short trainings: long ones have ended lower by it (LOG.md). A softmax does not see the
    difference, DURA does."""
    units: Positive = 200
    """Reals per entity and relation."""
    entity_dropout: Share = 0.0
    """Of all entities, as heads and as candidates alike."""
    input_dropout: Share = 0.2
    """Of the picture that is convolved."""
    feature_dropout: Share = 0.2
    """Of whole feature maps."""
    hidden_dropout: Share = 0.3
    """Of the query."""
    norm_statistics: Literal["running", "measured"] = "running"
    """What the batch norms know in evaluation. running: means over the batches of training, as published; dropout has
    made their variances larger than evaluation sees them. measured: of up to 8,192 queries of train, without dropout,
    before every evaluation. Training is the same to the bit. Better after loss = "binary", worse after a softmax
    (LOG.md)."""


class ConvEConfig(ConvolutionSection):
    name: Literal["conve"]
    height: Positive = 20
    """Rows of the picture of an embedding; it divides units."""
    filters: Positive = 32
    """Feature maps."""
    kernel: Positive = 3
    """Side of a filter."""

    @model_validator(mode="after")
    def a_picture(self) -> ConvEConfig:
        _check_picture(self.units, self.height, self.kernel)
        return self


class InteractEConfig(ConvolutionSection):
    name: Literal["interacte"]
    height: Positive = 10
    """Rows of the picture of an embedding; it divides units."""
    permutations: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many shuffled pictures are convolved."""
    filters: Positive = 96
    """Feature maps of each picture."""
    kernel: Annotated[int, Field(ge=1, le=99)] = 9
    """Side of a filter; odd."""

    @model_validator(mode="after")
    def a_picture(self) -> InteractEConfig:
        _check_picture(self.units, self.height, self.kernel // 2)
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel = {self.kernel}: circular padding needs an odd one")
        return self


class ConvTransEConfig(ConvolutionSection):
    name: Literal["convtranse"]
    channels: Positive = 200
    """Feature maps."""
    kernel: Annotated[int, Field(ge=1, le=99)] = 5
    """Length of a filter; odd, so that the length is kept."""

    @model_validator(mode="after")
    def an_odd_kernel(self) -> ConvTransEConfig:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel = {self.kernel}: keeping the length needs an odd one")
        return self


class CompGCNConfig(ConvolutionSection):
    name: Literal["compgcn"]
    initial_scale: Above0 = 0.01
    """Standard deviation of the normal distribution entities start from; published: √(2/(entities + start)), Xavier's
    rule, from which relations start."""
    start: Positive = 100
    """Reals per entity and relation before the message passing; units after it."""
    composition: Literal["subtract", "multiply", "correlate"] = "correlate"
    """φ(x_u, z_r): x − z, x·z, or their circular correlation."""
    message_dropout: Share = 0.1
    """Of the sums of messages that arrive."""
    entity_dropout: Share = 0.3
    """Of the entities that message passing makes, as heads and as candidates alike."""
    input_dropout: Share = 0.0
    """Of the picture that is convolved."""
    feature_dropout: Share = 0.3
    """Of single numbers of the feature maps."""
    height: Positive = 10
    """Half of the rows of the picture in the ConvE decoder, where h and r stand in turn; it divides units."""
    filters: Positive = 200
    """Feature maps of the decoder."""
    kernel: Positive = 7
    """Side of a filter of the decoder."""

    @model_validator(mode="after")
    def a_picture(self) -> CompGCNConfig:
        _check_picture(self.units, self.height, self.kernel)
        return self


class MurPConfig(ModelSection):
    compares_by = "distance and biases"
    name: Literal["murp"]
    units: Positive = 128
    """Dimension of the Poincaré ball."""


class RotHConfig(ModelSection):
    compares_by = "distance and biases"
    name: Literal["roth"]
    units: Annotated[int, Field(ge=2, le=10**9, multiple_of=2)] = 128
    """Dimension of the ball; even, as rotations act on pairs."""


class RefHConfig(ModelSection):
    compares_by = "distance and biases"
    name: Literal["refh"]
    units: Annotated[int, Field(ge=2, le=10**9, multiple_of=2)] = 128
    """Dimension of the ball; even, as reflections act on pairs."""


class AttHConfig(ModelSection):
    compares_by = "distance and biases"
    name: Literal["atth"]
    units: Annotated[int, Field(ge=2, le=10**9, multiple_of=2)] = 128
    """Dimension of the ball; even, as rotations and reflections act on pairs."""


def _check_picture(units: int, height: int, reach: int) -> None:
    """Two pictures one above the other, and how far a filter reaches."""

    def fits(height: int) -> bool:
        return units % height == 0 and reach <= min(2 * height, units // height)

    if fits(height):
        return
    fitting = [one for one in range(1, min(units, 1000) + 1) if fits(one)]
    remedy = f"try height = {' or '.join(map(str, fitting))}" if fitting else "use a smaller kernel or more units"
    if units % height:
        raise ValueError(f"height = {height} does not divide units = {units}; {remedy}")
    raise ValueError(f"the kernel is too large for a picture of {2 * height} × {units // height}; {remedy}")


ModelConfig = (
    BiQUEConfig
    | DistMultConfig
    | ComplExConfig
    | QuatEConfig
    | DualEConfig
    | TransEConfig
    | RotatEConfig
    | ConvEConfig
    | InteractEConfig
    | ConvTransEConfig
    | CompGCNConfig
    | MurPConfig
    | RotHConfig
    | RefHConfig
    | AttHConfig
)
