"""The benchmark of the newest CUB: versions of headers, and its tables. It measures on a GPU only."""

import pytest

from benchmarks.baselines import cub
from benchmarks.suite.cccl import LEVELS, Cccl


def headers(folder, line):
    path = folder / "cuda/std/__cccl/version.h"
    path.parent.mkdir(parents=True)
    path.write_text(f"// the version\n{line}\n", encoding="utf-8")
    return folder


def test_the_version_of_headers(tmp_path):
    assert cub.version(headers(tmp_path, "#define CCCL_VERSION 3005012")) == "3.5.12"


def test_headers_without_a_version_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no CCCL_VERSION"):
        cub.version(headers(tmp_path, "#define OTHER 1"))


def test_headers_of_the_package_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert cub.installed_headers() is None
    (tmp_path / "nvidia/cu13/include/cccl").mkdir(parents=True)
    assert cub.installed_headers() == tmp_path / "nvidia/cu13/include/cccl"


def test_the_tables():
    def row(what, n, size, **us):
        median = {name: {"median": value} for name, value in us.items()}
        return {"what": what, "dtype": "float32", "n": n, "size": size, "us": median}

    sums = row("sum", 256, 0, gpureduce=1.0, exact=2.0, **dict.fromkeys(LEVELS, 4.0))
    rows = [
        {**sums, "error": {"gpureduce": 2e-7, "gpu_to_gpu": 3e-5}},
        row("top", 1 << 12, 16, gpureduce=5.0, cub=6.0, torch=7.0),
        row("segments", 1 << 26, 1024, gpureduce=8.0, cub=9.0),
    ]
    head = {"device": "A GPU", "toolkit": "13.0", "driver_cuda": "13.0", "date": "2026-11-29"}
    page = Cccl.table({**head, "cccl": "3.5.0", "method": "graphs", "rows": rows})
    assert "A GPU, CUDA 13.0, driver for CUDA 13.0, 2026-11-29, CCCL 3.5.0: graphs." in page
    assert "| 2^8 | float32 | 1 | 2 | 4 | 4 | 4 | 2e-07 | 3e-05 |" in page
    assert "| 2^12 | 16 | 5 | 6 | 7 |" in page
    assert "| 1,024 | 8 | 9 |" in page
