"""The notebooks run from the first cell to the last."""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(path):
    reason = "scripts/python-env has not installed it"
    nbclient = pytest.importorskip("nbclient", reason=reason)
    for needed in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(needed, reason=reason)
    nbformat = pytest.importorskip("nbformat", reason=reason)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(path.parent)}}).execute()
    pictures = [output for cell in notebook.cells for output in cell.get("outputs", [])
                if "image/png" in output.get("data", {})]
    assert pictures, "no picture was drawn"
