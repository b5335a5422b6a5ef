"""The traps of convolutions, each as a change of our sources."""

from mutants import Mutant

KERNELS = "cuda_kernels/conv/"
C0 = KERNELS + "c0_naive.cu"
C1 = KERNELS + "c1_columns.cu"
RING = KERNELS + "c2_ring.cu"
WINOGRAD = KERNELS + "c2_winograd.cu"
FEW = KERNELS + "c5_few.cu"
NARROW = KERNELS + "auto/conv_narrow.cu"
DEPTHWISE = KERNELS + "auto/conv_depthwise.cu"
DEPTHWISE_NHWC = KERNELS + "auto/conv_depthwise_nhwc.cu"
SMALL = KERNELS + "auto/conv_small.cu"
FEW_FILTERS = KERNELS + "auto/conv_few.cu"
BIAS = KERNELS + "auto/conv_bias.cu"
TWELVE = "cuda_kernels/include/conv/conv3x3_c12_k24.cuh"
INCLUDE = "cuda_kernels/include/conv/conv.cuh"
IM2COL = "csrc/conv/im2col.c"
PLAN = "csrc/conv/plan.c"
OF_IMPLICIT_GEMM = "csrc/conv/implicit_gemm.c"
TAPS = KERNELS + "c8_taps.cu"
OF_TMA_GEMM = "csrc/conv/implicit_gemm_tma.c"
OF_TMA_BOXES = "csrc/conv/tma_boxes.c"
INVARIANT = ("tests/conv/test_batch_invariance.py",)
TURN = "cuda_kernels/include/conv/nchw_to_nhwc.cuh"
CALL = "csrc/python/conv.c"
GEOMETRY = "gpureduce/_conv/geometry.py"


def every(name, dtype="float32"):
    return ("tests/conv/test_conv.py", "-k", f"test_every_case and {name}-{dtype}")


DEFAULT = ("tests/conv/test_conv.py", "-k", "test_every_case_by_default")
OWN = ("tests/conv/test_conv.py", "-k", "kernels_of_their_own or kernels_know")
STRIDES = ("tests/conv/test_conv.py", "-k", "test_strides")
NAN = ("tests/conv/test_conv.py", "-k", "stays_where")
SAME = ("tests/conv/test_conv_api.py", "-k", "ways_to_say")
TILES = ("tests/conv/test_conv.py", "-k", "tiles_of_the_ring")
RACES = ("tests/conv/test_conv_api.py", "-k", "no_races and c2_ring")
PLACES = ("tests/conv/test_conv_api.py", "-k", "may_be_what_is_read")
BIASES = ("tests/conv/test_conv_api.py", "-k", "test_bias")


def taps(test):
    return ("tests/conv/test_conv_taps.py", "-k", test)


