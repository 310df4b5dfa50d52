"""Things that users, editors and disks do to files: each is one sentence, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from bique.config import parse_config
from bique.runs import Run, read_checkpoint, write_checkpoint
from bique.runs import run as runs

QUICK = ["--set", "training.epochs=2", "--set", "model.units=2", "--set", "training.device=cpu"]
ASK = ("--head", "entity 04", "--relation", "c parent")
ROOT = Path(__file__).parents[2]
Bique = Callable[..., Any]


def refused(result: Any, *words: str) -> None:
    assert result.code == 1, (result.out, result.err)
    assert any(line.startswith("error: ") for line in result.err.splitlines()), result.err
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err


def test_a_graph_whose_files_were_changed_is_not_the_runs_graph(
    bique: Bique, run: Path, small_graph_directory: Path
) -> None:
    before = (run / "evaluations" / "test.json").read_bytes()
    test = np.load(small_graph_directory / "test.npy")
    np.save(small_graph_directory / "test.npy", test[:, [2, 1, 0]])
    refused(bique("evaluate", run), "its files have changed")
    refused(bique("train", "--graph", small_graph_directory, *QUICK), "its files have changed")
    assert (run / "evaluations" / "test.json").read_bytes() == before


def test_a_run_without_its_last_checkpoint_is_not_begun_anew(bique: Bique, run: Path) -> None:
    best, metrics = (run / "checkpoints" / "best.safetensors").read_bytes(), (run / "metrics.jsonl").read_bytes()
    (run / "checkpoints" / "last.safetensors").unlink()
    refused(bique("resume", run), "cannot go on")
    assert (run / "checkpoints" / "best.safetensors").read_bytes() == best
    assert (run / "metrics.jsonl").read_bytes() == metrics


def test_a_finished_run_without_its_best_checkpoint_is_mended(bique: Bique, run: Path) -> None:
    (run / "checkpoints" / "best.safetensors").unlink()
    mended = bique("resume", run)
    assert mended.code == 0
    assert "takes its place" in mended.err
    assert bique("predict", run, *ASK).code == 0


@pytest.mark.parametrize(
    ("former", "edited"),
    [
        ("units = 2", "units = 3"),
        ("translation = true", "translation = false"),
        ('name = "adagrad"', 'name = "adam"'),
        ("learning_rate = 0.1", "learning_rate = 0.2"),
        ('loss = "softmax"', 'loss = "logistic"'),
        ("weight = 0.1", "weight = 0.2"),
        ("batch_size = 500", "batch_size = 50"),
        ("seed = 0", "seed = 1"),
        ('ties = "worst"', 'ties = "best"'),
    ],
)
def test_settings_that_do_not_fit_the_checkpoint_are_refused(former: str, edited: str, bique: Bique, run: Path) -> None:
    config = (run / "config.toml").read_text()
    assert former in config
    (run / "config.toml").write_text(config.replace(former, edited).replace("epochs = 2", "epochs = 3"))
    setting = edited.split(" ", 1)[0]
    for asked in (bique("resume", run), bique("predict", run, *ASK)):
        refused(asked, f".{setting} = ", "config.toml has", "set it back")


@pytest.mark.parametrize("former", ["adagrad", "adam"])
def test_an_optimizer_that_an_older_checkpoint_does_not_name_is_refused_by_its_state(
    former: str, bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = ["train", "--graph", small_graph_directory, "--run", run, *QUICK, "--set", f"optimizer.name={former}"]
    assert bique(*words).code == 0
    last = read_checkpoint(run / "checkpoints" / "last.safetensors")
    del last.record["made_of"]["optimizer"]
    write_checkpoint(run / "checkpoints" / "last.safetensors", last)
    config, other = (run / "config.toml").read_text(), "adam" if former == "adagrad" else "adagrad"
    config = config.replace(f'name = "{former}"', f'name = "{other}"').replace("epochs = 2", "epochs = 3")
    (run / "config.toml").write_text(config)
    refused(bique("resume", run), "optimizer", "was config.toml edited")


def test_a_state_of_another_size_is_refused(bique: Bique, run: Path) -> None:
    last = read_checkpoint(run / "checkpoints" / "last.safetensors")
    name = "optimizer/entity/sum"
    last.tensors[name] = last.tensors[name][:1].clone()  # one row would be spread over all
    write_checkpoint(run / "checkpoints" / "last.safetensors", last)
    (run / "config.toml").write_text((run / "config.toml").read_text().replace("epochs = 2", "epochs = 3"))
    refused(bique("resume", run), "optimizer", "was config.toml edited")


def test_more_epochs_in_the_settings_are_trained_on_resume(bique: Bique, run: Path) -> None:
    (run / "config.toml").write_text((run / "config.toml").read_text().replace("epochs = 2", "epochs = 4"))
    assert bique("resume", run).code == 0
    assert [json.loads(line)["epoch"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3, 4]


DAMAGE = {
    "metrics.jsonl": [b"\xff\xfe\n", b'[]\n5\nnull\n{"epoch": "x"}\n'],
    "vocabulary/graph.json": [b"{}", b"[]", b"null", b"", b"\xff"],
    "vocabulary/entities.offsets.npy": [b"", b"x"],
    "vocabulary/relations.utf8": [b"\xff" * 21, b""],
    "checkpoints/best.safetensors": [b"", b"x" * 100],
    "checkpoints/last.safetensors": [b""],
    "config.toml": [b"\xff", b"[model]"],
    "environment.json": [b"[]", b""],
}


@pytest.mark.parametrize(("name", "content"), [(name, content) for name, group in DAMAGE.items() for content in group])
def test_a_damaged_file_of_a_run_never_gives_a_traceback(name: str, content: bytes, bique: Bique, run: Path) -> None:
    whole = Path(copytree(run, run.with_name("whole")))
    (run / name).write_bytes(content)
    for words in (("info", run), ("predict", run, *ASK), ("evaluate", run), ("resume", run), ("compare", whole, run)):
        result = bique(*words)
        assert result.code in (0, 1), (words, result)
        if result.code:
            refused(result)


@pytest.mark.parametrize("name", ["train.npy", "entities.offsets.npy", "relations.utf8", "graph.json"])
@pytest.mark.parametrize("content", [b"", b"\xff" * 21])
def test_a_damaged_file_of_a_graph_never_gives_a_traceback(
    name: str, content: bytes, bique: Bique, small_graph_directory: Path
) -> None:
    (small_graph_directory / name).write_bytes(content)
    refused(bique("checkup", small_graph_directory))
    refused(bique("train", "--graph", small_graph_directory, *QUICK))


@pytest.mark.parametrize("section", ["model", "objective", "penalty", "optimizer", "training", "evaluation"])
def test_a_run_whose_settings_were_cut_off_does_not_go_on_with_others(section: str, bique: Bique, run: Path) -> None:
    file = run / "config.toml"
    file.write_text(file.read_text(encoding="utf-8").partition(f"[{section}]")[0], encoding="utf-8")
    for words in (("resume", run), ("evaluate", run), ("info", run)):
        result = bique(*words)
        assert result.code == 1, words
        assert f"has no [{section}], so it was cut off" in " ".join(result.err.split())


def test_a_checkpoint_under_another_name_is_refused(bique: Bique, run: Path) -> None:
    last, best = (run / "checkpoints" / f"{name}.safetensors" for name in ("last", "best"))
    kept = last.read_bytes(), best.read_bytes()
    for file, content, words in ((best, kept[0], ("evaluate", run)), (last, kept[1], ("resume", run))):
        file.write_bytes(content)
        result = bique(*words)
        assert result.code == 1, result.out
        assert "is not the file that belongs here" in " ".join(result.err.split())
        last.write_bytes(kept[0])
        best.write_bytes(kept[1])


def test_a_checkpoint_of_another_model_or_graph_is_refused(bique: Bique, run: Path, tmp_path: Path) -> None:
    """Tables of DistMult and TransE have the same shapes; nothing else would tell."""
    graph = Run.open(run).config.graph
    same = ("--graph", graph, *QUICK, "--set", "model.units=8")
    one, other = tmp_path / "distmult", tmp_path / "transe"
    for path in (one, other):
        assert bique("train", *same, "--run", path, "--set", f"model.name={path.name}").code == 0
    for name in ("best", "last"):
        file = one / "checkpoints" / f"{name}.safetensors"
        kept = file.read_bytes()
        file.write_bytes((other / "checkpoints" / f"{name}.safetensors").read_bytes())
        result = bique("evaluate" if name == "best" else "resume", one)
        assert result.code == 1, result.out
        assert "was trained with model.name = 'transe', config.toml has 'distmult'" in " ".join(result.err.split())
        file.write_bytes(kept)
    record = one / "vocabulary" / "graph.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"hash": "0" * 64}))
    asked = bique("predict", one, *ASK)
    assert asked.code == 1
    assert "was trained on another graph" in " ".join(asked.err.split())


@pytest.mark.parametrize("content", ["{}", '{"metrics": {}}', '{"metrics": null}', '{"metrics": {"mrr": "x"}}'])
def test_figures_that_are_none_say_how_to_rank_again(content: str, bique: Bique, run: Path) -> None:
    (run / "evaluations" / "test.json").write_text(content)
    result = bique("info", run)
    assert result.code == 1
    assert "rank again with: bique evaluate" in " ".join(result.err.split())


def test_brackets_and_control_characters_are_shown_not_obeyed(bique: Bique, tmp_path: Path) -> None:
    names = ["[/]", "[bold]x[/bold]", "\x1b[31mred", "line\x0bbreak"]
    facts = [f"{a}\t[red]r[/]\t{b}\n" for a in names for b in names if a != b] * 3
    (tmp_path / "[b]facts.tsv").write_text("".join(facts), encoding="utf-8", newline="\n")
    graph, run = tmp_path / "[b] g", tmp_path / "[b] run"
    shown = [
        bique("import", tmp_path / "[b]facts.tsv", graph, "--split", "0.6,0.2,0.2"),
        bique("checkup", graph),
        bique("train", "--graph", graph, "--run", run, *QUICK),
        bique("evaluate", run, "--by", "relation"),
        bique("predict", run, "--head", "[/]", "--relation", "[red]r[/]"),
        bique("compare", run, copytree(run, tmp_path / "[b] copy")),
        bique("export", run, tmp_path / "[b]e.npy"),
    ]
    assert [one.code for one in shown] == [0] * len(shown), [one.err for one in shown]
    assert "[red]r[/]" in shown[1].out
    assert "[red]r[/]" in shown[3].out
    assert "[bold]x[/bold]" in shown[4].out
    assert "\\x1b[31mred" in shown[4].out
    assert "\x1b" not in shown[4].out
    assert "'" in shown[0].out.splitlines()[-1]  # the suggested command quotes the blank in the path
    refused(bique("predict", run, "--head", "[31mre", "--relation", "[red]r[/]"))


def test_answers_never_replace_the_questions_or_a_device(bique: Bique, run: Path, tmp_path: Path) -> None:
    questions = tmp_path / "q.tsv"
    questions.write_text("entity 04\tc parent\t?\n")
    refused(bique("predict", run, "--queries", questions, "--out", questions), "replace the questions")
    (tmp_path / "pipe.tsv").mkdir()
    refused(bique("predict", run, "--queries", questions, "--out", tmp_path / "pipe.tsv"), "not an ordinary file")
    refused(bique("predict", run, "--queries", questions, "--out", tmp_path / "no" / "a.tsv"), "make it first")
    questions.write_text("entity 04\tc parent\t?\nentity 99\tc parent\t?\n")
    refused(bique("predict", run, "--queries", questions, "--out", tmp_path / "a.tsv"), "q.tsv:2: no entity")


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("optimizer.learning_rate=1e300", "learning_rate"),
        ("model.units=99999999999999999999", "units"),
        ("training.seed=1\nx=2", "seed"),
    ],
)
def test_settings_beyond_all_use_are_refused_and_leave_nothing(
    setting: str, word: str, bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    refused(bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", "--set", setting), word)
    assert not (tmp_path / "run").exists()


def test_a_diverging_run_keeps_its_last_good_checkpoint(
    bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    wild = ["--set", "optimizer.learning_rate=1e30"]
    refused(
        bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK, *wild), "checkpoint is kept"
    )
    assert (tmp_path / "run" / "checkpoints" / "last.safetensors").exists()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_knows_few_characters_gets_escapes(encoding: str, run: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (("predict", run, *ASK), ("predict", run, *ASK, "--json"), ("evaluate", run)):
        command = [sys.executable, "-m", "bique", *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_full_standard_output_is_one_sentence(run: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "bique", "datasets", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr


def test_the_version_is_told(bique: Bique) -> None:
    from bique import __version__

    assert bique("--version").out.strip() == __version__


def test_figures_of_a_former_model_are_not_shown_beside_new_ones(bique: Bique, run: Path) -> None:
    assert bique("evaluate", run, "--split", "train").code == 0
    assert json.loads(bique("info", run, "--json").out)["evaluations"].keys() == {"test", "train", "valid"}
    (run / "config.toml").write_text((run / "config.toml").read_text().replace("epochs = 2", "epochs = 30"))
    assert bique("resume", run).code == 0
    shown = bique("info", run).out
    assert json.loads(bique("info", run, "--json").out)["evaluations"].keys() == {"test", "valid"}
    assert "train " not in [line[:6] for line in shown.splitlines()]
    assert "(ties worst)" in " ".join(shown.split())


def test_a_stopped_run_is_not_finished_because_it_has_patience(bique: Bique, run: Path) -> None:
    patient = (run / "config.toml").read_text().replace("epochs = 2", "epochs = 5000\npatience = 1000")
    (run / "config.toml").write_text(patient)
    assert "stopped after epoch 2 of 5000" in bique("evaluate", run).err
    (run / "config.toml").write_text(patient.replace("patience = 1000", "patience = 1"))
    assert "stopped after" in bique("evaluate", run).err, "the best is its last"
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    metrics[-1] |= {"epoch": 7}
    (run / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in metrics))
    assert "stopped after" not in bique("evaluate", run).err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name themselves")
def test_a_path_that_could_not_be_read_again_is_refused_before_training(
    bique: Bique, small_graph_directory: Path, tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"r\xff")
    refused(bique("train", "--graph", small_graph_directory, "--run", odd, *QUICK), "UTF-8")
    copytree(small_graph_directory, odd)
    refused(bique("train", "--graph", odd, "--run", tmp_path / "run", *QUICK), "UTF-8")
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name themselves")
def test_a_file_whose_name_is_not_utf8_is_imported_and_a_graph_is_not_named_so(bique: Bique, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"f\xff.tsv")
    odd.write_text("a\tr\tb\nhalf a line\nb\tr\tc\n")
    done = bique("import", odd, tmp_path / "graph", "--split", "1,0,0", "--on-bad", "quarantine", "--labels", odd)
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "graph" / "graph.json").read_text())["origin"]
    assert told["files"]["train"] == told["labels"] == "f\\udcff.tsv"
    assert "f\\\\udcff.tsv" in (tmp_path / "graph" / "quarantine.jsonl").read_text()
    other = tmp_path / os.fsdecode(b"g\xff")
    refused(bique("import", odd, other, "--split", "1,0,0", "--on-bad", "quarantine"), "UTF-8")
    assert not other.exists()


def test_what_a_killed_save_leaves_is_removed(bique: Bique, run: Path) -> None:
    left = [run / "checkpoints" / name for name in (".last.safetensors.17.part", ".tmpx8Q0BH")]
    for file in left:
        file.write_bytes(b"half")
    (run / "config.toml").write_text((run / "config.toml").read_text().replace("epochs = 2", "epochs = 3"))
    assert bique("resume", run).code == 0
    assert not any(file.exists() for file in left)


def test_a_name_that_another_process_takes_meanwhile_is_passed_over(
    small_graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    real = runs.free_path

    def taken_meanwhile(folder: Path, stem: str) -> Path:
        free = real(folder, stem)
        if free.name.endswith("-1"):
            (free / "theirs").mkdir(parents=True)
        return free

    monkeypatch.setattr(runs, "free_path", taken_meanwhile)
    made = Run.create(parse_config({"dataset": "small"}), small_graph)
    assert made.path.name.endswith("-2")


def test_without_a_home_the_remedy_is_named(bique: Bique, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BIQUE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    refused(bique("checkup", "wordnet"), "BIQUE_CACHE")


def test_a_result_is_checked_by_an_optimised_python_too(tmp_path: Path) -> None:
    result = json.loads((ROOT / "results" / "bique" / "wordnet-seed0.json").read_text())
    result["evaluations"]["test"]["protocol"]["ties"] = "best"
    (tmp_path / "bique").mkdir()
    (tmp_path / "bique" / "wordnet-seed0.json").write_text(json.dumps(result))
    words = ["-O", "-m", "bique", "reproduce", "averages", "--results", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1, done.stdout
    assert "not measured as the tables are" in done.stderr


def test_without_docstrings_formulas_are_missed_in_a_sentence() -> None:
    command = [sys.executable, "-OO", "-m", "bique", "models"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: a model's formula is its docstring")
    assert "Traceback" not in done.stderr
