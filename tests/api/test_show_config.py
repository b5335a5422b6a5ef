"""`show_config` tells what a bug report needs."""

import json
import platform

import numpy as np
import pytest

import gpureduce


@pytest.fixture
def config(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path))
    with gpureduce.device("sim:2"):
        return gpureduce.show_config(mode="dicts")


def test_versions_devices_libraries_and_paths(config, tmp_path):
    assert config["gpureduce"] == gpureduce.__version__ and config["python"] == platform.python_version()
    assert config["packages"]["numpy"] == np.__version__
    assert [each["device"] for each in config["devices"]] == [str(each) for each in gpureduce.devices()]
    assert (config["cuda_problem"] is None) == (len(gpureduce.devices()) > 1)
    assert config["default_device"] == "sim:2"
    assert set(config["libraries"]) == {"cublas", "cudnn", "nvrtc"}
    installed = {variant.name: variant.installed for variant in gpureduce.variants()}
    for name in ("cublas", "cudnn"):
        assert (config["libraries"][name] == "found") == installed[name]
    assert config["paths"]["kernel cache"] == config["environment"]["GPUREDUCE_CACHE_DIR"] == str(tmp_path)
    assert config["paths"]["package"] == gpureduce.__path__[0]
    assert json.loads(json.dumps(config))["variants"] == len(gpureduce.variants())


def test_it_is_printed(config, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path))
    assert gpureduce.show_config() is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"gpureduce {gpureduce.__version__}, Python {platform.python_version()}, ")
    assert f"kernel cache: {tmp_path}" in lines and f"GPUREDUCE_CACHE_DIR: {tmp_path}" in lines
    for name in ("platform", "packages", "default device", "cublas", "nvrtc"):
        assert any(line.startswith(f"{name}: ") for line in lines), name
    assert any(line.startswith("sim ") and "PTX simulator" in line for line in lines)


def test_no_warning_and_no_default_device_come_of_it(recwarn):
    before = gpureduce._core.default_device()
    gpureduce.show_config("dicts")
    assert gpureduce._core.default_device() == before and not recwarn.list


@pytest.mark.parametrize("mode", ["dict", None, 3, np.array(["dicts", "dicts"])])
def test_another_mode_is_refused(mode):
    with pytest.raises(ValueError, match="mode: expected 'stdout' or 'dicts', got"):
        gpureduce.show_config(mode)
