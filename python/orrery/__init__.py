"""Orrery: what will a large training run take, cost and lose, and why?

    import orrery
    s = orrery.load("llama3-405b-16k")
    s["layout.tensor"] = 4
    r = orrery.run(s)
    r.metrics["step_time_s"]

Keys, values and figures are those of the command line: a scenario is read along the same table of
keys, and an answer is what `orrery run --json` prints.
"""

from __future__ import annotations

import html
import json
import math
import os
from concurrent.futures import Executor, as_completed
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from ._native import _core

__all__ = ["Diagnostic", "Difference", "Estimate", "LogComparison", "LoggedSteps", "Result", "Scenario",
           "ScenarioError", "compare", "compare_log", "estimate", "import_files", "load", "logged_steps", "plan",
           "run", "shipped", "sweep", "validate", "version"]

Path = Union[str, os.PathLike]
Progress = Union[bool, Callable[[int, int], None], None]


class Diagnostic(NamedTuple):
    """One thing that is wrong with a scenario, and where; line and column 0: no position."""

    severity: str
    file: str
    line: int
    column: int
    key: str
    message: str
    allowed: str
    text: str

    def __str__(self) -> str:
        return self.text


class ScenarioError(ValueError):
    """What a scenario says cannot be. `diagnostics` holds everything that is wrong at once;
    file, line, column, key, message and allowed are those of the first error."""

    def __init__(self, rows: Sequence[tuple]):
        self.diagnostics = [Diagnostic(*row) for row in rows]
        first = next((d for d in self.diagnostics if d.severity == "error"),
                     Diagnostic("error", "", 0, 0, "", "no answer", "", "no answer"))
        (_, self.file, self.line, self.column, self.key, self.message, self.allowed, _) = first
        super().__init__("\n".join(d.text for d in self.diagnostics) or first.text)

    def __reduce__(self) -> tuple:
        return ScenarioError, ([tuple(d) for d in self.diagnostics],)


def _text_of(value: Any) -> str:
    """A value as it stands in a scenario; JSON is YAML in flow style."""
    return value if isinstance(value, str) else json.dumps(value)


