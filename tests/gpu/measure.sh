#!/usr/bin/env bash
# Measures, on a GPU, the results that the README, docs/ and the notebooks show: tests/gpu/measure.sh FOLDER
# They go to gpureduce/bench/results; then python -m gpureduce.bench.tables, which has their names: each ends with the
# card that the committed one is of.
set -euo pipefail
out=$1
python=${PYTHON:-python3}
$python -m gpureduce.bench.peers --out "$out/peers_h200.json"
$python -m gpureduce.bench.shapes --out "$out/shapes_h200.json"
$python -m gpureduce.bench.calls --out "$out/calls_h200.json"
$python -m gpureduce.bench.host_calls --out "$out/host_calls_h100.json"
$python -m gpureduce.bench.arrays --out "$out/arrays_h100.json"
$python -m gpureduce.bench.operators --out "$out/operators_h200.json"
$python -m gpureduce.bench.moments --out "$out/moments_h100.json"
$python -m gpureduce.bench.floats --out "$out/floats_h100.json"
$python -m gpureduce.bench.scans --out "$out/scans_h100.json"
$python -m gpureduce.bench.several --out "$out/several_h100.json"
$python -m gpureduce.bench.host --out "$out/host_h200.json"
$python -m gpureduce.bench.exact_sums --check 1000000 --jobs 12 --most 30 --out "$out/exact_h200.json"
$python -m gpureduce.bench.accuracy --out "$out/accuracy_h200.json"
$python -m gpureduce.bench.ladder --dtypes float32 float64 int32 int64 --out "$out/ladder_h200.json"
$python -m gpureduce.bench.ladder --n $((1 << 24)) --out "$out/techniques_h200.json"
sizes=()
for power in 10 12 14 16 18 20 22 24 26; do sizes+=($((1 << power))); done
$python -m gpureduce.bench.ladder --n "${sizes[@]}" --repeats 10 --out "$out/sizes_h200.json"
$python "$(dirname "$0")/ncu_pipes.py" --out "$out/pipes_h200.json"
