"""The host code of an exported rung: launch, comparison with a host sum, and timing."""

from __future__ import annotations

from dataclasses import dataclass

from gpureduce._device.variants import Variant


@dataclass(frozen=True)
class Launch:
    """Launch parameters of a rung: the columns of rungs.def."""

    grid: str
    span: int
    cluster: int
    shared: str
    output: str


def _cap(launch: Launch) -> list[str]:
    """Return the lines that limit the number of blocks."""
    if launch.grid == "per_block":
        return []
    cap, why = {
        "fixed": ("1024", "enough to fill a device; the threads walk the rest of the array"),
        "occupancy": ("132 * (2048 / BLOCK)", "the number that an H200 holds at once: 132 multiprocessors"),
        "half": ("132 * (2048 / 2 / BLOCK)", "half of the number that an H200 holds at once"),
    }[launch.grid]
    lines = [f"    const uint64_t most = {cap}; // {why}"]
    if launch.cluster > 1:
        size = launch.cluster
        lines += [
            f"    const uint64_t whole = (blocks + {size - 1}) / {size} * {size};",
            "    if (blocks > 1 && whole <= most)",
            "        return unsigned(whole); // whole clusters",
        ]
    return [*lines, "    blocks = blocks < most ? blocks : most;"]


def _span(launch: Launch, type_: str) -> str:
    return f"16 / sizeof({type_}) * BLOCK" if launch.span == 16 else f"{launch.span} * BLOCK"


def _blocks(launch: Launch) -> str:
    """Return the function of the number of blocks of a pass."""
    later = launch.output == "partials" and launch.grid != "per_block"
    lines = [
        f"static unsigned blocks_for(uint64_t n{', bool first' if later else ''}) {{",
        *(
            [
                "    if (!first && n <= 64 * BLOCK)",
                "        return 1; // one short pass is cheaper than a launch more",
            ]
            if later
            else []
        ),
        "    uint64_t blocks = (n + SPAN - 1) / SPAN;",
        *_cap(launch),
        "    return blocks > 0 ? unsigned(blocks) : 1;",
        "}",
    ]
    return "\n".join(lines)


def _shared(launch: Launch, type_: str) -> str:
    return {"thread": f"BLOCK * sizeof({type_})", "ring": "BLOCK * STAGES * VECTORS * 16", "static": "0"}[
        launch.shared
    ]


def _launched(launch: Launch, type_: str, entry: str) -> str:
    """Return the function that launches all passes."""
    if launch.output == "partials":
        first, later = (", true", ", false") if launch.grid != "per_block" else ("", "")
        return f"""\
// Each block leaves one result. These are reduced in turn, until there is one: in results[0] or results[1].
static {type_} *reduce_all(const {type_} *in, uint64_t n, {type_} *results[2]) {{
    unsigned blocks = blocks_for(n{first});
    {entry}<<<blocks, BLOCK, SHARED_BYTES>>>(in, results[0], n);
    int at = 0;
    while (blocks > 1) {{
        n = blocks;
        blocks = blocks_for(n{later});
        {entry}<<<blocks, BLOCK, SHARED_BYTES>>>(results[at], results[1 - at], n);
        at = 1 - at;
    }}
    return results[at];
}}"""
    call = f"    {entry}<<<blocks, BLOCK, SHARED_BYTES>>>(in, results[0], n, results[1], ticket);"
    if launch.cluster > 1:
        call = f"""\
    unsigned cluster = {launch.cluster};
    while (blocks % cluster != 0)
        cluster /= 2;
    cudaLaunchAttribute of_cluster = {{}};
    of_cluster.id = cudaLaunchAttributeClusterDimension;
    of_cluster.val.clusterDim.x = cluster;
    of_cluster.val.clusterDim.y = of_cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {{}};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(BLOCK);
    config.dynamicSmemBytes = SHARED_BYTES;
    config.attrs = &of_cluster;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, {entry}, in, results[0], n, results[1], ticket));"""
    return f"""\
// One launch: the block that finishes last combines the results of all. The ticket is 0 before and after.
static {type_} *reduce_all(const {type_} *in, uint64_t n, {type_} *results[2]) {{
    static unsigned *ticket = nullptr;
    if (ticket == nullptr) {{
        CHECK(cudaMalloc(&ticket, sizeof *ticket));
        CHECK(cudaMemset(ticket, 0, sizeof *ticket));
    }}
    const unsigned blocks = blocks_for(n);
{call}
    return results[0];
}}"""


def host_part(variant: Variant, launch: Launch, type_: str, entry: str) -> str:
    """Return what follows the kernel in an exported file."""
    wants = f"{entry}, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES"
    opt_in = f"    CHECK(cudaFuncSetAttribute({wants}));\n" if launch.shared == "ring" else ""
    return f"""\
#ifndef __CUDACC_RTC__ // NVRTC compiles kernels alone
// -------------------- the host's part
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *call) {{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\\n", call, cudaGetErrorString(error));
    std::exit(1);
}}

constexpr unsigned SHARED_BYTES = {_shared(launch, type_)}; // dynamic, of a block
constexpr uint64_t SPAN = {_span(launch, type_)}; // elements that a block takes in a turn

// Blocks of a pass over n elements.
{_blocks(launch)}

{_launched(launch, type_, entry)}

// Whole numbers whose sum is exact in any order, so that an element that is lost or counted twice shows.
static std::vector<{type_}> numbers(uint64_t n) {{
    const uint64_t every = n >> 21 > 0 ? n >> 21 : 1; // of long arrays, few that are not 0
    std::vector<{type_}> all(n);
    for (uint64_t i = 0; i < n; ++i) {{
        const uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u >> 32;
        all[i] = {type_}(mixed % every == 0 ? 1 + mixed / every % (n <= 1 << 20 ? 15 : 3) : 0);
    }}
    return all;
}}

int main(int count, char **words) {{
    const uint64_t n = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1u << 25;
    const uint64_t some = 300007, most = n > some ? n : some;
    const uint64_t lengths[] = {{0, 1, 2, 3, 31, 33, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 4099, some, n}};
    {type_} *in, *results[2];
    CHECK(cudaMalloc(&in, most * sizeof *in));
    for ({type_} *&each : results)
        CHECK(cudaMalloc(&each, (most / BLOCK + 1) * sizeof *each));
{opt_in}\
    for (uint64_t length : lengths) {{
        const std::vector<{type_}> all = numbers(length);
        double right = 0;
        for ({type_} x : all)
            right += double(x);
        CHECK(cudaMemcpy(in, all.data(), length * sizeof *in, cudaMemcpyHostToDevice));
        const {type_} *result = reduce_all(in, length, results);
        CHECK(cudaGetLastError());
        {type_} sum;
        CHECK(cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost));
        if (double(sum) != right) {{
            std::printf("wrong: the sum of %llu elements is %.0f, but the result is %.0f\\n",
                        (unsigned long long)length, right, double(sum));
            return 1;
        }}
    }}

    // Times of all passes. An array that fits the L2 cache is read from there.
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    float best = 1e30f;
    for (int repeat = 0; repeat < 20; ++repeat) {{
        CHECK(cudaEventRecord(start));
        reduce_all(in, n, results);
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
        best = milliseconds < best ? milliseconds : best;
    }}
    const double gigabytes = n * sizeof *in / best / 1e6;
    std::printf("{variant.name}: right; %llu elements in %.2f us, %.1f GB/s\\n", (unsigned long long)n,
                best * 1e3, gigabytes);
    return 0;
}}
#endif
"""
