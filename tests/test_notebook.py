"""The notebook of the docs runs, and what it shows is so."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

NOTEBOOK = ROOT / "docs" / "timeline.ipynb"


@pytest.mark.filterwarnings("default")  # of Jupyter and its transport, about their own matters
def test_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of the notebook runs from top to bottom, on the checkout's own package and samples."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.metadata["kernelspec"]["name"] = "python3"
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    outputs = [
        output.get("text", output.get("data", {}).get("text/plain", "")) for cell in notebook.cells for output in cell.get("outputs", [])
    ]

    assert any("prefill-graph" in output and "43.48" in output for output in outputs)
    assert any("Single captures held up the others" in output for output in outputs)


def test_notebook_is_kept_without_outputs() -> None:
    """What a cell showed on somebody's machine is no part of the repository."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)

    assert [] == [cell.id for cell in notebook.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
