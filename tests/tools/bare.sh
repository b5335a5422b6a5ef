#!/usr/bin/env bash
# A newcomer's first ten minutes (first_ten_minutes.sh) in a bare Debian that debootstrap makes; as root:
#   tests/tools/bare.sh [--notebook] trixie dist/*.whl     the wheel, where no compiler is installed
#   tests/tools/bare.sh [--notebook] trixie .              a clean clone of what is committed here
#   tests/tools/bare.sh --tests trixie .                   the same, and then the README's test command: about 15 minutes
set -euo pipefail
notebook= tests=
while [[ $1 == --* ]]; do
    case $1 in
    --notebook) notebook=$1 ;;
    --tests) tests=1 ;;
    *) echo "bare.sh: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
suite=$1 what=$(realpath "$2")
tree=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

debootstrap --variant=minbase --include=ca-certificates,python3-venv "$suite" "$root" >"$root.log" ||
    { tail "$root.log" && exit 1; }
rm "$root.log"
git clone -q "$tree" "$root/gpureduce"
target=README.md
if [[ $what == *.whl ]]; then
    cp "$what" "$root/gpureduce"
    target=$(basename "$what")
fi
# The network is this machine's, and so is how it is reached.
cp -L /etc/resolv.conf "$root/etc"
# An installed Debian has it, and so has a container; chromedriver looks there for the browser that it started.
echo "127.0.0.1 localhost" >"$root/etc/hosts"
if [[ -n ${PIP_CERT:-} ]]; then cp --parents -L "$PIP_CERT" "$root"; fi
mapfile -t kept < <(env | grep -E '^(PIP_CERT|PIP_INDEX_URL|https?_proxy|no_proxy)=' || true)
inside() {
    unshare --mount --pid --fork --mount-proc="$root/proc" env -i HOME=/root LANG=C.UTF-8 "${kept[@]}" \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" bash -c "$1"
}
if [[ $notebook ]]; then inside "apt-get -q update && apt-get install -qy --no-install-recommends chromium chromium-driver" >"$root/log"; fi
inside "cd /gpureduce && tests/tools/first_ten_minutes.sh $notebook $target"
if [[ $tests ]]; then
    command=$(sed -n '/<!-- test-command -->/,/<!-- end -->/p' "$root/gpureduce/README.md" | grep -v -e '^<!--' -e '^```')
    inside "cd /gpureduce && $command"
fi
