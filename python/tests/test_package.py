"""The package answers as the program does, says what is wrong, and ends when asked to."""

import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import threading
import time

import orrery
import pytest

PROGRAM = os.environ["ORRERY_PROGRAM"]


@pytest.mark.parametrize("name", orrery.shipped())
def test_answers_are_those_of_the_program_to_the_bit(name):
    path = orrery.load(name).file
    printed = subprocess.run([PROGRAM, "run", "--json", "-q", "--trials", "3", path],
                             capture_output=True, text=True, check=True).stdout
    answer = orrery.run(name, trials=3)
    assert answer.to_json() == printed
    try:
        estimate = orrery.estimate(name)
    except orrery.ScenarioError as error:  # no layouts to choose from: a stated step time, several GPU types
        assert error.key in ("step.time", "cluster.mixed")
        return
    metrics = answer.metrics
    assert estimate.step_time == metrics["step_time_s"]
    assert estimate.tokens_per_second == metrics["tokens_per_second"]
    assert estimate.mfu == metrics["mfu"]
    assert estimate.peak_memory == metrics["peak_memory_bytes"]
    assert estimate.memory_headroom == metrics["memory_headroom_bytes"]


CHANGES = [{"layout.sharding": "zero3"}, {"layout.sharding": "none"}, {"layout.virtual_stages": 4},
           {"layout.sequence_parallel": False}, {"batch.micro": 2}, {"layout.expert": 2},
           {"layout.tensor": 2, "layout.data": 1}, {"layout.pipeline": 2}, {"recompute": "full"}]


@pytest.mark.parametrize("name", ["schedule-interleaved", "one-gpu", "qwen-1.5b-2gpu-zero3", "llama3-70b-64h100",
                                  "mixtral-8x7b-64h100", "bloom-176b-tp8"])
def test_estimates_do_not_depend_on_those_before(name):
    warm = orrery.load(name)
    orrery.estimate(warm)
    for changes in CHANGES:
        asked = warm.copy()
        answers = []
        for answer in (orrery.run, orrery.estimate):
            try:
                for key, value in changes.items():
                    asked.set(key, value)
                given = answer(asked, trials=1) if answer is orrery.run else answer(asked)
                answers.append(given.metrics["step_time_s"] if answer is orrery.run else given.step_time)
            except orrery.ScenarioError as error:
                answers.append(error.key)
        assert answers[0] == answers[1], changes


def test_estimates_follow_the_keys_of_a_layout():
    scenario = orrery.load("llama3-70b-64h100")
    for tensor, micro in ((8, 1), (4, 2), (8, 2), (4, 1)):
        scenario.set("layout.data", 1).set("layout.tensor", tensor).set("batch.micro", micro)
        with pytest.raises(orrery.ScenarioError):
            orrery.estimate(scenario)  # GPUs are left over
        gpus = 64 // (tensor * scenario["layout.pipeline"])
        scenario.set("layout.data", gpus)
        answer = orrery.run(scenario, trials=1)
        estimate = orrery.estimate(scenario)
        assert estimate.step_time == answer.metrics["step_time_s"]
        assert estimate.fits == answer.feasible


def test_version_and_build_are_those_of_the_program():
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    assert orrery.__version__ in printed


def test_keys_are_set_and_read_by_path_and_alias():
    scenario = orrery.load("llama3-70b-64h100")
    other = scenario.copy()
    other["layout.tp"] = 8
    assert other["layout.tensor"] == 8
    assert scenario["layout.tensor"] == 4


def test_a_mapping_states_what_a_file_does():
    mapped = orrery.Scenario({"format": "orrery/1", "name": "x", "model": {"preset": "llama3-8b"},
                              "cluster": {"gpu": "h100-sxm-80gb", "nodes": 1},
                              "layout": {"sharding": "zero3"}, "batch": {"global": 64, "micro": 1},
                              "checkpoint": {"interval": "auto"}, "training": {"steps": 100}})
    assert not [d for d in orrery.validate(mapped) if d.severity == "error"]


def test_errors_name_place_key_and_allowed_values():
    scenario = orrery.load("llama3-70b-64h100")
    with pytest.raises(orrery.ScenarioError) as caught:
        scenario["layout.tensr"] = 4
    assert "layout.tensor" in str(caught.value)
    with pytest.raises(orrery.ScenarioError) as caught:
        scenario.set("layout.tensor", "many")
    assert caught.value.key == "layout.tensor"
    text = open(scenario.file).read() + "\nnonsense: 1\n"
    found = orrery.validate(orrery.Scenario(text, "mine.yaml"))
    assert [(d.file, d.line, d.key) for d in found if d.severity == "error"] == [
        ("mine.yaml", text.count("\n"), "nonsense")]
    with pytest.raises(OSError, match="no-such-run"):
        orrery.load("no-such-run")


