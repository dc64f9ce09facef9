"""What does docs/peers.md say?"""

import datetime

from .compare import by_gpu, by_kind, lines_of, reasons, verdicts

INTRODUCTION = """\
# Beside other estimators

How far other estimators of a training step, and two rules of thumb, are from the published steps
that [accuracy](accuracy.md) and [generalisation](generalisation.md) judge Orrery by. Made by

    scripts/compare-peers --calculon calculon --simumax SimuMax --llm-analysis llm-analysis

on {date}, which runs each of them on every row that it can express, with its own files of systems
and the settings that its documentation gives. None of them is part of Orrery.
"""

HOW = {
    "[Calculon](https://github.com/calculon-ai/calculon)": (
        "`systems/a100_80g.json`, `systems/h100_80g_nvl8.json`; overlap as the row states it; its "
        "check of memory off, as every row is a run that did fit"
    ),
    "[SimuMax](https://github.com/MooreThreads/SimuMax)": (
        "`configs/system/b200_bf16_ceperm.json`, `a100_pcie.json`; for another GPU, or FP8, a file "
        "as its `docs/system.md` says to write one: the template there (0.75 of the peak, 0.9 of "
        "the memory bandwidth, 0.5 of the links) with the rates of our data sheets "
        "(times ask for a measured file, it says itself)"
    ),
    "[llm-analysis](https://github.com/cli99/llm-analysis)": (
        "its files of GPUs; 0.5 of the peak and 0.9 of the memory bandwidth, which its README "
        "advises where nothing was measured"
    ),
    "40 % MFU": "model FLOP over 40 % of the dense peak of the row's precision, for every run",
    "40 % of the 16-bit peak": (
        "the same for rows of FP8 and FP4, against the bf16 peak that their MFU is often quoted by"
    ),
    "fitted MFU": (
        "the median MFU of rows of the same GPU, precision and kind of model (dense or mixture), "
        "without any row of the source"
    ),
}

READING = """
`bent` lines also hold rows that say more than the estimator has words for, brought into its words
([how](#what-they-cannot-say)); the line without it holds only rows that it expresses as they are.
Errors are (predicted - measured) / measured: MAE is the mean of their size, bias their mean.
Orrery's figures beside a line are on the very same rows.

- **The fitted rows are in-sample for Orrery**: its stacks' coefficients were fitted to them. Some
  are so for others: SimuMax's file of the B200 is that of its own tables, from which {simumax} of
  the rows come; Calculon's of the A100 is validated on the {korthikanti} of Korthikanti et al. The
  rule of a fitted MFU leaves the source out everywhere.
- **The fresh rows are the fairer half**: sources, releases, models and GPUs that Orrery's profiles
  were not made for. Eight of its numbers were chosen on them since; what it was before, and what is
  left when they are chosen without a source, is in
  [generalisation](generalisation.md#runs-unlike-the-fitted-ones).
- **Of the third set** 46 rows have given five stacks their profiles since it came in, so its sources
  FlagPerf and SemiAnalysis are in-sample; before, Orrery was 17.7 % off on it.
"""

AHEAD = """\
## Where Orrery is behind

Every set, kind of model, GPU, both together, stack and source of which an estimator expresses five
rows or more and is nearer than Orrery on these rows, by the mean or the median of the errors' size:
"""

CANNOT = """
## What they cannot say

Beside whole rows, what their answers leave out, as their documentation or code says. Calculon: time
of embedding and logits, fused attention. SimuMax: most overlap of computation and communication
(its roadmap names it). llm-analysis: pipeline bubbles, reduction of gradients, sends between
stages. None of them has failures, checkpoints, prices or a band on its answer.
"""


def rows_of_source(rows, source):
    return sum(row["id"].startswith(source + "-") for row in rows)


def name_of(link):
    """'Calculon' of '[Calculon](https://..)'."""
    return link[1:].split("]")[0]


def page(sets, answers, ours, revisions):
    rows = [row for of_set in sets.values() for row in of_set]
    lines = list(lines_of(answers))
    widest = [line for line in lines if not any(o.name == line.name + ", bent" for o in lines)]
    parts = [
        INTRODUCTION.format(date=datetime.date.today()),
        "| estimator | revision | how it was run |",
        "|---|---|---|",
        *(f"| {name} | {revisions.get(name_of(name), '')} | {how} |" for name, how in HOW.items()),
        READING.format(
            simumax=rows_of_source(rows, "simumax"),
            korthikanti=rows_of_source(rows, "korthikanti22"),
        ),
        AHEAD,
        *verdicts(sets, lines, ours),
    ]
    titles = {
        "third": "The third set",
        "fresh": "Fresh rows",
        "fitted": "Rows that Orrery's stacks are fitted to",
    }
    for name, title in titles.items():
        parts += ["", f"## {title}", "", *by_kind(sets[name], lines, ours), ""]
        parts.append("By GPU: MAE in percent / that of Orrery on the same rows (their number).")
        parts.append("")
        parts += by_gpu(sets[name], widest, ours)
    parts.append(CANNOT)
    for name in [*revisions, "fitted MFU"]:
        parts += [f"**{name}**", "", *reasons(answers[name], rows), ""]
    return "\n".join(parts).rstrip() + "\n"
