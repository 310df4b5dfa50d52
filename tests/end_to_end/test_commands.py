from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bique import cli
from bique.analysis import Results
from bique.graph import Graph
from bique.runs import read_record

ROOT = Path(__file__).parents[2]
VERBS = [
    "checkup",
    "compare",
    "datasets",
    "demo",
    "evaluate",
    "export",
    "geometry",
    "import",
    "info",
    "plot",
    "predict",
    "relations",
    "report",
    "resume",
    "train",
]
QUICK = ["--set", "training.epochs=2", "--set", "model.units=2", "--set", "training.device=cpu"]
Bique = Callable[..., Any]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_an_example(verb: str, bique: Bique) -> None:
    shown = bique(verb, "--help")
    assert shown.code == 0
    assert "Example:" in shown.out
    assert f"bique {verb}" in shown.out


def test_no_words_at_all_show_the_help_and_an_unknown_verb_is_usage(bique: Bique) -> None:
    assert "Usage" in "".join(bique()[1:])
    assert bique("trian").code == 2
    assert bique("train", "--no-such-option").code == 2


def test_from_a_folder_of_tsv_to_answers(bique: Bique, facts_folder: Path, tmp_path: Path) -> None:
    graph, run = tmp_path / "graph", tmp_path / "run"
    imported = bique("import", facts_folder, graph)
    assert imported.code == 0
    assert "bique train --graph" in imported.out
    trained = bique("train", "--graph", graph, "--run", run, *QUICK)
    assert trained.code == 0
    assert "MRR" in trained.out
    assert "ties worst" in trained.out
    assert "parameters" in trained.err
    answered = bique("predict", run, "--head", "entity 04", "--relation", "c parent", "--top", 3)
    assert answered.code == 0
    assert "entity 04  —c parent→  ?" in answered.out
    assert bique("relations", run, "--head", "entity 04", "--tail", "entity 01").code == 0
    assert bique("export", run, tmp_path / "entities.parquet").code == 0
    assert bique("info", run).code == 0
    assert bique("info", graph).code == 0
    assert bique("info").code == 0


