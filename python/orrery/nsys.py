"""A profile of Nsight Systems as a trace that `orrery compare` reads.

    nsys export --type sqlite -o report.sqlite report.nsys-rep
    python -m orrery.nsys report.sqlite -o trace.json.gz
    orrery compare scenario.yaml trace.json.gz

Kernels, copies and fills come with their device, stream and launching call; NVTX ranges of the host
become annotations. Where no range is called ProfilerStep#N, say with --marker what the name of a
step's range contains ("iteration", "step").

One file holds the GPUs of one node; --device N writes those of one GPU, as a rank's trace.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import sqlite3
import sys
import tempfile
from typing import Iterator, Optional

_MICROSECOND = 1000.0  # nanoseconds
_COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}  # CUpti_ActivityMemcpyKind


class NsysError(ValueError):
    """What is in the way of a profile."""


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def _event(name: str, category: str, start: int, end: int, process: int, thread: int, **args: object) -> dict:
    return {"ph": "X", "cat": category, "name": name, "ts": start / _MICROSECOND,
            "dur": (end - start) / _MICROSECOND, "pid": process, "tid": thread, "args": args}


def _activities(database: sqlite3.Connection, device: Optional[int]) -> Iterator[dict]:
    names = dict(database.execute("SELECT id, value FROM StringIds"))
    for table, category in (("KERNEL", "kernel"), ("MEMCPY", "gpu_memcpy"), ("MEMSET", "gpu_memset")):
        columns = _columns(database, f"CUPTI_ACTIVITY_KIND_{table}")
        if not columns:
            continue
        name = next((c for c in ("demangledName", "shortName", "copyKind") if c in columns), "NULL")
        where = "" if device is None else f" WHERE deviceId = {int(device)}"
        rows = database.execute(
            f"SELECT start, end, deviceId, streamId, correlationId, {name}"
            f" FROM CUPTI_ACTIVITY_KIND_{table}{where} ORDER BY start")
        for start, end, gpu, stream, correlation, said in rows:
            text = {"KERNEL": names.get(said, "kernel"), "MEMSET": "Memset",
                    "MEMCPY": f"Memcpy {_COPIES.get(said, 'HtoH')}"}[table]
            yield _event(text, category, start, end, gpu, stream,
                         device=gpu, stream=stream, correlation=correlation)


def _calls(database: sqlite3.Connection) -> Iterator[dict]:
    if not _columns(database, "CUPTI_ACTIVITY_KIND_RUNTIME"):
        raise NsysError("has no calls of the host (CUPTI_ACTIVITY_KIND_RUNTIME): profile with --trace=cuda,nvtx")
    for start, end, thread, correlation in database.execute(
            "SELECT start, end, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start"):
        yield _event("cudaLaunch", "cuda_runtime", start, end, 0, thread, correlation=correlation)


def _ranges(database: sqlite3.Connection, marker: Optional[str]) -> Iterator[dict]:
    columns = _columns(database, "NVTX_EVENTS")
    if not columns:
        return
    text = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))" if "textId" in columns else "text"
    number = 0
    for start, end, thread, name in database.execute(
            f"SELECT start, end, globalTid, {text} FROM NVTX_EVENTS"
            f" WHERE end IS NOT NULL AND {text} IS NOT NULL ORDER BY start"):
        if marker is not None and marker in name:
            name = f"ProfilerStep#{number}"
            number += 1
        yield _event(name, "user_annotation", start, end, 0, thread)
    if marker is not None and number == 0:
        raise NsysError(f"has no NVTX range whose name contains {marker!r}")


def events(path: str, *, device: Optional[int] = None, marker: Optional[str] = None) -> Iterator[dict]:
    """The events of a profile in SQLite, as Kineto writes them. Raises NsysError for other files."""
    if not os.path.isfile(path):
        raise NsysError("is no file")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        try:
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if "StringIds" not in tables or "CUPTI_ACTIVITY_KIND_KERNEL" not in tables:
                raise NsysError("holds no kernels: export with `nsys export --type sqlite`, "
                                "profile with --trace=cuda,nvtx")
            yield from _activities(database, device)
            yield from _calls(database)
            yield from _ranges(database, marker)
        except sqlite3.DatabaseError as error:
            raise NsysError(f"is no SQLite export of Nsight Systems ({error})") from error


def convert(path: str, output: str, *, device: Optional[int] = None, marker: Optional[str] = None) -> int:
    """Writes the trace, whole or not at all; packed where the name ends in .gz. Gives its events."""
    folder = os.path.dirname(os.path.abspath(output))
    handle, part = tempfile.mkstemp(dir=folder, prefix=".orrery-")
    os.close(handle)
    count = 0
    try:
        opened = gzip.open(part, "wt") if output.endswith(".gz") else open(part, "w", encoding="utf-8")
        with opened as file:
            file.write('{"traceEvents": [')
            for event in events(path, device=device, marker=marker):
                file.write(("\n" if count == 0 else ",\n") + json.dumps(event))
                count += 1
            file.write("\n]}\n")
        os.replace(part, output)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return count


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m orrery.nsys", description=__doc__.split("\n", 1)[0])
    parser.add_argument("profile", help="nsys export --type sqlite")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="trace: .json or .json.gz")
    parser.add_argument("--device", type=int, metavar="N", help="only this GPU, as the trace of its rank")
    parser.add_argument("--marker", metavar="TEXT", help="part of the name of a step's NVTX range")
    options = parser.parse_args(arguments)
    if os.path.exists(options.output) and os.path.samefile(options.profile, options.output):
        parser.error("the trace would overwrite the profile")
    try:
        count = convert(options.profile, options.output, device=options.device, marker=options.marker)
    except (NsysError, OSError) as error:
        print(f"{options.profile}: error: {error}", file=sys.stderr)
        return 3
    print(f"{options.output}: {count} events", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
