"""TOML in, TOML out, dotted overrides, and errors that name the key, the value and the nearest right one."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast, get_args

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bique.config.describe import describe, model_tag
from bique.config.models import BiQUEConfig, ModelConfig
from bique.config.schema import OptimizerConfig, RunConfig
from bique.errors import UserError, did_you_mean, unknown

Tree = dict[str, Any]
# the settings that may be absent: `--set training.patience=none` takes one away
MODEL_NAMES = [model_tag(one) for one in get_args(ModelConfig)]
OPTIONAL = {setting.key for setting in describe() if setting.default is None}
# what a section is called that does not say so
NAMES = {"model": BiQUEConfig().name, "optimizer": OptimizerConfig().name}
DEEPEST = 8


def load_config(file: Path, overrides: Iterable[str] = ()) -> RunConfig:
    """A recipe file, with `key=value` overrides on top."""
    return parse_config(override(read_recipe(file), overrides), str(file))


def read_recipe(file: Path, below: tuple[Path, ...] = ()) -> Tree:
    """The TOML of a recipe, not yet checked; on top of another one if it says `extends = "file beside it"`."""
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8-sig"))  # some editors put a mark in front
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; give the path of a recipe (a TOML file)") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a path with a null character
        raise UserError(f"{str(file)!r}: not valid TOML: {error}") from error
    base = tree.pop("extends", None)
    if base is None:
        return tree
    if not isinstance(base, str):
        raise UserError(f"{file}: extends: a string with the path of another recipe is wanted (found {base!r})")
    chain = (*below, Path(os.path.realpath(file)))
    if "\0" in base or len(chain) > DEEPEST:
        raise UserError(
            f"{file}: extends: {base!r} is no file, or the {DEEPEST}th recipe of a chain; extend the first one"
        )
    if Path(os.path.realpath(file.parent / base)) in chain:
        raise UserError(f"{file}: extends: {base!r} leads back to a recipe that extends this one")
    return _merge(read_recipe(file.parent / base, chain), tree)


def _merge(under: Tree, over: Tree, default: str | None = None) -> Tree:
    """Section by section; what both have is taken from `over`.

    A section of another name (model, optimizer) replaces the one below whole: settings of the one mean nothing to the
    other. So does a graph instead of a dataset.
    """
    if "name" in over and over["name"] != under.get("name", default):
        return over
    sources = ("dataset", "graph")
    replaced = sources if any(key in over for key in sources) else ()
    merged = {key: value for key, value in under.items() if key not in replaced}
    for key, value in over.items():
        mine = merged.get(key)
        both = isinstance(mine, dict) and isinstance(value, dict)
        merged[key] = _merge(cast("Tree", mine), cast("Tree", value), NAMES.get(key)) if both else value
    return merged


def override(tree: Tree, assignments: Iterable[str]) -> Tree:
    """A new tree with `training.epochs=5`-like assignments applied; values are TOML, or plain words.

    As with a recipe that extends another one, `model.name=complex` leaves nothing of the former model's settings.
    """
    said: Tree = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set {assignment!r}: expected key=value, for example training.epochs=50")
        if value.strip() == "none" and key.strip() in OPTIONAL:
            _assign(said, key.strip().split("."), None)
        else:
            _assign(said, key.strip().split("."), _toml_value(value.strip()))
    return _merge(tree, said)


def _assign(tree: Tree, path: list[str], value: object) -> None:
    *sections, last = path
    for section in sections:
        inner = tree.setdefault(section, {})
        if not isinstance(inner, dict):
            raise UserError(f"--set {'.'.join(path)}: {section!r} is a value, not a section")
        tree = cast("Tree", inner)
    tree[last] = value


def _toml_value(text: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text  # a bare word such as adam or cuda
    return parsed["value"] if parsed.keys() == {"value"} else text


def parse_config(tree: Tree, place: str = "settings") -> RunConfig:
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise UserError(_explain(error.errors()[0], place)) from error


def _explain(error: ErrorDetails, place: str) -> str:
    where = error["loc"]
    section, chosen = _section(where)
    if chosen is not None:  # the name of the model is not part of the key
        where = where[:1] + where[2:]
    key = ".".join(str(part) for part in where)
    if error["type"] == "union_tag_invalid":
        return f"{place}: {unknown('model', str(error['input'].get('name')), MODEL_NAMES)}"
    if error["type"] == "extra_forbidden":
        known = list(section.model_fields)
        elsewhere = [one.key for one in describe() if one.key != key and one.key.endswith(f".{where[-1]}")]
        hint = f"; did you mean {elsewhere[0]!r}?" if elsewhere else did_you_mean(str(where[-1]), known) or ";"
        return f"{place}: unknown key {key!r}{hint} known here: {', '.join(known)}"
    message = error["msg"].removeprefix("Value error, ")
    for bound in error.get("ctx", {}).values():
        if isinstance(bound, float):  # pydantic writes 1e-30 with all its zeros
            message = f"{message.rsplit(' ', 1)[0]} {bound:g}"
    if not key:
        return f"{place}: {message}"
    value = "" if error["type"] in ("value_error", "missing") else f" (found {error['input']!r})"
    return f"{place}: {key}: {message[:1].lower()}{message[1:]}{value}"


def _section(location: tuple[int | str, ...]) -> tuple[type[BaseModel], str | None]:
    """The section that a place of an error lies in, and the name of the model if it is a model's."""
    if not location or len(location) == 1:
        return RunConfig, None
    annotation = RunConfig.model_fields[str(location[0])].annotation
    if isinstance(annotation, type):
        return annotation, None
    chosen = {model_tag(one): one for one in get_args(annotation)}
    return chosen.get(str(location[1]), BiQUEConfig), str(location[1])


def dump_config(config: RunConfig) -> str:
    """TOML that reads back to the same configuration; what is None is left out."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))
