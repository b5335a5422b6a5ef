#!/usr/bin/env bash
# The suite on a GPU under the four tools of compute-sanitizer, which must find nothing:
#   tests/gpu/sanitize_suite.sh FOLDER [arguments of pytest, such as -n 6]
# Left out are tests whose kernels race or fault on purpose, those of other libraries' kernels, those that only
# repeat or enlarge what others do, and those that run on the simulator whatever the device.
set -uo pipefail
out=$1
shift
python=${PYTHON:-python3}
left_out=()
for name in bench boundary command_line determinism faults gpu_faults hardware_counters interop leaks notebooks \
    processes racecheck results threads; do
    left_out+=("--ignore=tests/test_$name.py")
done
mkdir -p "$out"
declare -A options=([memcheck]="--report-api-errors no")
for tool in memcheck racecheck initcheck synccheck; do
    # shellcheck disable=SC2086
    compute-sanitizer --tool $tool ${options[$tool]:-} --target-processes all --print-limit 100000 \
        --log-file "$out/$tool.log" \
        $python -m pytest --device=cuda -q -rf --tb=line -p no:cacheprovider --timeout=0 --property-cases=1000 \
        "${left_out[@]}" -k "not published and not large and not huge and not test_cub and not cub-" "$@" \
        >"$out/$tool.txt" 2>&1 &
done
trap 'kill -INT $(jobs -p)' INT # pytest then says what it has run
wait
status=0
for tool in memcheck racecheck initcheck synccheck; do
    tests=$(tail -n 1 "$out/$tool.txt")
    # Findings begin at the margin. Some tests run the rung that races on purpose.
    found=$(grep -E '^========= [A-Z]' "$out/$tool.log" | grep -cvE 'COMPUTE-SANITIZER|SUMMARY|v4_published')
    echo "$tool: $tests; findings: $found"
    [[ $found == 0 && $tests == *passed* && $tests != *failed* ]] || status=1
done
exit $status
