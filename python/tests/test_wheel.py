"""A wheel of what the build installs works where there is nothing but Python.

The backend of pyproject.toml gives the metadata; the files are those of `cmake --install --component
python`, which a wheel is made of. Compiling it all a second time would say nothing more.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import orrery
import pytest

ROOT = Path(__file__).parent.parent.parent


def test_a_wheel_answers_in_a_clean_environment(tmp_path):
    backend = pytest.importorskip("scikit_build_core.build")
    pytest.importorskip("wheel")
    content = tmp_path / "content"
    subprocess.run(["cmake", "--install", os.environ["ORRERY_BUILD"], "--component", "python",
                    "--prefix", content], check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(ROOT / "python/orrery", content / "orrery", dirs_exist_ok=True)
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        backend.prepare_metadata_for_build_wheel(str(content))
    finally:
        os.chdir(before)
    subprocess.run([sys.executable, "-m", "wheel", "pack", content, "-d", tmp_path], check=True,
                   stdout=subprocess.DEVNULL)
    [wheel] = tmp_path.glob("*.whl")

    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    python = tmp_path / "env/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", wheel], check=True, env=bare)
    asked = "import orrery; print(orrery.version()); print(orrery.run('llama3-70b-64h100', trials=2).metrics)"
    printed = subprocess.run([python, "-c", asked], check=True, env=bare, cwd=tmp_path, capture_output=True,
                             text=True).stdout
    assert printed.splitlines() == [orrery.version(),
                                    str(orrery.run("llama3-70b-64h100", trials=2).metrics)]
    assert list((tmp_path / "env").rglob("_core.pyi")) and list((tmp_path / "env").rglob("py.typed"))