def test_sweep_gives_a_row_a_point_with_what_was_set():
    scenario = orrery.load("llama3-70b-64h100").set("simulation.trials", 2)
    rows = orrery.sweep(scenario, {"layout.tensor": [4, 8], "batch.micro": [1, 2]}, frame=False)
    assert [(row["layout.tensor"], row["batch.micro"]) for row in rows] == [
        ("4", "1"), ("4", "2"), ("8", "1"), ("8", "2")]
    assert rows[1]["step_time_s"] == orrery.run(scenario.set("batch.micro", 2)).metrics["step_time_s"]
    assert rows[2]["status"] == "ok"  # layout.data, as stated, gives way to the changed degree


def test_a_sweep_has_the_same_rows_by_any_executor():
    scenario = orrery.load("llama3-70b-64h100").set("simulation.trials", 2)
    vary = {"layout.tensor": [4, 8, 3], "batch.micro": [1, 2]}
    here = orrery.sweep(scenario, vary, frame=False)
    counted = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert orrery.sweep(scenario, vary, frame=False, executor=pool, shards=4,
                            progress=lambda done, every: counted.append((done, every))) == here
    assert counted == [(1, 4), (2, 4), (3, 4), (4, 4)]
    # A process of its own gets the scenario with what was set, and its errors come back.
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert orrery.sweep(scenario, vary, frame=False, executor=pool) == here
        with pytest.raises(orrery.ScenarioError, match="layout.tensor"):
            orrery.sweep(scenario, {"layout.tensor": ["many"]}, executor=pool)


def test_plan_finds_layouts_under_the_settings():
    answer = orrery.plan("llama3-70b-64h100", "step_time", settings={"plan.finalists": 2}, trials=2)
    assert answer["schema"] == "orrery-plan/1"


def test_compare_of_a_scenario_with_itself_shows_no_change():
    rows = orrery.compare("llama3-70b-64h100", "llama3-70b-64h100", trials=2)
    assert rows and all(not row.change for row in rows)
    assert not any(row.within_error for row in rows)


def test_compare_says_what_predictions_do_not_tell_apart():
    other = orrery.load("llama3-70b-64h100")
    other.set("layout.pipeline", 4)
    rows = {row.name: row for row in orrery.compare("llama3-70b-64h100", other, trials=2)}
    assert rows["step_time"].within_error and 0.0 < rows["step_time"].relative < 0.0785
    assert not rows["peak_memory"].within_error


def test_ctrl_c_ends_a_long_run_within_a_second():
    scenario = orrery.load("llama3-405b-16k")
    sent = []

    def interrupt():
        time.sleep(1.0)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        orrery.run(scenario, trials=1_000_000)
    assert time.monotonic() - sent[0] < 1.0


def test_threads_run_at_once_and_give_the_same_answer():
    answers = {}

    def work(i):
        answers[i] = orrery.run("llama3-70b-64h100", trials=5, threads=1 + i % 2).to_json()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and len(set(answers.values())) == 1


def test_keys_may_be_set_while_others_run_the_scenario():
    legal = set()
    for batch in (128, 256):
        alone = orrery.load("one-gpu").set("batch.global", batch)
        legal.add(orrery.run(alone, trials=2).metrics["step_time_s"])
    shared = orrery.load("one-gpu").set("batch.global", 128)
    seen, stop = set(), threading.Event()

    def change():
        turn = 0
        while not stop.is_set():
            turn += 1
            shared["batch.global"] = (128, 256)[turn % 2]
            shared["name"] = f"n{turn}" * (turn % 7 + 1)
            shared["simulation.trials"] = 384

    def work():
        for _ in range(40):
            seen.add(orrery.run(shared, trials=2, threads=1).metrics["step_time_s"])

    threads = [threading.Thread(target=work) for _ in range(3)]
    changing = threading.Thread(target=change)
    changing.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    changing.join()
    assert seen <= legal


def test_an_import_leaves_the_interpreter_to_other_threads(tmp_path):
    with open(LOG) as log:
        text = log.read()
    long = tmp_path / "long.log"
    long.write_text(text + "\n".join(line for line in text.splitlines() if "tps:" in line) * 2000)
    done = threading.Event()

    def work():
        orrery.logged_steps(long)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    begin = time.monotonic()
    longest, last = 0.0, begin
    while not done.is_set():
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    thread.join()
    whole = time.monotonic() - begin
    assert longest < max(0.5 * whole, 0.1)


