from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from bique.analysis import TABLES, Results, measured, reproduce, wanted
from bique.analysis.reproduce import paper, sizes_measured
from bique.errors import UserError
from bique.evaluation.metrics import MEANS


def result(model: str = "bique", dataset: str = "wn18rr", seed: int = 0, mrr: float = 0.5, **changes: Any) -> Any:
    """A result as `Run.summary` gives it, reduced to what is read."""
    metrics = {"mrr": mrr, "hits_at_1": mrr - 0.1, "hits_at_3": mrr + 0.1, "hits_at_10": mrr + 0.2}
    protocol = {
        "dataset": changes.get("measured_on", dataset),
        "graph_hash": "0" * 64,
        "split": "test",
        "filtered_by": ["train", "valid", "test"],
        "ties": changes.get("ties", "worst"),
        "seed": seed,
        "version": "1",
    }
    relations = {name: metrics | {"hits_at_10": mrr} for name in paper("table4")["rows"]}
    training = {"epochs": changes.get("epochs", 200), "batch_size": 300, "seed": seed}
    return {
        "model": model,
        "seed": seed,
        "epochs": training["epochs"],
        "seconds": 50.0 + seed,
        "graph": {"entities": 40_943, "relations": 11, "hash": "0" * 64},
        "settings": {
            "dataset": dataset,
            "model": {"name": model, "units": changes.get("units", 128)},
            "penalty": {"weight": 0.15},
            "training": training,
            "evaluation": {},
        },
        "environment": {"gpu": "NVIDIA H200", "threads": 2, "precision": "bf16"},
        "evaluations": {"test": {"metrics": metrics, "protocol": protocol, "by": {"relation": relations}}},
    }


@pytest.fixture
def results(tmp_path: Path) -> Results:
    found = Results(tmp_path / "results")
    for seed, mrr in enumerate((0.498, 0.503, 0.502)):
        found.add(result(seed=seed, mrr=mrr), "bique/wn18rr")
    found.add(result(dataset="yago3-10-quarter", mrr=0.41), "bique/yago3-10-quarter")
    return found


def row(name: str, results: Results, *start: str) -> list[str]:
    return next(one for one in reproduce(name, results).rows if one[: len(start)] == list(start))


def test_means_and_deviations_are_those_of_the_seeds(results: Results) -> None:
    cells = reproduce("averages", results).rows[1]
    values = [0.498, 0.503, 0.502]
    expected = f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}".replace("0.", ".")
    assert cells[:3] == ["", "ours", expected]
    assert cells[-4:] == ["3", "k = 128, λ = 0.15, batch 300, 200 epochs, bf16", "NVIDIA H200", "51 s"]


def test_the_main_tables_take_the_best_seed_as_the_paper_does(results: Results) -> None:
    rows = reproduce("table2", results).rows
    place = rows.index(["wn18rr", "BiQUE", "paper", ".504", ".459", ".519", ".588", ""])
    assert rows[place + 1] == ["", "", "ours", ".503", ".403", ".603", ".703", "3"]


def test_a_dataset_that_was_not_reached_gets_no_number_and_its_substitute_is_named(results: Results) -> None:
    rows = reproduce("table2", results).rows
    place = rows.index(["yago3-10", "BiQUE", "paper", ".581", ".509", ".624", ".713", ""])
    assert rows[place + 1][3] == "data not reached"
    assert rows[place + 2][:4] == ["yago3-10-quarter (a substitute)", "BiQUE", "ours", ".410"]


def test_a_system_that_was_not_run_says_so(results: Results) -> None:
    rows = reproduce("table2", results).rows
    place = rows.index(["wn18rr", "TransE", "paper", ".226", "–", "–", ".501", ""])
    assert rows[place + 1][3] == "not run"


def test_table4_has_the_mean_of_each_relation(results: Results) -> None:
    assert row("table4", results, "_hypernym") == ["_hypernym", "1251", ".276", "–", ".283", "–", ".306", ".501"]


@pytest.mark.parametrize(("change", "said"), [({"ties": "mean"}, "ties"), ({"epochs": 3}, "settings")])
def test_unlike_results_are_not_averaged(change: dict[str, Any], said: str, results: Results) -> None:
    results.add(result(seed=3, **change), "bique/wn18rr")
    with pytest.raises(UserError, match=said):
        reproduce("averages", results)


def test_a_result_is_what_its_name_says(results: Results) -> None:
    """A copy under another model's name, and a seed that counts twice."""
    text = (results.folder / "bique" / "wn18rr-seed0.json").read_text()
    for name in ("quate/wn18rr-seed0.json", "bique/wn18rr-seed9.json"):
        copy = results.folder / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
        with pytest.raises(UserError, match=r"its name should be bique/wn18rr-seed0\.json"):
            reproduce("table2", Results(results.folder))
        copy.unlink()


