#!/usr/bin/env bash
# Measures, on a GPU, the results that the README, docs/ and the notebooks show: tests/gpu/measure.sh FOLDER
# They belong into benchmarks/results, ladder_h200.json into gpureduce/_bench. The end of a name is the GPU of the
# committed result. `python benchmarks/docs_tables.py` then writes the documents.
set -euo pipefail
out=$1
python=${PYTHON:-python3}
run="$python $(dirname "$0")/../../benchmarks/run.py"
$run peers --out "$out/peers_h200.json"
$run shapes --out "$out/shapes_h200.json"
$run calls --out "$out/calls_h200.json"
$run host_calls --out "$out/host_calls_h200.json"
$run arrays --out "$out/arrays_h100.json"
$run operators --out "$out/operators_h200.json"
$run moments --out "$out/moments_h100.json"
$run floats --out "$out/floats_h100.json"
$run scans --out "$out/scans_h200.json"
$run scan_rungs --out "$out/scan_rungs_h200.json"
$run groups --out "$out/groups_h200.json"
$run group_rungs --out "$out/group_rungs_h100.json"
$run multi_device --out "$out/multi_device_h100.json"
$run host --out "$out/host_h200.json"
$run exact_sums --check 1000000 --jobs 12 --max-exponent 30 --out "$out/exact_h200.json"
$run accuracy --out "$out/accuracy_h200.json"
$run ladder --dtypes float32 float64 int32 int64 --out "$out/ladder_h200.json"
$run ladder --n $((1 << 24)) --out "$out/techniques_h200.json"
sizes=()
for power in 10 12 14 16 18 20 22 24 26; do sizes+=($((1 << power))); done
$run ladder --n "${sizes[@]}" --repeats 10 --out "$out/sizes_h200.json"
$python "$(dirname "$0")/ncu_pipes.py" --out "$out/pipes_h200.json"