def _names(paths: Iterable[Path]) -> list:
    return [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


class Scenario:
    """A scenario: a mapping, or the text of a file. load() opens files and shipped scenarios.
    `profiles` are folders with profiles and presets of your own, searched first, as --profiles says."""

    def __init__(self, content: Union[str, Mapping[str, Any]], file: str = "<python>", *,
                 profiles: Iterable[Path] = ()):
        text = content if isinstance(content, str) else json.dumps(content)
        self._core = _core.Scenario.of_text(text, file, _names(profiles))

    def set(self, key: str, value: Any) -> "Scenario":
        """States one key; a value the key does not take raises ScenarioError. Rules between keys
        are checked when the scenario is used."""
        self._core.set(key, _text_of(value))
        return self

    def keep(self, key: str) -> "Scenario":
        """Holds a key that would follow others: a stated layout.data stays even where a degree that is
        set, varied or planned makes it wrong, which is then an error."""
        self._core.keep(key)
        return self

    def get(self, key: str) -> Optional[str]:
        """The value of a key in the spelling of a scenario, defaults included."""
        return self._core.get(key)

    def __reduce__(self) -> tuple:
        return _rebuilt, (self.text, self.file, self._core.profiles, self._core.changes)

    def copy(self) -> "Scenario":
        """The same scenario, to be changed by itself."""
        return _wrap(self._core.copy())

    @property
    def file(self) -> str:
        return self._core.file

    @property
    def imported(self) -> Optional[dict]:
        """orrery-config-import/1 of import_files: `settings` with their origin (read, derived,
        default, assumed, given), `left_out`, `notes`. None where the scenario was not imported."""
        return json.loads(self._core.import_report) if self._core.import_report else None

    @property
    def text(self) -> str:
        """As it was loaded; what was set since is not in it."""
        return self._core.text

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __getitem__(self, key: str) -> Any:
        text = self.get(key)
        try:
            return json.loads(text) if text is not None else None
        except ValueError:
            return text

    def __repr__(self) -> str:
        return f"<orrery.Scenario {self.file}>"


def _wrap(core: Any) -> Scenario:
    scenario = Scenario.__new__(Scenario)
    scenario._core = core
    return scenario


def _rebuilt(text: str, file: str, profiles: list, changes: list) -> Scenario:
    """A scenario as another process has it; the files that it names must be there as well."""
    scenario = Scenario(text, file, profiles=profiles)
    for key, value in changes:
        scenario.set(key, value)
    return scenario


Asked = Union[Scenario, Path]


def load(name: Path, *, profiles: Iterable[Path] = ()) -> Scenario:
    """A file, or a shipped scenario by its name. `profiles`: as for Scenario."""
    return _wrap(_core.Scenario.named(os.fspath(name), _names(profiles)))


def import_files(*files: Path, settings: Optional[Mapping[str, Any]] = None,
                 profiles: Iterable[Path] = (), as_: str = "", ignore: Iterable[str] = (),
                 pattern: str = "", failures: Optional[Path] = None) -> Scenario:
    """Configuration files and logs of other programs as a scenario, as `orrery import` reads them.
    `settings` says what the files do not, such as {"cluster.gpu": "h100-sxm-80gb"}; what is still
    missing raises ScenarioError, whose diagnostics name each key. `as_`, `ignore`, `pattern` and
    `failures` (a file to be written) are the options of that command. What was read, assumed and
    left out is in `imported` of the scenario."""
    stated = [(key, _text_of(value)) for key, value in (settings or {}).items()]
    return _wrap(_core.Scenario.imported(_names(files), stated, _names(profiles), as_, list(ignore), pattern,
                                         os.fspath(failures) if failures is not None else ""))


class LoggedSteps(NamedTuple):
    """The steps that a training run has logged, the first ones and those of other batches left out:
    their number, median, 10th and 90th percentile in seconds, TFLOP/s per GPU as the program counts,
    tokens a second of all GPUs where the log says them, the step from which on they are slower than
    before, by 5 % or more."""

    count: int
    median: float
    p10: float
    p90: float
    tflops_per_gpu: Optional[float]
    tokens_per_second: Optional[float]
    slower_from: Optional[int]


def logged_steps(log: Path) -> LoggedSteps:
    """The step times in a log of training."""
    return LoggedSteps(*_core.logged_steps(os.fspath(log)))


def _asked(scenario: Asked) -> Any:
    return (scenario if isinstance(scenario, Scenario) else load(scenario))._core


def _attend(progress: Progress, work: Callable[[Any], Any]) -> Any:
    """work(callback); True shows a bar where tqdm is there."""
    if progress is not True:
        return work(progress or None)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return work(None)
    with tqdm() as bar:
        def show(done: int, every: int) -> None:
            bar.total = every
            bar.update(done - bar.n)
        return work(show)


class Metrics(dict):
    """Figures by name. A name without its unit, as `orrery list metrics`, sweeps and comparisons have
    it, is the same figure: step_time is step_time_s."""

    def __missing__(self, key: str) -> Any:
        full = [name for name in self if name.rpartition("_")[0] == key]
        if len(full) != 1:
            raise KeyError(key)
        return self[full[0]]


class Result:
    """The answer to one scenario. `data` is orrery-evaluation/1 as `orrery run --json` prints it."""

    def __init__(self, evaluation: Any):
        self._core = evaluation
        self._data: Optional[dict] = None

    @property
    def data(self) -> dict:
        if self._data is None:
            self._data = json.loads(self.to_json())
        return self._data

    @property
    def metrics(self) -> dict:
        """Figures in base units by name; of what varies over the trials the mean."""
        return Metrics({key: entry["value"] if isinstance(entry, dict) else entry
                        for key, entry in self.data["metrics"].items()})

    @property
    def distributions(self) -> dict:
        """The same figures with p10, p50, p90 and ci95 where they vary."""
        return self.data["metrics"]

    @property
    def ledger(self) -> dict:
        """Where the time goes: rows of one "step", and of the "run"."""
        return {"step": self.data["step_ledger"], "run": self.data["run_ledger"]}

    @property
    def memory(self) -> Any:
        return self.data["memory"]

    @property
    def bands(self) -> Any:
        """How sure the step time is; None where it is given."""
        return self.data["step_band"]

    @property
    def feasible(self) -> bool:
        return self.data["feasible"]

    def to_json(self) -> str:
        return self._core.json()

    def to_frame(self) -> Any:
        """One row a metric, as a pandas.DataFrame (pandas must be there)."""
        import pandas

        rows = {key: entry if isinstance(entry, dict) else {"value": entry}
                for key, entry in self.data["metrics"].items()}
        return pandas.DataFrame.from_dict(rows, orient="index")

    def __str__(self) -> str:
        return self._core.text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def run(scenario: Asked, *, threads: int = 0, trials: Optional[int] = None,
        seed: Optional[int] = None, progress: Optional[Progress] = None) -> Result:
    """Evaluates a scenario. `progress(done, all)` counts trials, True shows a bar of tqdm; threads 0: all
    cores."""
    asked = _asked(scenario)
    return Result(_attend(progress, lambda show: _core.run(asked, threads, trials, seed, show)))


class Estimate(NamedTuple):
    """The step of a scenario, without the run: seconds, tokens a second, MFU, bytes on the fullest GPU."""

    step_time: float
    tokens_per_second: float
    mfu: float
    peak_memory: float
    memory_headroom: float
    fits: bool


def estimate(scenario: Asked) -> Estimate:
    """The step alone, to the bit that of run(). Made to be asked thousands of times: keep one Scenario
    and set its keys. Another tensor, context, pipeline, data or expert degree, batch or number of nodes
    costs about a tenth of a millisecond; another key that is new 10 ms once. Rules of the run, such as
    those of a batch ramp, are not asked."""
    return Estimate(*_asked(scenario).estimate())


def _points(scenario: Scenario, axes: list, metrics: list, zip: bool, threads: int, trials: Optional[int],
            show: Any = None, number: int = 1, of: int = 1) -> tuple:
    """Part `number` of `of` of a sweep, dealt as `orrery sweep --shard` does, and whose program answered."""
    answer = json.loads(_core.sweep(scenario._core, axes, metrics, zip, threads, trials, show, number, of))
    return version(), answer["points"]


def _shared(executor: Executor, shards: int, show: Any, *asked: Any) -> list:
    parts: list = [None] * shards
    calls = {executor.submit(_points, *asked, None, k + 1, shards): k for k in range(shards)}
    try:
        for done, call in enumerate(as_completed(calls), 1):
            theirs, parts[calls[call]] = call.result()
            if theirs != version():
                raise RuntimeError(f"a worker has Orrery {theirs}, and this process {version()}")
            if show:
                show(done, shards)
    finally:
        for call in calls:
            call.cancel()
    points: list = [None] * sum(map(len, parts))
    for k, part in enumerate(parts):
        points[k::shards] = part
    return points


def sweep(scenario: Asked, vary: Mapping[str, Sequence[Any]], *, metrics: Sequence[str] = (),
          zip: bool = False, threads: int = 0, trials: Optional[int] = None,
          frame: Optional[bool] = None, progress: Optional[Progress] = None,
          executor: Optional[Executor] = None, shards: Optional[int] = None) -> Any:
    """The scenario at every combination of these values, or at the i-th of all with `zip`. One row
    a point: its keys, status, reason and figures. A pandas.DataFrame where pandas is there, else a
    list of mappings; `frame` says which.

    `executor`: any of concurrent.futures, those of Dask, mpi4py or loky among them. The points are dealt to
    `shards` calls (64, or as many as there are points), each on one thread unless `threads` says more; the rows
    are the same, and progress counts calls. Workers need this package, and the files that the scenario names."""
    axes = [(key, [_text_of(value) for value in values]) for key, values in vary.items()]
    asked = scenario if isinstance(scenario, Scenario) else load(scenario)
    def ask(show: Any) -> list:
        if executor is None:
            return _points(asked, axes, list(metrics), zip, threads, trials, show)[1]
        lengths = [len(values) for values in vary.values()]
        count = shards or min(64, max(lengths, default=1) if zip else math.prod(lengths))
        return _shared(executor, max(1, count), show, asked, axes, list(metrics), zip, threads or 1, trials)

    points = _attend(progress, ask)
    rows = [{**point["values"], "status": point["status"], "reason": point.get("reason"),
             **(point.get("metrics") or {})} for point in points]
    if frame is False:
        return rows
    try:
        import pandas
    except ImportError:
        if frame:
            raise
        return rows
    return pandas.DataFrame(rows)


def plan(scenario: Asked, objective: Optional[str] = None, *,
         settings: Optional[Mapping[str, Any]] = None, threads: int = 0,
         trials: Optional[int] = None, progress: Optional[Progress] = None) -> dict:
    """The best layouts for the scenario's cluster: orrery-plan/1. `settings` are keys below `plan`,
    such as {"plan.finalists": 4}."""
    stated = [(key, _text_of(value)) for key, value in (settings or {}).items()]
    if objective is not None:
        stated.append(("plan.objective", objective))
    asked = _asked(scenario)
    return json.loads(_attend(progress, lambda show: _core.plan(asked, stated, threads, trials, show)))


def validate(scenario: Asked) -> list:
    """What the reader has to say of a scenario, as Diagnostics; raises nothing."""
    try:
        return [Diagnostic(*row) for row in _asked(scenario).check()]
    except ScenarioError as error:
        return error.diagnostics


class Difference(NamedTuple):
    """One figure of two answers; `change` is second less first, and `within_error` says that predictions
    do not tell it from none."""

    group: str
    name: str
    first: Optional[float]
    second: Optional[float]
    change: Optional[float]
    relative: Optional[float]
    within_error: bool = False


def compare(first: Union[Result, Asked], second: Union[Result, Asked], **options: Any) -> list:
    """How two answers differ, by metric and by row of the ledgers. Scenarios are run first."""
    answers = [a if isinstance(a, Result) else run(a, **options) for a in (first, second)]
    return [Difference(*row) for row in _core.compare(answers[0]._core, answers[1]._core)]


class LogComparison(NamedTuple):
    """A predicted step beside the logged ones, in seconds. `error` is predicted / median - 1; `band` is
    what eight of ten steps like this one lie in, None where the step time is given, and `inside` says
    whether it holds the median. `ledger` says where the predicted step goes."""

    predicted: float
    measured: LoggedSteps
    error: float
    band: Optional[tuple]
    inside: Optional[bool]
    ledger: list


def compare_log(scenario: Union[Result, Asked], log: Path) -> LogComparison:
    """The prediction beside the log of a training run."""
    measured = logged_steps(log)
    answer = scenario if isinstance(scenario, Result) else run(scenario, trials=1)
    predicted = answer.metrics["step_time_s"]
    band = (answer.bands["low_s"], answer.bands["high_s"]) if answer.bands else None
    return LogComparison(predicted, measured, predicted / measured.median - 1.0, band,
                         band and band[0] <= measured.median <= band[1], answer.ledger["step"])


def shipped() -> list:
    """The names of the scenarios that come with the program."""
    return _core.shipped()


def version() -> str:
    """Version and build id: equal ones give equal figures."""
    return _core.version()


__version__ = version().split(",")[0]
