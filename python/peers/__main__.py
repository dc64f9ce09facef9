"""Writes docs/peers.md; called by scripts/compare-peers, whose --help says what it needs."""

import argparse
import json
import pathlib
import subprocess

from . import ask_calculon, ask_llm_analysis, ask_simumax, page, thumb
from .compare import ask
from .rows import DATA, ROOT, rows_of


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/compare-peers", description=__doc__)
    parser.add_argument("--calculon", type=pathlib.Path, required=True, help="its checkout")
    parser.add_argument("--simumax", type=pathlib.Path, required=True, help="its checkout")
    parser.add_argument("--llm-analysis", type=pathlib.Path, required=True, help="its checkout")
    parser.add_argument("--orrery", default=ROOT / "build/release/bin/orrery", help="the program")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "docs/peers.md")
    return parser.parse_args()


def revision_of(checkout):
    command = ["git", "-C", checkout, "log", "-1", "--format=%h (%cs)", "--abbrev=10"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def orrery_seconds(program):
    seconds = {}
    for path in DATA.values():
        command = [program, "validate", path, "--json"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for row in json.loads(text)["rows"]:
            if row["quantity"] == "step_time":
                seconds[row["id"]] = row["predicted"]
    return seconds


def main():
    given = arguments()
    sets = {name: rows_of(path) for name, path in DATA.items()}
    rows = [row for of_set in sets.values() for row in of_set]
    forecasts = {
        "Calculon": ask_calculon.asker(given.calculon),
        "SimuMax": ask_simumax.asker(given.simumax),
        "llm-analysis": ask_llm_analysis.asker(given.llm_analysis),
        "40 % MFU": thumb.forty_percent,
        "40 % of the 16-bit peak": thumb.forty_percent_of_16_bit,
        "fitted MFU": thumb.fitted_mfu(rows),
    }
    answers = {
        name: {row["id"]: ask(forecast, row) for row in rows}
        for name, forecast in forecasts.items()
    }
    revisions = {
        "Calculon": revision_of(given.calculon),
        "SimuMax": revision_of(given.simumax),
        "llm-analysis": revision_of(given.llm_analysis),
    }
    text = page.page(sets, answers, orrery_seconds(given.orrery), revisions)
    given.output.write_text(text)


main()
