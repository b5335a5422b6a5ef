#!/usr/bin/env bash
# The Python suite under AddressSanitizer and UBSan, in an environment whose gpureduce was installed (not in
# place) with GPUREDUCE_SANITIZE=1:
#   tests/tools/sanitized.sh PYTHON [options of pytest]
# With LEAKS=1 each process also looks, as it ends, for memory that our C code left unreachable.
# Reports go to files, those of children too, whose exit status a test may not look at; one report is a failure.
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")/../.."
# -I and bin/pytest keep the checkout, which may hold an ordinary build, off sys.path.
package=$("$python" -I -c 'from importlib.util import find_spec; print(*find_spec("gpureduce").submodule_search_locations)')
grep -q __asan_init "$package"/_core*.so || { echo "$package was not built with GPUREDUCE_SANITIZE=1" >&2; exit 2; }
leaks=${LEAKS:-0}
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

# The sanitizer has to see libstdc++ when it starts, or the first exception of anybody's C++ ends the process.
# CPython leaks as it ends, which must not change the exit status that tests of children look at. UBSan cannot write
# to a file beside ASan: it aborts, and ASan reports that, whoever has asked for SIGABRT.
status=0
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS=detect_leaks=$leaks:handle_abort=2:log_path=$reports/asan$( ((leaks)) && echo :exitcode=0 || true) \
    UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1:log_path=$reports/asan \
    PYTHONMALLOC=malloc "$(dirname "$python")"/pytest "$@" || status=$?

# Of leaks only those with a frame in our sources: a paragraph each. Where a daemon thread ran on, what it holds
# looks like a leak: such a report says so, and is left out.
mapfile -t files < <(grep -rL 'was not suspended' "$reports")
found=$(awk -v RS= -v ORS='\n\n' '/detected memory leaks|leaked in/ { next }
    /^(Direct|Indirect) leak/ && !/ csrc\/|gpureduce\/_core/ { next } 1' "${files[@]}" /dev/null)
[[ -z $found ]] || { printf '%s\n' "$found"; exit 1; }
echo "no report of the sanitizers on gpureduce"
exit "$status"