def test_another_precision_is_not_averaged_and_all_hardware_is_named(results: Results) -> None:
    other = result(seed=3)
    other["environment"]["device"] = "CPU, 2 threads"
    results.add(other, "bique/wn18rr")
    assert "CPU, 2 threads and NVIDIA H200" in measured(results.of("bique/wn18rr"), "wn18rr")
    other["environment"]["precision"] = "fp32"
    results.add(other, "bique/wn18rr")
    with pytest.raises(UserError, match="precision"):
        reproduce("averages", Results(results.folder))


@pytest.mark.parametrize("text", ["", "{", "{}", '{"evaluations": {"test": {"metrics": {"mrr": "high"}}}}', "[1]"])
def test_a_file_that_is_no_result_is_named(text: str, results: Results) -> None:
    (results.folder / "bique" / "fb15k-237-seed0.json").write_text(text)
    with pytest.raises(UserError, match="fb15k-237-seed0"):
        reproduce("averages", Results(results.folder))


def test_what_is_added_is_read_again_as_it_was(results: Results) -> None:
    given = result(dataset="cn-100k", seed=7)
    file = results.add(given, "bique/cn-100k")
    assert file == results.folder / "bique" / "cn-100k-seed7.json"
    assert json.loads(file.read_text()) == given
    assert results.of("bique/cn-100k") is not None


@pytest.mark.parametrize(("name", "figures"), [(name, 2 if name in ("table5", "fast") else 4) for name in TABLES])
def test_the_papers_lines_are_whole(name: str, figures: int) -> None:
    for line in paper(name).get("rows", {}).values():
        lines = (
            [line] if isinstance(line, str) else [line[key] for key in line if key not in ("model", "recipe", "source")]
        )
        assert all(len(text.split()) == figures for text in lines)
    assert len(MEANS) == 4


def test_variants_stand_beside_the_papers_and_belong_to_their_dataset(results: Results) -> None:
    results.add(result(mrr=0.45), "table5/wn18rr-no-penalty")
    assert row("table5", results, "wn18rr", "without penalty")[2:] == [".457", ".467", ".450", ".550", "1"]
    assert row("table5", results, "wn18rr", "without Q⁺")[4] == "not run"
    with pytest.raises(UserError, match=r"its name should be table5/wn18rr-…-seed0\.json"):
        results.add(result(), "table5/fb15k-237-no-penalty")


def test_table6_counts_everything_that_is_learned(results: Results) -> None:
    given = result(mrr=0.49)
    given["settings"]["model"]["units"] = 64
    results.add(given, "table6/wn18rr-bique")
    found = results.of("table6/wn18rr-bique")
    assert found is not None
    assert found.parameters == 40_943 * 512 + 22 * 1024
    rows = reproduce("table6", results).rows
    assert ["", "", "ours", "20.99M", "200", ".490", ".590", "1"] in rows


