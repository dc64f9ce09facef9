"""Who is nearer to the measured step times, on which rows?"""

import collections
import contextlib
import io
import math
import re
import statistics
import traceback
import warnings

from .rows import Answer, CannotSay, gpu_of, kind_of, source_of

FEWEST = 5  # rows that a group needs for a comparison
ENOUGH = 10  # and to mean something


def ask(forecast, row):
    """The answer, or the reason why there is none."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return forecast(row)
    except CannotSay as reason:
        return str(reason)
    except Exception as error:  # its own checks: whatever it raises is its answer
        line = traceback.extract_tb(error.__traceback__)[-1].line
        return "its own check: " + re.sub(r"\b\d+\b", "N", str(error) or line).strip(" (")


class Line:
    """One estimator on the rows that it expresses: unbent, or bent as well."""

    def __init__(self, name, answers, bent):
        self.name = name + (", bent" if bent else "")
        self.seconds = {
            key: answer.seconds
            for key, answer in answers.items()
            if isinstance(answer, Answer) and (bent or not answer.stretches)
        }


def lines_of(answers):
    for name, of_row in answers.items():
        yield Line(name, of_row, False)
        if any(isinstance(a, Answer) and a.stretches for a in of_row.values()):
            yield Line(name, of_row, True)


def errors(seconds, rows):
    return [seconds[r["id"]] / r["seconds"] - 1 for r in rows]


def mean_error(seconds, rows):
    return statistics.mean(map(abs, errors(seconds, rows)))


def percent(value, sign=""):
    return f"{100 * value:{sign}.1f} %"


def statistics_of(seconds, rows):
    signed = errors(seconds, rows)
    sizes = sorted(map(abs, signed))
    place = 0.9 * (len(sizes) - 1)
    low = math.floor(place)
    p90 = sizes[low] + (place - low) * (sizes[min(low + 1, len(sizes) - 1)] - sizes[low])
    return (
        f"{percent(statistics.mean(sizes))} | {percent(statistics.median(sizes))} | "
        f"{percent(p90)} | {percent(statistics.mean(signed), '+')}"
    )


def by_kind(rows, lines, ours):
    figures = "MAE | median | p90 | bias"
    yield f"| rows | estimator | expressed | {figures} | Orrery: {figures} |"
    yield "|" + "---|" * 11
    kinds = sorted({kind_of(r) for r in rows})
    for kind in ["all", *kinds]:
        group = [r for r in rows if kind in ("all", kind_of(r))]
        for line in lines:
            said = [r for r in group if r["id"] in line.seconds]
            if said:
                yield (
                    f"| {kind} | {line.name} | {len(said)} of {len(group)} | "
                    f"{statistics_of(line.seconds, said)} | {statistics_of(ours, said)} |"
                )


def by_gpu(rows, lines, ours):
    yield "| GPU | " + " | ".join(line.name for line in lines) + " |"
    yield "|" + "---|" * (len(lines) + 1)
    for gpu in dict.fromkeys(map(gpu_of, rows)):
        cells = []
        for line in lines:
            said = [r for r in rows if gpu_of(r) == gpu and r["id"] in line.seconds]
            cells.append(
                f"{100 * mean_error(line.seconds, said):.0f} / {100 * mean_error(ours, said):.0f}"
                f" ({len(said)})"
                if said
                else "-"
            )
        yield f"| {gpu} | " + " | ".join(cells) + " |"


def groups_of(rows):
    """Every group that a verdict is asked for: its name and its rows."""
    cuts = {
        "{}": kind_of,
        "{} ": gpu_of,
        "{0[0]} on {0[1]}": lambda r: (kind_of(r), gpu_of(r)),
        "stack {}": lambda r: r["stack"],
        "source {}": source_of,
    }
    yield "all", rows
    for name, key in cuts.items():
        for value in dict.fromkeys(map(key, rows)):
            yield name.format(value).strip(), [r for r in rows if key(r) == value]


def comparisons(sets, lines):
    """Every estimator on every group of which it expresses enough rows, each set of rows once."""
    seen = set()
    for set_name, rows in sets.items():
        for group, members in groups_of(rows):
            for line in lines:
                said = [r for r in members if r["id"] in line.seconds]
                key = (line.name, tuple(r["id"] for r in said))
                if len(said) >= FEWEST and key not in seen:
                    seen.add(key)
                    yield line, said, f"{set_name} | {group} | {len(said)} of {len(members)}"


def verdicts(sets, lines, ours):
    """Where an estimator is nearer than Orrery on the rows of a group that it expresses."""
    yield "| set | group | rows | estimator | its MAE | Orrery's | its median | Orrery's |"
    yield "|" + "---|" * 8
    compared, by_mean, by_median = (collections.Counter() for _ in range(3))
    for line, said, place in comparisons(sets, lines):
        enough = len(said) >= ENOUGH
        compared[enough] += 1
        theirs, own = ([abs(e) for e in errors(s, said)] for s in (line.seconds, ours))
        means = statistics.mean(theirs), statistics.mean(own)
        medians = statistics.median(theirs), statistics.median(own)
        by_mean[enough] += means[0] < means[1]
        by_median[enough] += medians[0] < medians[1]
        if means[0] < means[1] or medians[0] < medians[1]:
            figures = " | ".join(map(percent, means + medians))
            yield f"| {place} | {line.name} | {figures} |"
    yield ""
    for enough, size in (
        (True, f"{ENOUGH} rows or more"),
        (False, f"{FEWEST} to {ENOUGH - 1} rows"),
    ):
        yield (
            f"Of the {compared[enough]} comparisons on {size} Orrery is behind in "
            f"{by_mean[enough]} by the mean and in {by_median[enough]} by the median."
        )


def reasons(answers, rows):
    """What an estimator cannot say, and what was bent, with the number of rows."""
    cannot = collections.Counter(a for a in answers.values() if isinstance(a, str))
    bent = collections.Counter(
        s for a in answers.values() if isinstance(a, Answer) for s in a.stretches
    )
    yield f"| of {len(rows)} rows | |"
    yield "|---|---|"
    for reason, count in cannot.most_common():
        yield f"| {count} | cannot: {reason} |"
    for stretch, count in bent.most_common():
        yield f"| {count} | bent: {stretch} |"
