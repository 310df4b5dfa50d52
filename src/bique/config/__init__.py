"""Configuration: pydantic over TOML. Every option is honoured or refused; an unknown one gets a suggestion."""

from bique.config.describe import Setting, describe
from bique.config.files import dump_config, load_config, override, parse_config, read_recipe
from bique.config.models import BiQUEConfig, ModelConfig
from bique.config.schema import (
    EvaluationConfig,
    ObjectiveConfig,
    OptimizerConfig,
    PenaltyConfig,
    RunConfig,
    Ties,
    TrainingConfig,
)

__all__ = [
    "BiQUEConfig",
    "EvaluationConfig",
    "ModelConfig",
    "ObjectiveConfig",
    "OptimizerConfig",
    "PenaltyConfig",
    "RunConfig",
    "Setting",
    "Ties",
    "TrainingConfig",
    "describe",
    "dump_config",
    "load_config",
    "override",
    "parse_config",
    "read_recipe",
]
