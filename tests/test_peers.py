"""What the benchmark beside the peers makes of its figures; it measures on a GPU only."""

import json

from gpureduce.bench import peers_table as table
from gpureduce.bench.peers import __main__ as peers
from gpureduce.bench.peers import contenders


def row(op, dtype, n, us, offset=0, **others):
    return {
        "op": op,
        "dtype": dtype,
        "n": n,
        "offset": offset,
        "us": {name: {"median": value} for name, value in {"gpureduce": us, **others}.items()},
        "gb_per_s": n * 4 / us / 1e3,
        "ratio": {name: us / value for name, value in others.items()},
    }


RECORD = {
    "device": "A GPU",
    "toolkit": "13.0",
    "driver_cuda": "13.0",
    "torch": "2.0",
    "date": "2026-11-21",
    "method": "graphs",
    "floors": {"empty_us": 0.5, "read_gb_per_s": 4000.0, "copy_gb_per_s": 2500.0},
    "rows": [
        row("sum", "float32", 1 << 20, 3.0, cub=4.0, torch=8.0),
        row("sum", "float32", 1 << 20, 3.3, offset=1, cub=4.0),
        row("sum", "int8", 1 << 20, 2.0, cub=4.0),
        row("max", "float32", 1 << 24, 16.0, cub=20.0),
    ],
}


def test_the_page():
    page = table.tables(RECORD)
    assert "| 2^20 | 3.00 | 1,398 | 33.3% | 0.75 | 0.38 |  |  |" in page  # of 4,194 GB/s, the max of 2^24
    assert "| int8 | 0.50 |" in page
    assert "| float32 | 0.80 |" in page
    assert "| sum float32 | 1.10 |" in page


def test_it_prints_a_results_file(tmp_path, capsys):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps(RECORD))
    assert peers.main(["--table", str(path)]) == 0
    assert capsys.readouterr().out.strip() == table.tables(RECORD).strip()


def test_every_size_of_float32_sums_is_measured():
    cases = list(peers.cases(("sum", "max"), ("float32", "int8")))
    assert [e for op, dtype, e, offset in cases if (op, dtype, offset) == ("sum", "float32", 0)] == [
        *range(31)
    ]
    assert len(cases) == len(set(cases))
    assert {(op, dtype) for op, dtype, *_ in cases} == {
        (o, d) for o in ("sum", "max") for d in ("float32", "int8")
    }


def test_graphs_hold_enough_reductions():
    assert peers.launches_of(4) == 256
    assert peers.launches_of(1 << 32) == 16


def test_the_source_of_the_cub_peer_is_installed():
    text = contenders.SOURCE.read_text(encoding="utf-8")
    assert all(f'OF("{dtype}", ' in text for dtype in peers.DTYPES)
