"""The traps of scans and segments: what is before a thread, a tile, a segment; and where they end."""

from mutants import INCLUDE, Mutant

CHAIN = INCLUDE + "grid/lookback_tiles.cuh"
NODES = INCLUDE + "grid/lookback_tree.cuh"
SCAN = INCLUDE + "scan/scan.cuh"
LINES, BRIEF = INCLUDE + "scan/persistent.cuh", INCLUDE + "scan/one_wave.cuh"
SHORT, PREFIX = INCLUDE + "scan/short_lines.cuh", INCLUDE + "scan/prefix.cuh"
COLUMNS = INCLUDE + "scan/columns.cuh"
SEGMENTS, OPS = INCLUDE + "segments/segments.cuh", INCLUDE + "segments/ops.cuh"
STREAMS = INCLUDE + "segments/row_streaming.cuh"
SCAN_PLAN, SEGMENT_PLAN = "csrc/scan/scan.c", "csrc/segments/segments.c"


def scans(words):
    return ("tests/scans/test_scans.py", "-k", words)


def batches(words):
    return ("tests/scans/test_batches.py", "-k", words)


def segments(words):
    return ("tests/segments/test_segments.py", "-k", words)


MUTANTS = (
    # Columns of a short axis
    Mutant(
        "a column of a short axis begins anew with each batch of rows",
        COLUMNS,
        "ColumnScan",
        "sums[j] = row + i == 0 ? x",
        "sums[j] = i == 0 ? x",
        scans("columns_of"),
    ),
    Mutant(
        "the rows of a column of a short axis are those of packed columns",
        COLUMNS,
        "ColumnScan",
        "in + int64_t(row + i) * p.along_stride",
        "in + int64_t(row + i) * int64_t(p.inner)",
        scans("columns_of"),
    ),
    Mutant(
        "columns that begin anywhere are loaded as vectors",
        COLUMNS,
        "ColumnScan",
        "if (p.vectors && p.in % (most * sizeof(In)) == 0 &&",
        "if (p.vectors &&",
        scans("vectors_of"),
    ),
    Mutant(
        "a thread has short columns behind the end of a line",
        COLUMNS,
        "ShortColumnScan",
        "return j == 0 || j * p.line_threads < right;",
        "return true;",
        scans("vectors_of"),
    ),
    Mutant(
        "lines of a short axis forget that results begin with the identity",
        COLUMNS,
        "ColumnScan",
        "line * (p.length + p.initial) * p.inner",
        "line * p.length * p.inner",
        scans("columns_of"),
    ),
    # What is before
    Mutant(
        "a tile forgets the first of the nodes before it",
        CHAIN,
        "LookbackTiles",
        "at - count + lane, of",
        "at - count + lane + (lane == 0 && count > 1), of",
        scans("lengths"),
    ),
    Mutant(
        "a node has its own tile alone",
        CHAIN,
        "LookbackTiles",
        "t / 32, of), F::combine(sum, exclusive[of]));",
        "t / 32, of), exclusive[of]);",
        scans("long_lines"),
    ),
    Mutant(
        "a node of the third level has a part alone",
        CHAIN,
        "LookbackTiles",
        "                    own = F::combine(one, own);\n",
        "                    own = level > 0 ? own : F::combine(one, own);\n",
        scans("long_lines"),
    ),
    Mutant(
        "what is before comes behind",
        CHAIN,
        "LookbackTiles",
        "sum = has ? F::combine(one, sum) : one;",
        "sum = has ? F::combine(sum, one) : one;",
        segments("skewed"),
    ),
    Mutant(
        "the warps before are forgotten",
        CHAIN,
        "LookbackTiles",
        "        s = F::combine(carry, s);\n",
        "",
        scans("lengths"),
    ),
    Mutant(
        "a thread forgets the warps before",
        CHAIN,
        "LookbackTiles",
        "F::combine(carry, mine) : carry;",
        "mine : carry;",
        scans("lengths"),
    ),
    Mutant(
        "what is before a tile is forgotten",
        SCAN,
        "Scan",
        "                        sum.append(exclusive[column]);\n",
        "                        sum.append(F::identity());\n",
        scans("axes_and_strides"),
    ),
    Mutant(
        "a band forgets the bands before it",
        SCAN,
        "Scan",
        "sum.append(lows[band << p.columns_shift | column]);",
        "sum.append(F::identity());",
        scans("axes_and_strides"),
    ),
    Mutant(
        "the sum of a group of bands lacks some of them",
        PREFIX,
        "",
        "const unsigned before = (i & ~(2 * step - 1)) + step - 1;",
        "const unsigned before = i - min(i, step);",
        scans("axes_and_strides"),
    ),
    Mutant(
        "a plan deals rows to runs by the number of columns",
        SCAN_PLAN,
        "share",
        "of->ordered && groups > GR_SCAN_BAND_RUNS ? max_rows :",
        "false ? max_rows :",
        batches("columns"),
    ),
    Mutant(
        "lines of a thread run on",
        SCAN,
        "Scan",
        "                    sum.has = false;\n",
        "",
        scans("axes_and_strides"),
    ),
    Mutant(
        "a tile's elements are not there yet",
        SCAN,
        "Scan",
        "        load(tile);\n        __syncthreads();\n",
        "        load(tile);\n",
        scans("races"),
    ),
    Mutant(
        "the last tile is as long as others",
        SCAN,
        "Scan",
        "min(uint64_t(p.slot), p.length - at)",
        "p.slot",
        scans("lengths"),
    ),
    Mutant(
        "rows of float32 are added in float",
        SCAN,
        "",
        "RunningState<float> { using type = double; };",
        "RunningState<float> { using type = float; };",
        scans("within_a_rounding"),
    ),
    Mutant(
        "a plan counts too few tiles",
        SCAN_PLAN,
        "share",
        "gr_ceil_div(params->length, params->slot);",
        "params->length / params->slot;",
        scans("lengths"),
    ),
    # Long lines
    Mutant(
        "a block forgets the tiles before it",
        BRIEF,
        "OneWaveScan",
        "before.append(shared.tiles);",
        "before.append(F::identity());",
        scans("at_once"),
    ),
    Mutant(
        "a block forgets what is before it of its tile",
        BRIEF,
        "OneWaveScan",
        "inside.append(shared.shares);",
        "inside.append(F::identity());",
        scans("at_once"),
    ),
    Mutant(
        "a block has another order than a tile",
        BRIEF,
        "OneWaveScan",
        "else if (group_warps == 2 * WARPS_PER_TILE)\n                    two = group;\n",
        "",
        batches("rows"),
    ),
    Mutant(
        "a row of vectors forgets those before it",
        SHORT,
        "ShortLines",
        "lane > 0 ? F::combine(all, before[v]) : all;",
        "lane > 0 ? before[v] : all;",
        scans("one_block"),
    ),
    Mutant(
        "a warp forgets those before it",
        SHORT,
        "ShortLines",
        "before[v] = v > 0 || inside ? F::combine(carry, before[v]) : carry;",
        "before[v] = v > 0 || inside ? before[v] : carry;",
        scans("one_block"),
    ),
    Mutant(
        "a chunk forgets those before it",
        LINES,
        "PersistentScan",
        "                begin.prepend(carry);\n",
        "                begin.append(carry);\n",
        scans("long_lines"),
    ),
    Mutant(
        "a chunk hands on its own sum alone",
        LINES,
        "PersistentScan",
        "first.t > 0 ? F::combine(carry, sum) : sum);",
        "sum);",
        scans("long_lines"),
    ),
    Mutant(
        "a tile is overwritten before it is stored",
        LINES,
        "PersistentScan",
        "ptx::cp_async_bulk_wait_group_read<0>();",
        "ptx::cp_async_bulk_wait_group_read<9>();",
        scans("long_lines or races"),
    ),
    Mutant(
        "what was clean is left as it is",
        SCAN_PLAN,
        "plan_persistent",
        "params.zeroes_nodes = few;",
        "params.zeroes_nodes = 0;",
        scans("bits_are_the_same"),
        gpu_only="the simulator gives each call memory of its own",
    ),
    Mutant(
        "who looks back stops at the last ticket",
        LINES,
        "PersistentScan",
        "ends = end;",
        "ends = true;",
        scans("long_lines"),
    ),
    Mutant(
        "results of int32 go where others' elements are",
        LINES,
        "PersistentScan",
        "                wait_for_others<2>();\n            }\n#pragma unroll",
        "            }\n#pragma unroll",
        scans("long_lines or races"),
    ),
    Mutant(
        "a line's address is a multiple of 16",
        LINES,
        "PersistentScan",
        "(reinterpret_cast<uint64_t>(in_of(of)) % 16 == 0 ? GR_LINE_IN : 0)",
        "GR_LINE_IN",
        scans("begin_and_end_anywhere"),
    ),
    # Segments
    Mutant(
        "a segment forgets what earlier threads have of it",
        SEGMENTS,
        "Segments",
        "first.part = Segmented<F>::combine(carry, first.part);\n",
        "",
        segments("lengths_and_borders"),
    ),
    Mutant(
        "what is behind a segment's end goes on",
        SEGMENTS,
        "Segmented",
        "        if (b.flags & GR_PART_ENDS)\n            return b;\n",
        "",
        segments("skewed"),
    ),
    Mutant(
        "an end that is at a row is after it",
        SEGMENTS,
        "Segments",
        "            if (ends[middle] < items - middle)",
        "            if (ends[middle] + 1 < items - middle)",
        segments("lengths_and_borders or skewed"),
    ),
    Mutant(
        "places are counted in the order",
        SEGMENTS,
        "Segments",
        "F::places && count > 0 ? row_of(F::place(sum)) : 0",
        "F::place(sum)",
        segments("test_groups"),
    ),
    Mutant(
        "the last of equals wins",
        OPS,
        "SegmentPlace",
        "b.position < a.position &&",
        "b.position > a.position &&",
        segments("nan_ties"),
    ),
    Mutant(
        "uint64 has a sign",
        OPS,
        "",
        "constexpr uint64_t highest_bit = 1ull << 63;",
        "constexpr uint64_t highest_bit = 0;",
        segments("every_dtype"),
    ),
    Mutant(
        "a tile begins where the search stopped short",
        "cuda_kernels/segments/auto/segment_starts.cu",
        "segment_starts",
        "low += count * step;",
        "low += count * step - (step > 1);",
        segments("skewed"),
    ),
    # Streams
    Mutant(
        "what is behind the end of a range goes on",
        STREAMS,
        "Streams",
        "return b.flags & GR_STREAM_ENDS ? b : Part{",
        "return Part{",
        segments("skewed"),
    ),
    Mutant(
        "a window that is full of ends is empty",
        STREAMS,
        "Streams",
        "__clz(__brev(~found))",
        "__ffs(~found) - 1",
        segments("skewed"),
    ),
    Mutant(
        "a block forgets what others have of a segment",
        STREAMS,
        "Streams",
        "F::combine(carry.open, own.first.part);",
        "own.first.part;",
        segments("lengths_and_borders or skewed"),
    ),
    Mutant(
        "the next batch is not requested behind an end",
        STREAMS,
        "Streams",
        "fetch(range, rows > stops ? stops",
        "fetch(range, last > stops ? stops",
        segments("skewed"),
        times=2,
    ),
    Mutant(
        "the address of a line is a multiple of 16",
        STREAMS,
        "Streams",
        "of.shift = (at & 15) >> (__ffs(item) - 1);",
        "of.shift = 0;",
        segments("begin_anywhere"),
    ),
    Mutant(
        "int8 has no sign",
        SEGMENT_PLAN,
        "set_load_kind",
        "params->bias = narrow_signed ? sign : 0;",
        "params->bias = 0;",
        segments("every_dtype"),
    ),
    Mutant(
        "a plan forgets the ends",
        SEGMENT_PLAN,
        "share",
        "params->rows + params->segments",
        "params->rows",
        segments("skewed"),
    ),
)
