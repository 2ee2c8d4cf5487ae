"""logphase works however it was installed, and its rules come with it."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
SHIPPED = {f"logphase/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "rules").rglob("*") if path.is_file()}


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    return done.stdout


def build(source: Path, out: Path, kind: str) -> Path:
    """Build `source` without network, as a `wheel` or an `sdist`."""
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", out, source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture
def install(tmp_path: Path) -> Callable[..., Path]:
    """Install into a fresh environment that sees the packages of this one, but not this checkout."""

    def into_fresh(*what: str | Path) -> Path:
        home = tmp_path / "environment"
        venv.create(home, symlinks=True)
        python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        ours = [path for path in sys.path if path.endswith("-packages")]
        (packages / "ours.pth").write_text("\n".join(ours), encoding="utf-8")
        run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", *what)
        return python

    return into_fresh


def explains_the_sample(python: Path, log: Path, cwd: Path) -> None:
    """Assert that this logphase finds its rules: it reads a log far away from any checkout."""
    report = json.loads(run(python, "-m", "logphase", "report", "--format", "json", log, cwd=cwd))

    assert "sglang" == report["startups"][-1]["engine"]


def imported_from(python: Path, cwd: Path) -> Path:
    return Path(run(python, "-c", "import logphase; print(logphase.__file__)", cwd=cwd).strip())


@pytest.fixture
def log(samples: list) -> Path:
    return samples[0].log


def test_wheel_holds_every_rule_file(wheel: Path) -> None:
    """The wheel has each file of `rules/` under `logphase/rules/`."""
    assert set() == SHIPPED - set(zipfile.ZipFile(wheel).namelist())


def test_wheel_brings_what_its_platform_can_install(wheel: Path) -> None:
    """A wheel that depends on the compiled prefilter is tagged for the platforms which have it; another one is for any."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    demanded = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ahocorasick") and "extra ==" not in line]

    assert demanded == [] if wheel.name.endswith("-py3-none-any.whl") else len(demanded) == 1


def test_wheel_works(wheel: Path, install: Callable[..., Path], log: Path, tmp_path: Path) -> None:
    """An installed wheel explains a log, and its console script gives a verdict."""
    python = install(wheel)

    assert tmp_path in imported_from(python, tmp_path).parents
    explains_the_sample(python, log, tmp_path)
    run(python.with_name("logphase"), "check", "--help", cwd=tmp_path)


def test_wheel_from_sdist_works(sdist: Path, install: Callable[..., Path], log: Path, tmp_path: Path) -> None:
    """A source distribution builds to a wheel that explains a log."""
    python = install("--no-build-isolation", sdist)

    assert tmp_path in imported_from(python, tmp_path).parents
    explains_the_sample(python, log, tmp_path)


def test_editable_install_works(install: Callable[..., Path], log: Path, tmp_path: Path) -> None:
    """An editable install finds the rules beside the package."""
    python = install("--no-build-isolation", "--editable", ROOT)

    assert ROOT in imported_from(python, tmp_path).parents
    explains_the_sample(python, log, tmp_path)


def test_plain_checkout_works(log: Path) -> None:
    """`python -m logphase` in a checkout needs no installation."""
    explains_the_sample(Path(sys.executable), log, ROOT)
