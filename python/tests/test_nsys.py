"""A profile of Nsight Systems becomes a trace whose steps and categories are those it was made of."""

import gzip
import json
import os
import sqlite3
import subprocess

import pytest
from orrery import nsys

PROGRAM = os.environ["ORRERY_PROGRAM"]
SCENARIO = """format: orrery/1
name: traced
model: {preset: llama3-8b}
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 1}
batch: {global: 1, micro: 1}
"""


def profile(path, steps=4):
    """Steps of 10 ms: two products of 4 ms each, 1 ms of copies, 1 ms of nothing."""
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
            (start INT, end INT, deviceId INT, streamId INT, correlationId INT, demangledName INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
            (start INT, end INT, deviceId INT, streamId INT, correlationId INT, copyKind INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT);
        CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT);
        INSERT INTO StringIds VALUES (1, 'nvjet_hsh_128x256_TNT'), (2, 'iteration');
    """)
    ms = 1_000_000
    for step in range(steps):
        at = step * 10 * ms
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 7, NULL, 2)", (at, at + 9 * ms))
        for k, (begin, end) in enumerate(((0, 4), (4, 8))):
            launch = 10 * step + k
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 7, ?)", (at, at + 1000, launch))
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, 1)",
                             (at + begin * ms + 2000, at + end * ms + 2000, launch))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 7, ?)", (at, at + 1000, 10 * step + 5))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 7, ?, 1)",
                         (at + 8 * ms + 2000, at + 9 * ms + 2000, 10 * step + 5))
    database.commit()
    database.close()


def test_a_profile_is_compared_like_a_trace(tmp_path):
    profile(tmp_path / "report.sqlite")
    trace = tmp_path / "trace.json.gz"
    assert nsys.main([str(tmp_path / "report.sqlite"), "-o", str(trace), "--marker", "iteration"]) == 0
    (tmp_path / "a.yaml").write_text(SCENARIO)
    printed = subprocess.run([PROGRAM, "compare", "--json", "-q", "a.yaml", str(trace)], cwd=tmp_path,
                             capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    text = json.dumps(json.loads(printed.stdout))
    assert "0.01" in text
    events = json.loads(gzip.open(trace).read())["traceEvents"]
    assert sum(event["cat"] == "kernel" for event in events) == 8
    assert {event["name"] for event in events if event["cat"] == "gpu_memcpy"} == {"Memcpy HtoD"}
    assert [event["name"] for event in events if event["cat"] == "user_annotation"][:2] == \
        ["ProfilerStep#0", "ProfilerStep#1"]


def test_other_files_are_refused_and_nothing_is_left(tmp_path, capsys):
    other = tmp_path / "other.sqlite"
    other.write_text("no database")
    empty = tmp_path / "empty.sqlite"
    sqlite3.connect(empty).close()
    profile(tmp_path / "report.sqlite")
    for path, more, problem in ((other, [], "is no SQLite export"), (empty, [], "holds no kernels"),
                                (tmp_path / "none", [], "is no file"),
                                (tmp_path / "report.sqlite", ["--marker", "epoch"], "no NVTX range")):
        assert nsys.main([str(path), "-o", str(tmp_path / "out.json"), *more]) == 3
        assert problem in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
    assert not list(tmp_path.glob(".orrery-*"))
    with pytest.raises(SystemExit):
        nsys.main([str(tmp_path / "report.sqlite"), "-o", str(tmp_path / "report.sqlite")])
