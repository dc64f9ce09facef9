"""Measures the rows of docs/performance.md, each beside a limit or a peer in the same run (scripts/performance)."""

import argparse
import datetime
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "tests" / "bench" / "rows.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN = "<!-- rows: written by scripts/performance --update -->"
END = "<!-- end of rows -->"
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "CPU s": 1.0}
YARDSTICK = "limit_two_timers"
STALE = 2.0


def run_benchmarks(binary, names, repetitions):
    """By name without its suffixes: the median of every figure over the repetitions."""
    names = [re.escape(name) for name in sorted(names)]
    command = [
        str(binary),
        f"--benchmark_filter=^({'|'.join(names)})(/|$)",
        f"--benchmark_repetitions={repetitions}",
        "--benchmark_min_time=0.05",
        "--benchmark_format=json",
    ]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    samples = {}
    for run in answer["benchmarks"]:
        if run["run_type"] == "iteration":
            samples.setdefault(run["run_name"], []).append(run)
    found = {}
    for full, runs in samples.items():
        name = next(n for n in sorted(names, key=len, reverse=True) if re.match(n + "(/|$)", full))
        figures = {}
        for key, value in runs[0].items():
            if isinstance(value, (int, float)):
                figures[key] = statistics.median(run[key] for run in runs)
        figures["seconds"] = figures["cpu_time"] / UNITS[runs[0]["time_unit"]]
        found[re.sub(r"\\(.)", r"\1", name)] = figures
    return found


def cpu_seconds(binary, arguments, repetitions):
    taken = []
    for _ in range(repetitions):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(binary), *arguments], check=True, capture_output=True, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken)


def measure(rows, binaries, repetitions):
    """Sets `measured` and `ratio`, the row's figure over that of its reference, of every row."""
    names = {row["benchmark"] for row in rows if "benchmark" in row}
    names |= {row["reference"] for row in rows} | {YARDSTICK}
    found = run_benchmarks(binaries / "orrery_bench", names, repetitions)
    for row in rows:
        if "command" in row:
            seconds = cpu_seconds(binaries / "orrery", row["command"], repetitions)
        elif "counter" not in row:
            seconds = found[row["benchmark"]]["seconds"] / row.get("per", 1)
        if "counter" in row:
            measured = found[row["benchmark"]][row["counter"]]
        else:
            measured = seconds * UNITS[row["unit"]]
        reference = found[row["reference"]]
        if "reference_counter" in row:
            against = reference[row["reference_counter"]]
        elif row["reference"] == YARDSTICK:
            against = reference["seconds"]
        elif "counter" in row:
            against = reference[row["counter"]]
        else:
            against = reference["seconds"] * UNITS[row["unit"]]
        row["measured"] = float(f"{measured:.4g}")
        row["ratio"] = float(f"{measured / against:.4g}")
    return rows


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(rows):
    lines = ["| What | Measured | Against, in the same run | Target | Date |", "|---|---|---|---|---|"]
    for row in rows:
        against = f"{number(row['ratio'])} x {row['against']}" if "against" in row else "-"
        lines.append(
            f"| {row['what']} | {number(row['measured'])} {row['unit']} | {against} "
            f"| {row.get('target', '-')} | {row['date']} |"
        )
    return "\n".join(lines)


def page_with(text, rows):
    begin = text.index(BEGIN) + len(BEGIN)
    return text[:begin] + "\n" + table(rows) + "\n" + text[text.index(END) :]


def slower(row, now):
    """How many times as long as the row says."""
    times = now["ratio"] / row["ratio"]
    return 1.0 / times if row.get("faster") == "higher" else times


def check(rows, binaries):
    """By what a row is about: how many times as long it takes. What looks slow is measured again, since
    others may have had the machine."""
    times_of = {}
    left = rows
    for _ in range(4):
        for row, now in zip(left, measure([dict(r) for r in left], binaries, 3)):
            what = row["what"]
            times_of[what] = min(times_of.get(what, float("inf")), slower(row, now))
        left = [row for row in left if times_of[row["what"]] > STALE]
        if not left:
            break
    return times_of


def main():
    parser = argparse.ArgumentParser(prog="performance", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the rows and the page")
    parser.add_argument("--check", action="store_true", help="only the quick rows, against the page")
    parser.add_argument("--binaries", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    data = json.loads(ROWS.read_text(encoding="utf-8"))
    rows = data["rows"]
    if options.check:
        failed = []
        if page_with(PAGE.read_text(encoding="utf-8"), rows) != PAGE.read_text(encoding="utf-8"):
            failed.append("docs/performance.md is not what tests/bench/rows.json says")
        quick = [row for row in rows if row.get("guard")]
        times_of = check(quick, options.binaries)
        for row in quick:
            times = times_of[row["what"]]
            print(f"{times:5.2f} x {row['measured']:g} {row['unit']}: {row['what']}")
            if times > STALE:
                failed.append(f"takes {times:.1f} times as long as the page says: {row['what']}")
        for problem in failed:
            print(f"performance: {problem}", file=sys.stderr)
        return 1 if failed else 0
    today = datetime.date.today().isoformat()
    for row in measure(rows, options.binaries, options.repetitions):
        row["date"] = today
    print(table(rows))
    if options.update:
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        ROWS.write_text(
            '{\n  "note": ' + json.dumps(data["note"]) + ',\n  "rows": [\n' + lines + "\n  ]\n}\n",
            encoding="utf-8",
        )
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
