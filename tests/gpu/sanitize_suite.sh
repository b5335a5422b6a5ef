#!/usr/bin/env bash
# The suite on a GPU under the four tools of compute-sanitizer, which must find nothing:
#   tests/gpu/sanitize_suite.sh FOLDER -n 6 [more arguments of pytest]
# The processes of each tool are spread over the GPUs that there are.
# FOLDER holds what has passed, and a run that was stopped goes on from there. A test that hangs takes its process
# along after 400 seconds (the slowest one seen took 155), and another takes that one's place. On two H200s memcheck
# and initcheck end in 20 minutes with -n 7, synccheck and racecheck (not yet waiting for each launch) in some 30;
# TOOLS="racecheck synccheck" runs only those.
# Left out are tests whose kernels race or fault on purpose, those that only repeat or enlarge what others do, those
# that run on the simulator whatever the device, and those that start programs or look at the memory in use, where
# the tool's own is.
set -uo pipefail
out=$1
shift
python=${PYTHON:-python3}
left_out=()
for name in bench boundary build command_line determinism fake_driver fake_streams faults gpu_faults hardware_counters leaks \
    notebooks processes racecheck results; do
    left_out+=("--ignore-glob=*/test_$name.py")
done
skipped="published large huge test_cub cub- import_touches needs_no_cuda keep_nothing ctrl_c exit_frees"
skipped+=" copies_nothing first_calls threads_fork sub_interpreters"
mkdir -p "$out"
read -ra tools <<<"${TOOLS:-memcheck racecheck initcheck synccheck}"
# racecheck (2025.3) loses track of kernels that several threads launch, and hangs: a few lines of plain launches from
# eight threads do, too. One at a time, all is well.
declare -A options=([memcheck]="--report-api-errors no" [racecheck]="--force-blocking-launches")
# A minute for one test of large sums: racecheck follows each access to shared memory. What other libraries' kernels
# read and share is not ours to check.
declare -A also=([racecheck]="--thin --ignore=tests/interop/test_interop.py" [initcheck]="--ignore=tests/interop/test_interop.py")
GPUS=$(nvidia-smi --list-gpus | wc -l) && export GPUS
for tool in "${tools[@]}"; do
    # shellcheck disable=SC2086
    PYTHONPATH=tests/gpu:${PYTHONPATH:-} \
        compute-sanitizer --tool $tool ${options[$tool]:-} --target-processes all --print-limit 100000 \
        --log-file "$out/$tool.%p.log" \
        $python -m pytest --device=cuda -q -rf --tb=line -p no:cacheprovider -p passed --passed="$out/$tool.passed" \
        --timeout=400 --timeout-method=thread --property-cases=1000 ${also[$tool]:-} "${left_out[@]}" \
        -k "not ${skipped// / and not }" "$@" \
        >"$out/$tool.txt" 2>&1 &
done
wait
status=0
for tool in "${tools[@]}"; do
    tests=$(tail -n 1 "$out/$tool.txt")
    # Findings begin at the margin. Some tests run the rung that races on purpose.
    found=$(cat "$out/$tool".*.log | grep -E '^========= [A-Z]' | grep -cvE 'COMPUTE-SANITIZER|SUMMARY|v4_published')
    echo "$tool: $tests; passed in all runs: $(wc -l <"$out/$tool.passed"); findings: $found"
    [[ $found == 0 && $tests == *passed* && $tests != *failed* ]] || status=1
done
exit $status