def test_figure2_has_a_line_per_system(results: Results) -> None:
    for size, mrr in ((32, 0.4), (256, 0.5)):
        results.add(result(model="quate", mrr=mrr, units=size // 4), f"figure2/wn18rr-quate-{size}")
    assert row("figure2", results, "QuatE²")[1:5] == [".300", "not run", "not run", ".400"]
    assert sizes_measured(results, "mrr")["QuatE²"] == [(32, 0.4, None), (256, 0.5, None)]


def test_faster_settings_stand_beside_the_papers(results: Results) -> None:
    results.add(result(mrr=0.502, epochs=60), "fast/wn18rr")
    assert row("fast", results, "wn18rr", "fast")[2:8] == ["", "", ".502", ".602", "1", "50 s"]


def test_every_run_behind_a_table_is_listed_once() -> None:
    runs = wanted("table2", 2)
    assert len(runs) == len(set(runs))
    assert {one.recipe for one in runs} >= {"bique/wn18rr", "transe/fb15k-237"}
    assert ("transe/yago3-10", 0) not in runs
    assert [one.seed for one in wanted("table4", 3)] == [0, 1, 2] * 3
    assert len(wanted("table5", 1)) == 10
    assert ("figure2/wn18rr-roth-64", 4) in wanted("figure2", 5)


def test_an_unknown_table_gets_the_list() -> None:
    with pytest.raises(UserError, match="table2"):
        paper("table9")


def test_a_recipes_line_says_what_was_measured_or_why_not(results: Results) -> None:
    line = measured(results.of("bique/wn18rr"), "wn18rr")
    assert line.startswith("Measured: MRR .501 ± .003, H@1 .401")
    assert line.endswith("seeds: 3, 51 s of training on NVIDIA H200.")
    assert measured(None, "yago3-10") == "Not measured: data not reached."
    assert measured(None, "fb15k-237") == "Not measured: not run."


def test_a_setting_that_an_older_result_does_not_have_counts_as_its_default(results: Results) -> None:
    younger = result(seed=3)
    younger["settings"]["training"]["precision"] = "auto"
    results.add(younger, "bique/wn18rr")
    found = results.of("bique/wn18rr")
    assert found is not None
    assert len(found.results) == 4


def test_a_result_is_held_against_its_recipe(results: Results, tmp_path: Path) -> None:
    recipe = tmp_path / "recipes" / "bique" / "wn18rr.toml"
    recipe.parent.mkdir(parents=True)
    given = result()["settings"]
    del given["evaluation"]
    recipe.write_text(tomli_w.dumps(given))
    checked = Results(results.folder, tmp_path / "recipes")
    assert checked.of("bique/wn18rr") is not None
    given["training"]["epochs"] = 3
    recipe.write_text(tomli_w.dumps(given))
    with pytest.raises(UserError, match="was made with other settings than"):
        checked.of("bique/wn18rr")


def test_a_result_of_another_model_than_its_settings_say_is_refused(results: Results) -> None:
    other = result(model="quate")
    other["settings"]["model"]["name"] = "bique"
    results.add(other, "quate/wn18rr")
    with pytest.raises(UserError, match="its settings are of another model"):
        reproduce("table2", results)


def test_systems_that_were_not_measured_alike_do_not_stand_in_one_table(results: Results) -> None:
    other = result(model="quate")
    other["graph"]["hash"] = other["evaluations"]["test"]["protocol"]["graph_hash"] = "1" * 64
    results.add(other, "quate/wn18rr")
    with pytest.raises(UserError, match=r"do not belong together \(graph_hash"):
        reproduce("table2", results)


IMPOSSIBLE: dict[str, tuple[str, Any]] = {
    "NaN": ("evaluations.test.metrics.mrr", float("nan")),
    "more than all": ("evaluations.test.metrics.hits_at_10", 17.0),
    "a word": ("seconds", "x"),
    "no time": ("seconds", float("inf")),
    "a seed that is a word": ("seed", "0"),
    "another seed": ("settings.training.seed", 5),
    "no hardware": ("environment", []),
    "no relations": ("evaluations.test.by.relation", True),
    "too many entities": ("graph.entities", 10**18),
    "ties": ("evaluations.test.protocol.ties", "best"),
    "no filter": ("evaluations.test.protocol.filtered_by", []),
    "another split": ("evaluations.test.protocol.split", "valid"),
    "another dataset": ("evaluations.test.protocol.dataset", "fb15k-237"),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_what_cannot_be_or_was_measured_otherwise_is_never_printed(kind: str, results: Results) -> None:
    key, value = IMPOSSIBLE[kind]
    given = result()
    *path, last = key.split(".")
    place = given
    for part in path:
        place = place[part]
    place[last] = value
    (results.folder / "bique" / "wn18rr-seed0.json").write_text(json.dumps(given))
    for name in ("averages", "table4", "table6"):
        with pytest.raises(UserError, match=r"wn18rr-seed0.*remove it"):
            reproduce(name, Results(results.folder))


def test_seconds_of_unlike_hardware_have_no_mean(results: Results) -> None:
    other = result(seed=3)
    other["environment"]["gpu"] = "NVIDIA A100"
    results.add(other, "bique/wn18rr")
    line = measured(results.of("bique/wn18rr"), "wn18rr")
    assert line.endswith("seeds: 4, – of training on NVIDIA A100 and NVIDIA H200.")


def test_a_run_beside_others_does_not_count_in_the_time(results: Results) -> None:
    shared = result(seed=3) | {"seconds": 500.0}
    shared["environment"]["shared_gpu"] = True
    results.add(shared, "bique/wn18rr")
    assert measured(results.of("bique/wn18rr"), "wn18rr").endswith("seeds: 4, 51 s of training on NVIDIA H200.")
    alone = result(model="quate", seed=0) | {"seconds": 500.0}
    alone["environment"]["shared_gpu"] = True
    results.add(alone, "quate/wn18rr")
    assert measured(results.of("quate/wn18rr"), "wn18rr").endswith(
        "seeds: 1, 500 s of training on NVIDIA H200, shared."
    )