ALONE = ("tests/conv/test_conv.py", "-k", "kernels_of_their_own")
LARGE = ("tests/conv/test_conv.py", "-k", "depthwise_convolutions_of_large_images")
FEW_RESULTS = ("tests/conv/test_conv.py", "-k", "few_results")
OF_FEW_FILTERS = ("tests/conv/test_conv.py", "-k", "few_filters")
MUTANTS = (
    Mutant(
        "the bias of the last filter is added to all later results of a vector",
        BIAS,
        "add_bias",
        "if (++filter == p.filters)",
        "if (filter + 1 < p.filters && ++filter == p.filters)",
        BIASES,
    ),
    Mutant(
        "a result that overlaps with an operand has no bias",
        PLAN,
        "plan",
        "if (self.has_bias)",
        "if (self.has_bias && !needs_temporary_output)",
        BIASES,
    ),
    Mutant(
        "a bias of two dimensions is accepted",
        CALL,
        "describe_bias",
        "bias->ndim != 1 || ",
        "",
        ("tests/conv/test_conv_api.py", "-k", "needs_no_python"),
    ),
    Mutant(
        "the padding counts behind a picture, too",
        INCLUDE,
        "conv_tap",
        "tap * axis.dilation) - axis.padding)",
        "tap * axis.dilation) - 2 * axis.padding)",
        every("c0"),
    ),
    Mutant(
        "a picture's last row is taken for its padding",
        C0,
        "conv",
        "if (row < p.height.size)",
        "if (row + 1 < p.height.size)",
        every("c0"),
    ),
    Mutant(
        "strides are those of the other axis",
        INCLUDE,
        "conv_tap",
        "result * axis.stride",
        "result",
        every("c0"),
    ),
    Mutant(
        "all groups see the channels of the first",
        C0,
        "conv",
        "filter / p.filters * p.channels",
        "0",
        every("c0"),
    ),
    Mutant(
        "the halo wraps round to the other side of a row",
        C1,
        "columns",
        "unsigned(a.y + b.y) < height && unsigned(a.x + b.x + k * stride) < width",
        "unsigned(a.y + b.y) < height",
        every("c1"),
    ),
    Mutant(
        "a block's last line is never written",
        C1,
        "columns",
        "min(p.lines_per_block, p.lines - first_line)",
        "min(p.lines_per_block, p.lines - first_line - 1)",
        every("c1"),
    ),
    Mutant(
        "taps are as far apart as pixels",
        C1,
        "share_of_tap",
        "row * p.height.dilation",
        "row * p.height.stride",
        every("c1"),
    ),
    Mutant(
        "the groups of a pixel stay where the product left them",
        IM2COL,
        "gr_conv_im2col",
        "interleaves = nhwc && self->groups > 1",
        "interleaves = nhwc && self->groups > 2",
        every("c1"),
    ),
    Mutant(
        "several channels are taken at once, wherever they begin",
        IM2COL,
        "vectorize_channels",
        "layout != GR_CONV_NHWC || !aligned || x->channel != 1",
        "layout != GR_CONV_NHWC || x->channel != 1",
        ("tests/conv/test_conv_api.py", "-k", "begin_anywhere"),
    ),
    Mutant(
        "filters that lie in any way are taken for dense ones",
        IM2COL,
        "prepare_filters",
        "channels == 0 || merge_axes(",
        "channels == 0 || stride != 0 || merge_axes(",
        STRIDES,
    ),
    Mutant(
        "a pixel's product does not mind its padding",
        IM2COL,
        "find_pixel_stride",
        "axes[i]->out != axes[i]->size",
        "axes[i]->out < axes[i]->size",
        every("c1"),
    ),
    Mutant(
        "the ring's last tap is added as far as a whole step goes",
        RING,
        "Gather",
        "step + turn * ROWS + k_b < products",
        "step + turn * ROWS + k_b < products + 1",
        ("tests/conv/test_conv.py", "-k", "filters_of_the_next_group"),
    ),
    Mutant(
        "the ring's rows are checked, its columns are not",
        RING,
        "Gather",
        "unsigned(pixel.along) + unsigned(taps[h].along) < unsigned(p.width.size)",
        "true",
        every("c2_ring"),
    ),
    Mutant(
        "the ring's taps of a step and of the next are kept in one place",
        RING,
        "conv",
        "taps[step % 2][t] =",
        "taps[0][t] = taps[1][t] =",
        (*every("c2_ring")[:2], "(test_every_case or tiles_of_the_ring) and ring"),
    ),
    Mutant(
        "no wait before a stage of the ring is read",
        RING,
        "conv",
        "        ptx::cp_async_wait_group<S::STAGES - 2>();\n        __syncthreads();",
        "        ptx::cp_async_wait_group<S::STAGES - 2>();",
        RACES,
    ),
    Mutant(
        "the ring's tiles by floor: the last pixels are lost",
        OF_IMPLICIT_GEMM,
        "count_tiles",
        "gr_ceil_div(gr_conv_pixels(self), of->pixels)",
        "(gr_conv_pixels(self) / of->pixels)",
        TILES,
    ),
    Mutant(
        "four pixels of a filter are stored across the end of a picture",
        RING,
        "store_four",
        "NHWC ? filter + 4 <= filters : rest + 4 <= each",
        "NHWC ? filter + 4 <= filters : pixel + 4 <= pixels",
        every("c2_ring"),
    ),
    Mutant(
        "the last of Winograd's differences has the other sign",
        WINOGRAD,
        "transform",
        "fourth = d[apart] - d[3 * apart]",
        "fourth = d[3 * apart] - d[apart]",
        every("c2_winograd"),
    ),
    Mutant(
        "Winograd's tiles have results beyond the picture",
        WINOGRAD,
        "put_results",
        "tile.along + i % HIGH < p.width.out",
        "tile.along + i % HIGH <= p.width.out",
        every("c2_winograd"),
    ),
    Mutant(
        "no wait before transformed filters are turned",
        WINOGRAD,
        "filters_nhwc",
        "    __syncthreads();\n",
        "",
        ("tests/conv/test_conv_api.py", "-k", "no_races and c2_winograd"),
    ),
    Mutant(
        "rows of taps of a depthwise filter move with the stride once",
        DEPTHWISE,
        "tall_down_a_column",
        "seen[r * STRIDE + i]",
        "seen[r + i]",
        ALONE,
    ),
    Mutant(
        "the second column of a 3 x 3 thread has the taps of the first",
        DEPTHWISE,
        "three_in_nchw",
        "weights[i][c - q]",
        "weights[i][c % TAPS]",
        ("tests/conv/test_conv.py", "-k", "columns_of_large"),
    ),
    Mutant(
        "the second column of a depthwise thread has the taps of the first",
        DEPTHWISE,
        "tall_down_two_columns",
        "seen[r + i], before[i]",
        "seen[r + i], factors[i]",
        ("tests/conv/test_conv.py", "-k", "columns_of_large"),
    ),
    Mutant(
        "a run of scaled elements keeps the filter of the channel before",
        DEPTHWISE,
        "scale",
        "if (++in_run == run)",
        "if (++in_run > run)",
        ALONE,
    ),
    Mutant(
        "rows above the image count as those of the image before",
        DEPTHWISE,
        "TallColumn",
        "unsigned(top + i) < unsigned(p.height.size)",
        "top + i < int(p.height.size)",
        ALONE,
    ),
    Mutant(
        "a depthwise tile multiplies the second row by the taps of the first",
        DEPTHWISE_NHWC,
        "tile_of_pixels",
        "i - r * STRIDE",
        "i - r",
        LARGE,
    ),
    Mutant(
        "a column of a depthwise tile reads the element of its neighbour",
        DEPTHWISE_NHWC,
        "tile_of_pixels",
        "values[c * STRIDE + j][v]",
        "values[c + j][v]",
        LARGE,
    ),
    Mutant(
        "a depthwise tile makes results beyond the row",
        DEPTHWISE_NHWC,
        "tile_of_pixels",
        "along + c < unsigned(conv.width.out)",
        "along + c <= unsigned(conv.width.out)",
        LARGE,
    ),
    Mutant(
        "four channels of a depthwise filter begin anywhere",
        "csrc/conv/depthwise.c",
        "takes_4_channels",
        "self->groups % VEC == 0 &&",
        "",
        LARGE,
    ),
    Mutant(
        "tiles of depthwise filters of a channel all take its first",
        DEPTHWISE_NHWC,
        "SeenRows",
        "VEC > 1 ? filter : filter / unsigned(conv.filters)",
        "VEC > 1 ? filter : filter",
        DEFAULT,
    ),
    Mutant(
        "the rows of taps of transposed depthwise filters are one tap apart",
        "csrc/conv/depthwise.c",
        "transpose_filters",
        "(int64_t)(self->width.kernel * filters)",
        "(int64_t)filters",
        ("tests/conv/test_conv.py", "-k", "transposed"),
    ),
    Mutant(
        "a depthwise thread makes results beyond the row",
        DEPTHWISE,
        "along_a_row",
        "if (first + r >= p.width.out)",
        "if (first + r > p.width.out)",
        DEFAULT,
    ),
    Mutant(
        "depthwise filters of a channel all take its first",
        DEPTHWISE,
        "along_a_row",
        "LENGTH > 1 ? filter : filter / unsigned(p.filters)",
        "LENGTH > 1 ? filter : filter",
        DEFAULT,
    ),
    Mutant(
        "a run of taps of few filters reads the row after the image",
        FEW_FILTERS,
        "run_pixel",
        "min(int(p.width.size) - pixel.left, int(p.width.kernel))",
        "int(p.width.kernel)",
        OF_FEW_FILTERS,
    ),
    Mutant(
        "a lane of few filters keeps the half that it sends",
        FEW_FILTERS,
        "sum_for_lane",
        "kept = upper ? values[i + apart] : values[i]",
        "kept = upper ? values[i] : values[i + apart]",
        OF_FEW_FILTERS,
    ),
    Mutant(
        "a warp of few filters begins every tap with the channel of its first",
        FEW_FILTERS,
        "along_pixels",
        "channel = 0;",
        "channel = 1;",
        OF_FEW_FILTERS,
    ),
    Mutant(
        "a part of a small tile multiplies by what is behind the last tap",
        SMALL,
        "small",
        "min((part + 1) * PART_K, k - begin)",
        "(part + 1) * PART_K",
        FEW_RESULTS,
    ),
    Mutant(
        "the sums of the last part of a small tile are lost",
        SMALL,
        "small",
        "other < PARTS - 1",
        "other < PARTS - 2",
        FEW_RESULTS,
    ),
    Mutant(
        "a depthwise thread's taps move with the stride of a row once",
        DEPTHWISE,
        "three_down_a_column",
        "weights[i - r * STRIDE][j]",
        "weights[(i - r) % TAPS][j]",
        OWN,
    ),
    Mutant(
        "a thread's rows of depthwise results are stored one too far",
        DEPTHWISE,
        "three_of_pixels",
        "down + done >= unsigned(p.height.out)",
        "down + done > unsigned(p.height.out)",
        OWN,
    ),
    Mutant(
        "the lanes of a pixel add up half of its channels",
        NARROW,
        "sum_of_lanes",
        "apart = LANES / 2;",
        "apart = LANES / 4;",
        OWN,
    ),
    Mutant(
        "what lies behind a row of taps is multiplied, too",
        FEW,
        "Few",
        "at + WORD <= length ? 0xffffffff : at < length ? 0xffff : 0",
        "0xffffffff",
        (NAN[0], "-k", "stays_where and c7_few"),
    ),
    Mutant(
        "few channels' rows are those of the first picture",
        FEW,
        "Few",
        "+ picture * p.of_x.outer",
        "+ 0 * picture * p.of_x.outer",
        OWN,
    ),
    Mutant(
        "a tile of few channels has rows beyond the picture",
        FEW,
        "Few",
        "first + i < all && row < p.height.out",
        "first + i < all",
        OWN,
    ),
    Mutant(
        "an odd first column is taken for an even one",
        TWELVE,
        "Conv3x3C12K24",
        "NHWC ? 0 : left & 1",
        "0",
        OWN,
    ),
    Mutant(
        "twelve channels' second filters are the first ones",
        TWELVE,
        "Conv3x3C12K24",
        "+ filter * (TAPS * CHANNELS)",
        "+ 0 * filter",
        OWN,
    ),
    Mutant(
        "a result may overlap with x",
        PLAN,
        "plan",
        "if (needs_temporary_output)\n        job.out",
        "if (needs_temporary_output && 0)\n        job.out",
        PLACES,
    ),
    Mutant(
        "an odd number of zeros has the one more before",
        GEOMETRY,
        "_padding",
        "total[0] // 2, total[0] - total[0] // 2, total[1] // 2",
        "total[0] - total[0] // 2, total[0] // 2, total[1] // 2",
        SAME,
    ),
    Mutant(
        "the core divides by the stride and rounds up",
        CALL,
        "describe_axis",
        "(uint64_t)(padded - reach - 1) / (uint64_t)stride + 1",
        "((uint64_t)(padded - reach - 1) + (uint64_t)stride - 1) / (uint64_t)stride + 1",
        every("c0"),
    ),
    Mutant(
        "all taps of a box see what its first one sees",
        OF_TMA_GEMM,
        "list_taps",
        "(uint32_t)(y / height * params->pitch + x / width) * LINE",
        "0",
        taps("test_boxes"),
    ),
    Mutant(
        "taps of a stride that leave other remainders share a box",
        OF_TMA_GEMM,
        "list_taps",
        "box == y % height * width + x % width",
        "box == 0",
        taps("test_boxes"),
    ),
    Mutant(
        "a block of a cluster has the sums of the first alone",
        TAPS,
        "add_up",
        "for (unsigned other = 1; other < MOST; ++other)",
        "for (unsigned other = MOST; other < MOST; ++other)",
        taps("test_boxes and share"),
    ),
    Mutant(
        "of all parts of k a block has the sums of the last alone",
        TAPS,
        "multiply_parts",
        "i == 0 ? more[tile][j]",
        "i < maps.rounds ? more[tile][j]",
        (*INVARIANT, "-k", "parts_of_k"),
    ),
    Mutant(
        "the order of addition follows from the number of images",
        "csrc/conv/choice.c",
        "choose_order",
        "with_batch(self, batches[i])",
        "with_batch(self, self->batch)",
        (*INVARIANT, "-k", "alone or drawn or parts_of_k"),
    ),
    Mutant(
        "results are put together where boxes still come",
        OF_TMA_BOXES,
        "divide_shared_memory",
        "maps->output_offset = it->persistent",
        "maps->output_offset = false",
        taps("after_box"),
    ),
    Mutant(
        "pixels that begin between two vectors are stored from the first element on",
        TURN,
        "RawTile",
        "offset(channel + j) + pixel",
        "pixel",
        taps("test_turned"),
    ),
    Mutant(
        "two pixels of a word are the same one",
        TURN,
        "put",
        "0x7632",
        "0x5410",
        taps("test_turned"),
    ),
)