def test_progress_counts_up_to_all_trials():
    seen = []
    orrery.run("llama3-70b-64h100", trials=50, progress=lambda done, every: seen.append((done, every)))
    assert seen and seen[-1][0] == seen[-1][1]


LOG = os.path.join(os.path.dirname(__file__), "../../tests/unit/import_config/configs/torchtitan-llama3-8b-8gpu.log")


def test_a_log_becomes_a_scenario_and_its_steps():
    with pytest.raises(orrery.ScenarioError) as caught:
        orrery.import_files(LOG, settings={"cluster.gpu": "h200-sxm"})
    assert caught.value.key == "recompute"
    scenario = orrery.import_files(LOG, settings={"cluster.gpu": "h200-sxm", "recompute": "selective"})
    assert scenario["model.num_layers"] == 32
    steps = orrery.logged_steps(LOG)
    assert steps.p10 <= steps.median <= steps.p90
    assert 0.5 < orrery.estimate(scenario).step_time / steps.median < 2.0
    with pytest.raises(OSError, match="is no log"):
        orrery.logged_steps(orrery.load("llama3-70b-64h100").file)


def test_an_import_says_what_it_read_and_assumed(tmp_path):
    given = {"cluster.gpu": "h200-sxm", "recompute": "selective"}
    scenario = orrery.import_files(LOG, settings=given)
    origins = {row["key"]: row["origin"] for row in scenario.imported["settings"]}
    assert origins["model.num_layers"] in ("read", "derived")
    assert origins["software.name"] == "assumed"
    assert origins["recompute"] == "given"
    assert orrery.load("one-gpu").imported is None
    failures = tmp_path / "failures.csv"
    again = orrery.import_files(LOG, settings=given, failures=failures)
    assert failures.read_text().startswith("# Restarts")
    assert again["failures.log"].strip("'") == str(failures)
    copy = tmp_path / "a.log"
    copy.write_text(open(LOG).read())
    with pytest.raises(OSError, match="one of the files"):
        orrery.import_files(copy, settings=given, failures=copy)
    own = tmp_path / "own.log"
    own.write_text("".join(f"it {i} took 2.5 s\n" for i in range(9)))
    with pytest.raises(orrery.ScenarioError) as caught:
        orrery.import_files(own, pattern="it {step} took {s}")
    assert "layout.tensor" in [d.key for d in caught.value.diagnostics]


def test_a_metric_has_one_name():
    metrics = orrery.run("one-gpu", trials=2).metrics
    assert metrics["step_time"] == metrics["step_time_s"]
    with pytest.raises(KeyError):
        metrics["none"]


def test_a_log_stands_beside_its_prediction():
    scenario = orrery.import_files(LOG, settings={"cluster.gpu": "h200-sxm", "recompute": "selective"})
    row = orrery.compare_log(scenario, LOG)
    printed = json.loads(subprocess.run(
        [PROGRAM, "compare", "--json", "-q", "/dev/stdin", LOG], input=scenario.text,
        capture_output=True, text=True, check=True).stdout)
    assert row.predicted == printed["predicted_step_time_s"]
    assert row.measured.median == printed["measured_step_time_s"]
    assert row.error == pytest.approx(printed["error"])
    assert row.band == (printed["band"]["low_s"], printed["band"]["high_s"])
    assert row.inside == printed["band"]["holds_measured"]
    assert sum(part["share"] for part in row.ledger) == pytest.approx(1.0)


def test_folders_of_ones_own_are_searched_first(tmp_path):
    prices = tmp_path / "prices"
    prices.mkdir()
    (prices / "mine.yaml").write_text("format: orrery-preset/1\nname: mine\nsummary: Ours\nsource: contract\nprices:\n  gpu_hour: $1.25/h\n")
    text = orrery.load("llama3-70b-64h100").text
    with pytest.raises(orrery.ScenarioError, match="mine"):
        orrery.Scenario(text).set("prices.preset", "mine")
    mine = orrery.Scenario(text, profiles=tmp_path).set("prices.preset", "mine")
    assert mine["prices.preset"] == "mine"
    assert orrery.load("llama3-70b-64h100", profiles=[tmp_path]).set("prices.preset", "mine")
    with pytest.raises(OSError, match="nowhere: is no folder"):
        orrery.load("llama3-70b-64h100", profiles=[tmp_path / "nowhere"])


def test_progress_may_be_a_bar():
    pytest.importorskip("tqdm")
    assert orrery.run("llama3-70b-64h100", trials=5, progress=True).feasible
