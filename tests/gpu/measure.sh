#!/usr/bin/env bash
# Measures, on a GPU, the results that the README, docs/ and the notebooks show: tests/gpu/measure.sh FOLDER
# They go to benchmarks/results, and ladder_h200.json to gpureduce/_bench; then python benchmarks/docs_tables.py, which has their names: each ends with the
# card that the committed one is of.
set -euo pipefail
out=$1
python=${PYTHON:-python3}
$python benchmarks/run.py peers --out "$out/peers_h200.json"
$python benchmarks/run.py shapes --out "$out/shapes_h200.json"
$python benchmarks/run.py calls --out "$out/calls_h200.json"
$python benchmarks/run.py host_calls --out "$out/host_calls_h100.json"
$python benchmarks/run.py arrays --out "$out/arrays_h100.json"
$python benchmarks/run.py operators --out "$out/operators_h200.json"
$python benchmarks/run.py moments --out "$out/moments_h100.json"
$python benchmarks/run.py floats --out "$out/floats_h100.json"
$python benchmarks/run.py scans --out "$out/scans_h100.json"
$python benchmarks/run.py multi_device --out "$out/multi_device_h100.json"
$python benchmarks/run.py host --out "$out/host_h200.json"
$python benchmarks/run.py exact_sums --check 1000000 --jobs 12 --most 30 --out "$out/exact_h200.json"
$python benchmarks/run.py accuracy --out "$out/accuracy_h200.json"
$python benchmarks/run.py ladder --dtypes float32 float64 int32 int64 --out "$out/ladder_h200.json"
$python benchmarks/run.py ladder --n $((1 << 24)) --out "$out/techniques_h200.json"
sizes=()
for power in 10 12 14 16 18 20 22 24 26; do sizes+=($((1 << power))); done
$python benchmarks/run.py ladder --n "${sizes[@]}" --repeats 10 --out "$out/sizes_h200.json"
$python "$(dirname "$0")/ncu_pipes.py" --out "$out/pipes_h200.json"