def test_json_is_json_and_nothing_else(
    bique: Bique, run: Path, facts_folder: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    commands: list[tuple[object, ...]] = [
        ("import", facts_folder, tmp_path / "graph2", "--json"),
        ("checkup", small_graph_directory, "--json"),
        ("datasets", "--json"),
        ("train", "--graph", small_graph_directory, "--run", tmp_path / "run2", *QUICK, "--json"),
        ("resume", run, "--json"),
        ("evaluate", run, "--json"),
        ("compare", run, tmp_path / "run2", "--json", "--resamples", 100),
        ("predict", run, "--tail", "entity 01", "--relation", "c parent", "--json"),
        ("relations", run, "--head", "entity 04", "--tail", "entity 01", "--json"),
        ("export", run, tmp_path / "e.npy", "--json"),
        ("info", run, "--json"),
        ("report", run, "--out", tmp_path / "report.html", "--json"),
    ]
    for command in commands:
        done = bique(*command)
        assert done.code == 0, (command, done.err)
        json.loads(done.out)


def test_evaluate_shows_the_breakdowns_asked_for(bique: Bique, run: Path) -> None:
    shown = bique("evaluate", run, "--by", "relation", "--by", "direction", "--ties", "mean")
    assert shown.code == 0
    assert "c parent" in shown.out
    assert "ties mean" in shown.out
    assert bique("evaluate", run, "--by", "colour").code == 1


def test_compare_refuses_unlike_protocols(bique: Bique, run: Path, small_graph_directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    bique("train", "--graph", small_graph_directory, "--run", other, *QUICK, "--set", "evaluation.ties=best")
    refused = bique("compare", run, other)
    assert refused.code == 1
    assert "not measured alike" in refused.err
    bique("evaluate", other, "--ties", "worst")
    assert bique("compare", run, other).code == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("train",), "what shall be trained?"),
        (("train", "--dataset", "wn18r"), "did you mean 'wn18rr'?"),
        (("train", "--graph", "nowhere"), "does not exist"),
        (("train", "--dataset", "wordnet", "--set", "training.epoch=3"), "did you mean 'epochs'?"),
        (("train", "--dataset", "wordnet", "--set", "optimizer.name=sgd"), "optimizer.name"),
        (("train", "none.toml"), "No such file"),
        (("resume", "nowhere"), "does not exist"),
        (("import", "nowhere", "x"), "nowhere"),
        (("import", "nowhere", "x", "--split", "a,b"), "--split a,b"),
        (("predict", "nowhere"), "exactly one of --head and --tail"),
        (("datasets", "nothing"), "unknown dataset"),
        (("info", "nowhere"), "neither a run"),
        (("checkup", "nowhere"), "does not exist"),
    ],
)
def test_a_user_error_is_one_sentence_with_exit_code_1(
    words: tuple[str, ...], expected: str, bique: Bique, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = bique(*words)
    assert failed.code == 1
    assert expected in failed.err
    assert failed.err.startswith("error: ")
    assert "Traceback" not in failed.err
    assert list(tmp_path.iterdir()) == []  # nothing half-made is left


def test_a_source_on_the_command_line_replaces_the_recipes(
    bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('dataset = "wn18rr"\n[model]\nunits = 2\n[training]\nepochs = 1\n')
    done = bique("train", recipe, "--graph", small_graph_directory, "--run", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["graph"]["name"] == "small"
    both = bique("train", "--dataset", "wordnet", "--graph", small_graph_directory)
    assert both.code == 1
    assert "not both" in both.err


def test_the_figures_are_those_of_the_best_epoch(bique: Bique, small_graph_directory: Path, tmp_path: Path) -> None:
    overtrained = ["--set", "training.epochs=60", "--set", "training.validate_every=1", "--set", "penalty.weight=0"]
    done = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK, *overtrained, "--json")
    summary = json.loads(done.out)
    best = summary["best_validation"]
    assert best["epoch"] < 60
    ranked = json.loads(bique("evaluate", tmp_path / "run", "--split", "valid", "--json").out)
    assert ranked["metrics"]["mrr"] == best["valid_mrr"]


def test_a_misspelt_entity_gets_the_nearest_names(bique: Bique, run: Path) -> None:
    failed = bique("predict", run, "--head", "entity_04", "--relation", "c parent")
    assert failed.code == 1
    assert "the nearest are: entity 04" in failed.err


def test_questions_from_a_file(bique: Bique, run: Path, tmp_path: Path) -> None:
    (tmp_path / "questions.tsv").write_text("entity 04\tc parent\t?\n")
    done = bique("predict", run, "--queries", tmp_path / "questions.tsv", "--out", tmp_path / "answers.tsv", "--top", 2)
    assert done.code == 0
    assert len((tmp_path / "answers.tsv").read_text().splitlines()) == 3


def test_a_run_that_never_began_leaves_its_name_free(
    bique: Bique, small_graph_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    words = ("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK)
    failed = bique(*words, "--set", "training.tensorboard=true")
    assert failed.code == 1
    assert "needs the package 'tensorboard'" in failed.err
    assert not (tmp_path / "run").exists()
    assert bique(*words).code == 0


def test_a_run_that_diverged_is_not_said_to_go_on(bique: Bique, small_graph_directory: Path, tmp_path: Path) -> None:
    hot = ("--set", "optimizer.learning_rate=1e30", "--set", "training.epochs=6", "--set", "training.validate_every=6")
    failed = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK, *hot)
    assert failed.code == 1
    assert "smaller optimizer.learning_rate" in failed.err
    assert "diverged:" in (tmp_path / "run" / "log.txt").read_text().splitlines()[-1]
    asked = bique("predict", tmp_path / "run", "--head", "entity 04", "--relation", "c parent")
    assert asked.code == 1
    assert "it diverged and would again" in asked.err
    assert "bique resume" not in asked.err


def test_few_facts_are_said_to_say_little(bique: Bique, run: Path, small_graph_directory: Path, tmp_path: Path) -> None:
    graph = Graph.open(small_graph_directory)
    assert len(graph.test) < 30
    trained = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "other", *QUICK)
    said = f"of {len(graph.test)} facts only"
    assert said in " ".join(trained.out.split())
    assert said in " ".join(bique("compare", run, tmp_path / "other").out.split())
    bique("report", run, tmp_path / "other", "--out", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count(said.capitalize()) >= 2


def test_a_switch_of_models_leaves_nothing_of_the_former_ones_settings(bique: Bique, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'dataset = "wordnet"\n[model]\ntranslation = false\n[optimizer]\nlearning_rate = 0.3\neps = 1e-9\n'
        "[training]\nepochs = 1\nbatch_size = 5000\n",
        encoding="utf-8-sig",  # as some editors write it
    )
    words = ("--set", "model.name=complex", "--set", "model.units=4", "--set", "optimizer.name=adam")
    done = bique("train", recipe, "--run", tmp_path / "run", *words, "--json")
    assert done.code == 0, done.err
    settings = json.loads(done.out)["settings"]
    assert (settings["model"]["name"], settings["model"]["units"]) == ("complex", 4)
    assert (settings["optimizer"]["learning_rate"], settings["optimizer"]["eps"]) == (0.01, 1e-8)
    assert (settings["training"]["epochs"], settings["training"]["batch_size"]) == (1, 5000)


def test_training_tells_where_it_is_without_a_terminal_too(
    bique: Bique, small_graph_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bique.cli.live.SECONDS", 0.0)
    seldom = ("--set", "training.epochs=2", "--set", "training.validate_every=2", "--set", "training.batch_size=60")
    told = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK, *seldom).err
    assert re.search(r"^epoch 1/2, step 1/3  loss –", told, re.MULTILINE)
    assert re.search(r"^epoch 1/2  loss \d", told, re.MULTILINE)
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace("epochs = 2", "epochs = 3"))
    assert "going on after epoch 2 of 3" in bique("resume", tmp_path / "run").err


def test_a_second_interruption_says_how_to_go_on_too(bique: Bique, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bique.cli.training_run.train", impatient)
    stopped = bique("resume", run)
    assert stopped.code == 130
    assert f"bique resume {run}" in stopped.err


def test_a_report_is_a_web_page(bique: Bique, run: Path, tmp_path: Path) -> None:
    refused = bique("report", run, "--out", tmp_path / "report.pdf")
    assert refused.code == 1
    assert "ends in .html" in refused.err
    assert not (tmp_path / "report.pdf").exists()


def test_a_run_is_compared_with_others_only(bique: Bique, run: Path) -> None:
    refused = bique("compare", run, run)
    assert refused.code == 1
    assert "given twice" in refused.err


def test_a_recipe_file_is_the_same_as_its_settings(
    bique: Bique, run: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'graph = "{small_graph_directory}"\n[model]\nunits = 2\n[training]\nepochs = 2\ndevice = "cpu"\n'
    )
    assert bique("train", recipe, "--run", tmp_path / "by-recipe").code == 0
    one, two = (json.loads((path / "evaluations" / "test.json").read_text()) for path in (run, tmp_path / "by-recipe"))
    assert one == two


def test_a_damaged_or_vanished_piece_of_a_run_is_one_sentence(bique: Bique, run: Path) -> None:
    best = run / "checkpoints" / "best.safetensors"
    best.write_bytes(best.read_bytes()[:50])
    failed = bique("predict", run, "--head", "entity 04", "--relation", "c parent")
    assert failed.code == 1
    assert "damaged" in failed.err
    best.unlink()
    assert "bique resume" in bique("predict", run, "--head", "entity 04", "--relation", "c parent").err
    (run / "config.toml").write_text("dataset = ")
    assert "not valid TOML" in bique("info", run).err


def test_a_best_checkpoint_that_was_lost_is_made_anew_of_the_last_one_with_its_own_figure(
    bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    settings = ("training.epochs=6", "training.validate_every=1", "model.units=2", "optimizer.learning_rate=1")
    words = [word for setting in settings for word in ("--set", setting)]
    assert bique("train", "--graph", small_graph_directory, "--run", run, *words).code == 0
    (run / "checkpoints" / "best.safetensors").unlink()
    assert "the last one takes its place" in " ".join(bique("resume", run).err.split())
    record = read_record(run / "checkpoints" / "best.safetensors")
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert (record["epoch"], record["valid_mrr"]) == (6, last["valid_mrr"])


def test_numbers_that_are_none_from_the_start_are_one_sentence(
    bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    huge = ("--set", "model.initial_scale=1e30", "--set", "training.epochs=2", "--set", "training.device=cpu")
    failed = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *huge)
    assert failed.code == 1
    assert "model.initial_scale" in failed.err
    drawn = bique("plot", "curves", tmp_path / "run", "--out", tmp_path / "curves.svg")
    assert drawn.code == 1
    assert "it diverged and would again" in " ".join(drawn.err.split())


def test_the_demo_shows_results_answers_and_what_to_type_next(bique: Bique, tmp_path: Path) -> None:
    quick = ("--set", "training.epochs=1", "--set", "model.units=4", "--set", "evaluation.resamples=100")
    shown = bique("demo", "--run", tmp_path / "run", *quick)
    assert shown.code == 0, shown.err
    for expected in ("BiQUE", "most frequent", "Hits@10", "ties worst", "95 % interval", "dog.n.01", "bique predict"):
        assert expected in " ".join(shown.out.split())
    assert "valid MRR" in shown.err
    told = json.loads(bique("demo", "--run", tmp_path / "run2", *quick, "--set", "dataset=wn18rr", "--json").out)
    assert told["answers"][0]["answers"][0]["known"] is not None
    assert 'dataset = "wordnet"' in (tmp_path / "run2" / "config.toml").read_text()


def test_the_shell_completes_verbs_and_datasets(monkeypatch: pytest.MonkeyPatch, bique: Bique) -> None:
    for words, place, expected in (("bique ch", 1, "checkup"), ("bique train --dataset wn18", 3, "wn18rr")):
        monkeypatch.setenv("_BIQUE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(place))
        assert expected in bique().out.split()


def test_compare_uses_the_split_and_the_resamples_it_is_given(
    bique: Bique, run: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    bique("train", "--graph", small_graph_directory, "--run", other, *QUICK, "--set", "training.seed=1")

    def compared(*words: object) -> Any:
        return json.loads(bique("compare", run, other, "--json", *words).out)

    few, many = (compared("--split", "valid", "--resamples", count) for count in (100, 400))
    assert few["protocol"]["split"] == "valid"
    assert few["runs"][1]["metrics"] != compared("--resamples", 100)["runs"][1]["metrics"]
    intervals = [found["runs"][1]["difference"]["mrr"]["interval"] for found in (few, many)]
    assert intervals[0] != intervals[1]


def test_reproduce_prints_the_papers_table_beside_ours(bique: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    done = bique("reproduce", "averages")
    assert done.code == 0, done.err
    assert ".502 ± .001" in done.out
    assert "data not reached" in " ".join(done.out.split())
    assert "NVIDIA H200" in done.out
    for shown in (done.out, bique("reproduce", "table2").out):
        assert "yago3-10-quarter" in shown, "no name is broken where there is room for it"
    assert "_derivationally_related_form" in bique("reproduce", "table4").out
    rows = json.loads(bique("reproduce", "table4", "--json").out)["rows"]
    assert rows[0][0] == "_hypernym"
    assert bique("reproduce", "averages", "--markdown").out.startswith("| graph | BiQUE | MRR |")


def test_reproduce_trains_what_is_missing_and_keeps_it(
    bique: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a quick recipe on a graph that stands in for WN18RR."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "recipes" / "bique"
    folder.mkdir(parents=True)
    quick = 'dataset = "wordnet"\n[model]\nunits = 1\n[training]\nepochs = 1\ndevice = "cpu"\n'
    (folder / "wn18rr.toml").write_text(quick)
    refused = bique("reproduce", "table4", "--run", "--seeds", "1")
    assert refused.code == 1
    assert "its name should be bique/wordnet-seed0.json" in refused.err  # no figure of WN18RR
    tables = import_module("bique.analysis.reproduce")
    ours = {**tables.paper("fast"), "datasets": ["wordnet"]}
    monkeypatch.setattr(tables, "paper", lambda name: ours)
    (folder / "wordnet.toml").write_text('extends = "wn18rr.toml"')
    done = bique("reproduce", "fast", "--run", "--seeds", "2")
    assert done.code == 0, done.err
    kept = sorted(file.name for file in (tmp_path / "results" / "bique").iterdir())
    assert kept == ["wordnet-seed0.json", "wordnet-seed1.json"]
    assert "no recipe recipes/fast/wordnet.toml" in done.err


def test_reproduce_draws_figures_and_only_them(bique: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = json.loads((ROOT / "results" / "bique" / "wn18rr-seed0.json").read_text(encoding="utf-8"))
    found = Results(tmp_path / "results")
    found.folder.mkdir()
    empty = bique("reproduce", "figure2", "--out", "sizes.svg")
    assert empty.code == 1
    assert "nothing of figure 2 was run yet" in empty.err
    for size in (32, 256):
        given["settings"]["model"]["units"] = size // 8
        found.add(given, f"figure2/wn18rr-bique-{size}")
    done = bique("reproduce", "figure2", "--out", "sizes.svg")
    assert done.code == 0, done.err
    assert ".455" in done.out
    assert "BiQUE" in (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    refused = bique("reproduce", "table5", "--out", "table.svg")
    assert refused.code == 1
    assert "use --markdown or --json" in refused.err
    for options in (["--json"], ["--run"], ["--markdown"], ["--seeds", "2"]):
        ignored = bique("reproduce", "figure3", *options)
        assert ignored.code == 1, options
    assert bique("reproduce", "table2", "--json", "--markdown").code == 1


def test_reproduce_says_what_it_cannot_train(bique: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = bique("reproduce", "averages", "--run", "--seeds", "1")
    assert done.code == 0
    assert "no recipe" in done.err
    missing = bique("reproduce", "averages", "--results", tmp_path / "nowhere")
    assert missing.code == 1
    assert "no such folder" in missing.err
    assert bique("reproduce", "table9", "--run").code == 1


def test_models_lists_every_model_with_its_formula(bique: Command) -> None:
    from bique.models import MODELS

    done = bique("models")
    assert done.code == 0
    assert all(f"{name}  " in done.out for name in MODELS)
    rows = json.loads(bique("models", "conve", "--json").out)
    assert rows[0]["entity_width"] == 208
    assert {row["key"] for row in rows[0]["settings"]} >= {"model.filters", "model.kernel"}
    assert "Feature maps." in bique("models", "conve").out
    unknown = bique("models", "trnse")
    assert unknown.code == 1
    assert "did you mean 'transe'" in unknown.err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["model.name=conv"], "unknown model 'conv'"),
        (["model.name=conve", "model.filtres=3"], "did you mean 'filters'"),
        (["model.name=conve", "model.height=7"], "does not divide units = 200; try height = 2 or 4 or 5 or"),
        (["model.name=compgcn", "model.units=16", "model.height=4"], "8 × 4; use a smaller kernel or more units"),
        (["epochs=3"], "did you mean 'training.epochs'?"),
        (["training.epochs=true"], "training.epochs: input should be a valid integer (found True)"),
        (['optimizer.learning_rate="0.1"'], "input should be a valid number (found '0.1')"),
        (["training.deterministic=yes"], "input should be a valid boolean (found 'yes')"),
        (["model.name=nope"], "unknown model 'nope'; choose one of"),
        (["model.name=distmult", "model.translation=true"], "unknown key 'model.translation'; known here: "),
        (["model.name=conve", "model.units=1000000000", "model.height=3"], "does not divide units = 1000000000"),
        (["objective.loss=margin"], "needs negatives"),
        (["objective.loss=binary"], "penalty.weight = 0"),
        (["objective.loss=binary", "objective.negatives=5"], "negatives = 0"),
        (["objective.sampler=bernoulli"], "needs negatives"),
        (["objective.sampler=pairs"], "needs negatives"),
        (["objective.loss=shared_softmax"], "no one tail"),
        (["objective.loss=shared_softmax", "penalty.weight=0", "objective.negatives=4"], "or use 'softmax'"),
        (["objective.loss=shared_softmax", "penalty.weight=0", "objective.target_weight=degree"], "many targets"),
        (["objective.sampler=pairs", "objective.negatives=2", "model.name=conve"], "batch norms"),
        (["objective.sampler=shared"], "needs negatives"),
        (["objective.filtered=true"], "is about negatives"),
        (["objective.smoothing_share=published"], "belongs to loss = 'binary'"),
        (["model.name=roth", "model.units=3"], "multiple of 2"),
        (["model.name=complex", "penalty.relation_part=both"], "use 'product'"),
        (["model.name=compgcn", "model.units=95"], "does not divide units"),
        (["model.name=interacte", "model.kernel=51"], "too large"),
        (["objective.margin=2"], "belongs to the losses"),
        (["model.name=quate", "penalty.head=plain"], "is an option of bique"),
        (["objective.loss=binary", "penalty.weight=0", "objective.smoothing_share=published"], "needs label_smoothing"),
        (["objective.temperature=2"], "belongs to the loss"),
        (["penalty.kind=dura", "penalty.entity=1"], "has one weight"),
        (["penalty.kind=dura", "model.name=murp"], "murp compares by a distance; use 'l2' or 'n3'"),
        (["model.name=transe", "objective.loss=binary", "penalty.weight=0"], "transe are minus a distance"),
        (["model.name=rotate", "objective.loss=logistic"], "rotate are minus a distance"),
        (["model.name=rotate", "objective.loss=logistic", "objective.negatives=2"], "rotate are minus a distance"),
        (["penalty.head=plain", "model.translation=false"], "without it every head is plain"),
        (["model.name=rotate", "penalty.relation=1"], "angles of rotate have no size"),
        (["objective.loss=margin", "objective.negatives=2", "objective.label_smoothing=0.1"], "losses with labels"),
        (["objective.negatives=2", "objective.filtered=true", "objective.label_smoothing=0.1"], "some of them none"),
        (["objective.negatives=2", "objective.sampler=bernoulli", "objective.target_weight=degree"], "directions"),
    ],
)
def test_a_combination_that_makes_no_sense_is_one_sentence(
    settings: list[str], said: str, bique: Command, tmp_path: Path
) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    done = bique("train", "--dataset", "wordnet", "--run", tmp_path / "run", *words)
    assert done.code == 1, done.out
    assert said in " ".join(done.err.split())
    assert not (tmp_path / "run").exists()


SMALL = ("name=compgcn", "units=8", "start=8", "height=4", "filters=2", "kernel=2")
MESSAGES = [
    word
    for setting in ("training.epochs=1", "training.device=cpu", *(f"model.{one}" for one in SMALL))
    for word in ("--set", setting)
]


def test_a_model_that_needs_its_graph_finds_it_where_it_is_said_to_be(
    bique: Command, small_graph_directory: Path, tmp_path: Path
) -> None:
    done = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "messages", *MESSAGES)
    assert done.code == 0, done.err
    small_graph_directory.rename(tmp_path / "moved")
    question = ("--head", "entity 01", "--relation", "a next")
    assert "no longer at" in bique("predict", tmp_path / "messages", *question).err
    for verb, rest in (("predict", question), ("evaluate", ())):
        done = bique(verb, tmp_path / "messages", *rest, "--graph", tmp_path / "moved")
        assert done.code == 0, done.err


def test_a_model_that_passes_messages_finds_its_graph_for_an_export_too(
    bique: Command, small_graph_directory: Path, tmp_path: Path
) -> None:
    assert bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *MESSAGES).code == 0
    small_graph_directory.rename(tmp_path / "moved")
    done = bique("export", tmp_path / "run", tmp_path / "e.npy", "--graph", tmp_path / "moved")
    assert done.code == 0, done.err
    (tmp_path / "one.tsv").write_text("a\tr\ta\n")
    assert bique("import", tmp_path / "one.tsv", tmp_path / "one", "--split", "1,0,0").code == 0
    lonely = bique("train", "--graph", tmp_path / "one", "--run", tmp_path / "lonely", *MESSAGES)
    assert lonely.code == 1
    assert "has one entity" in lonely.err
    assert not (tmp_path / "lonely").exists()


def test_a_checkup_says_a_thing_on_one_line(bique: Command, small_graph_directory: Path) -> None:
    lines = [line.strip() for line in bique("checkup", small_graph_directory).out.splitlines()]
    assert any(re.fullmatch(r"Training facts per entity: mean [\d.]+, median \d+, most \d+", line) for line in lines)
    assert "Relations (1-1: 2, N-1: 1)" in lines


def test_geometry_shows_every_relation_and_explains_one(bique: Command, run: Path, tmp_path: Path) -> None:
    done = bique("geometry", run, "--parquet", tmp_path / "geometry.parquet")
    assert done.code == 0, done.err
    assert all(name in done.out for name in ("a next", "b pair", "c parent", "rank correlation"))
    words = bique("geometry", run, "--relation", "c parent").out
    assert "what it does to a head" in words
    assert "turns its blocks by" in words
    found = json.loads(bique("geometry", run, "--json").out)
    assert [row["facts"]["relation"] for row in found["relations"]] == ["a next", "b pair", "c parent"]
    assert bique("geometry", run, "--relation", "d").code == 1
    told = [one for one in found["compositions"] if one["relation"] == "c parent"]
    assert told  # next to it in the tree is often a child of the same
    for one in told:
        path = f"“{one['first']}” then “{one['second']}” ends at a tail of “c parent” in {one['share']:.0%}"
        assert f"{path} of {one['paths']} ways" in words
        assert f"to that of “c parent” it is {one['product_distance']:.2f}, where 0 is the same" in words
    assert json.loads(bique("geometry", run, "--relation", "c parent", "--json").out)["compositions"] == told

    import polars

    one = tmp_path / "one.parquet"
    assert bique("geometry", run, "--relation", "c parent", "--parquet", one).code == 0
    assert set(polars.read_parquet(one)["relation"]) == {"c parent", "c parent⁻¹"}
    before = one.read_bytes()
    for wrong in ("/dev/full", tmp_path, tmp_path / "nowhere" / "x.parquet"):
        refused = bique("geometry", run, "--parquet", wrong)
        assert refused.code == 1
        assert "Traceback" not in refused.err
    assert one.read_bytes() == before
    rows = polars.read_parquet(tmp_path / "geometry.parquet")
    assert rows.columns == ["relation", "angle", "rapidity", "modulus", "phase"]
    assert rows["relation"].n_unique() == 6


@pytest.mark.parametrize(
    "words",
    ["[enforce fail at alloc_cpu.cpp] can't allocate memory", "std::bad_alloc", "could not create a primitive"],
)
def test_too_little_memory_is_one_sentence_whichever_library_says_so(words: str, monkeypatch, capsys) -> None:
    def without_memory(**_: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(cli, "app", without_memory)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "memory" in capsys.readouterr().err


def test_a_product_that_a_library_does_not_know_is_no_lack_of_memory(monkeypatch) -> None:
    def unknown(**_: object) -> None:
        raise RuntimeError("could not create a primitive descriptor for the matmul primitive")

    monkeypatch.setattr(cli, "app", unknown)
    with pytest.raises(RuntimeError, match="descriptor"):
        cli.main()


def test_the_baseline_is_in_the_json_too(bique: Command, run: Path) -> None:
    found = json.loads(bique("evaluate", run, "--baseline", "--json").out)
    assert found["baseline"]["metrics"].keys() == found["metrics"].keys()
    assert found["baseline"]["metrics"] != found["metrics"]
    assert "baseline" not in json.loads(bique("evaluate", run, "--json").out)


def test_a_relation_that_is_called_as_an_inverse_one_is_another(bique: Command, tmp_path: Path) -> None:
    facts = "".join(f"e{i}\t{relation}\te{(i * 7 + 1) % 12}\n" for i in range(12) for relation in ("r", "r⁻¹"))
    (tmp_path / "facts.tsv").write_text(facts, encoding="utf-8")
    assert bique("import", tmp_path / "facts.tsv", tmp_path / "graph", "--split", "0.8,0.1,0.1").code == 0
    words = ["--set", "training.epochs=1", "--set", "model.units=2", "--set", "training.device=cpu"]
    assert bique("train", "--graph", tmp_path / "graph", "--run", tmp_path / "run", *words).code == 0
    pytest.importorskip("polars")
    import polars

    file = tmp_path / "r.parquet"
    assert bique("geometry", tmp_path / "run", "--relation", "r", "--parquet", file).code == 0
    every = tmp_path / "every.parquet"
    assert bique("geometry", tmp_path / "run", "--parquet", every).code == 0
    assert len(polars.read_parquet(every)) == 2 * len(polars.read_parquet(file))
