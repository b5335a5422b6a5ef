/* Functions that the planners of matrix multiplications share within this folder. plan.c chooses a rung and a
   tiling and appends the launches of kernels that load tiles by addresses; tensor_maps.c does so for kernels
   that load tiles by TMA, small.c and direct.c for few columns or rows, short.c for a short k, gemv.c for a
   matrix and a vector, cublas.c for the library. times.c estimates times. */
#ifndef GR_MATMUL_INTERNAL_H
#define GR_MATMUL_INTERNAL_H

#include "matmul/matmul.h"

/* ---- common.c ---- */

/* Returns the number of matrices in a stack of these lengths. */
uint64_t gr_matmul_stack_count(const uint64_t *stack);

/* Returns the kernel parameters of a product in `slices` slices of k, by tiles of `columns` columns.
   Addresses, strides within rows and between matrices are 0. */
gr_matmul_params gr_matmul_make_params(const gr_matmul *self, uint32_t columns, uint32_t slices);

/* Sets a grid with `tiles` blocks along x for every matrix, which y and z count. GR_ERR_VALUE if it exceeds
   the limits of CUDA. */
void gr_matmul_set_grid(gr_program *program, gr_step *step, uint64_t tiles, uint64_t matrices,
                        uint32_t threads);

/* Returns into how many parts of k every sum of a batch-invariant product is divided, which are added up in
   their order: a power of two, which k and n alone determine. */
uint32_t gr_matmul_invariant_parts(const gr_matmul *self);
/* Returns the number of parts for the kernels of float64 and complex128 on tensor cores. */
uint32_t gr_matmul_double_parts(const gr_matmul *self);

/* Returns whether m10 can read B by vectors of 16 bytes: by rows or by columns. */
bool gr_matmul_reads_b_by_vectors(const gr_matmul *self);

/* Split-K. gr_matmul_slices_buffer returns the buffer of `slices` partial products: job->c itself for a
   single slice. gr_matmul_add_slices appends the kernel that adds them up to job->c, and nothing for a single
   slice. */
uint32_t gr_matmul_slices_buffer(const gr_matmul *self, uint32_t slices, const gr_matmul_job *job);
void gr_matmul_add_slices(const gr_matmul *self, const gr_matmul_variant *variant, uint32_t slices,
                          uint32_t from, const gr_matmul_job *job);

/* ---- tiles.c: the tile shapes of m9 and m10 (tiles.def) and their cost model ---- */

/* How C and k are divided between thread blocks. */
typedef struct gr_matmul_tiling {
    const gr_matmul_variant *variant;
    uint32_t rows, columns; /* of the tile of C per thread block */
    uint32_t threads;       /* per block */
    uint32_t cluster;       /* split-K within a cluster: blocks that share the k of one slice */
    uint32_t slices;        /* split-K across the grid, with a second kernel that adds up */
    uint32_t rounds; /* parts of k that a block takes one after the other, without cluster and slices */
    double us;       /* estimated, without copies of operands; 0: not estimated */
} gr_matmul_tiling;

/* Returns whether tiles.def has tiles of the rung. Such a rung takes operands of any strides. */
bool gr_matmul_has_tiles(const gr_matmul_variant *variant);

/* Returns the tiling with the smallest estimated time among those of a rung; variant NULL: of all rungs, and
   with the fixed order of k if the product is batch-invariant. */
gr_matmul_tiling gr_matmul_choose_tiling(const gr_matmul *self, const gr_matmul_variant *variant);

/* ---- tensor_maps.c: kernels that load tiles by TMA (t1 to t5) ---- */

/* Returns whether a tensor map can describe an operand without a copy. */
bool gr_matmul_tma_supports(const gr_matmul_view *view, uint64_t columns, size_t item_bytes);
/* Returns whether t3 can read B, n columns of k contiguous elements each, without a copy. */
bool gr_matmul_tma_supports_k_major(const gr_matmul *self);
/* Returns whether the kernels that split float32 into two float16 (F16X3) can read an operand. */
bool gr_matmul_f16x3_supports(const gr_matmul_view *view, uint64_t columns);
/* Returns `columns` rounded up so that rows of a copy are multiples of 16 bytes, as TMA requires. */
uint64_t gr_matmul_padded_row(uint64_t columns, size_t item_bytes);
/* Appends the product of two operands that the functions above accept. */
void gr_matmul_tma(const gr_matmul *self, const gr_matmul_variant *variant, gr_matmul_job job);

/* ---- small.c: few columns, few rows or a short k. The order of the sums depends on n, k, the dtype and the
   device alone; between kernels of one order these functions also choose by the number of rows and the
   strides. ---- */

/* Which operands the rungs that load tiles by TMA would copy. */
typedef struct gr_matmul_copies {
    bool a, b;
} gr_matmul_copies;
gr_matmul_copies gr_matmul_find_copies(const gr_matmul *self);

/* Appends the product by matmul_direct or matmul_small if no rung is named and one of them takes the least
 * time. */
bool gr_matmul_try_small(const gr_matmul *self, gr_matmul_job job);
/* Appends the product by matmul_small. `shares`: each block takes a part of k, and not all of them. */
void gr_matmul_small(const gr_matmul *self, uint32_t parts, bool shares, gr_matmul_job job);
/* Returns whether no rung is named and kernels of float32 take less time than those of TF32. */
bool gr_matmul_prefers_ieee(const gr_matmul *self);
/* Returns whether no rung is named and k is so short that the kernel of dtypes without a rung takes the least
   time. */
bool gr_matmul_is_shortest(const gr_matmul *self);

/* ---- k_parts.c: how k is divided ---- */

/* Returns into how many parts k of halves, of TF32 or of float64 is divided. */
uint32_t gr_matmul_k_parts(const gr_matmul *self);
/* Returns the number of steps of a part of k, of `step_bytes` each. */
uint64_t gr_matmul_part_steps(const gr_matmul *self, uint32_t parts, uint32_t step_bytes);
/* Appends a launch, whose kernel the caller names, of blocks of `threads` with tiles of `rows` x `columns`
   results. k is divided into `parts`, of which a block takes one if it `shares`, else all. */
gr_step *gr_matmul_append_parts(const gr_matmul *self, const gr_matmul_job *job, uint32_t rows,
                                uint32_t columns, uint32_t threads, uint32_t parts, bool shares);

/* ---- direct.c: small tiles of contiguous rows of A, and rows or columns of B ---- */

/* A kernel of matmul_direct: its tile, threads, steps in the ring, resident blocks per SM, and times. */
typedef struct gr_matmul_direct_shape {
    const char *name;
    uint32_t rows, columns, threads, stages, resident;
    double times[3][8];
} gr_matmul_direct_shape;

typedef struct gr_matmul_direct_choice {
    const gr_matmul_direct_shape *shape;
    bool shares; /* each block takes a part of k, and not all of them */
    double time;
} gr_matmul_direct_choice;

bool gr_matmul_direct_supports(const gr_matmul *self);
gr_matmul_direct_choice gr_matmul_choose_direct(const gr_matmul *self, uint32_t parts);
void gr_matmul_direct(const gr_matmul *self, const gr_matmul_direct_choice *choice, uint32_t parts,
                      gr_matmul_job job);

/* ---- times.c: estimated times, in microseconds ---- */

double gr_matmul_direct_time(const gr_matmul *self, const gr_matmul_direct_shape *shape, uint32_t parts,
                             bool shares);
double gr_matmul_small_time(const gr_matmul *self, uint32_t parts, bool shares);
/* Returns the time of matmul_short with a warp per 16 rows and 8 columns. */
double gr_matmul_fragments_time(const gr_matmul *self);
/* Returns the time of the fastest kernel of t1, t3 or t5, with the copies that it needs. */
double gr_matmul_rung_time(const gr_matmul *self, uint32_t parts);

/* ---- short.c: a short k ---- */

/* The kernels of matmul_short: a thread has one result, or four rows and four columns, or four columns of
   many rows; or a warp has 16 rows and 8 columns, by mma.sync. */
typedef enum gr_matmul_short_kernel {
    GR_MATMUL_SHORT_ONE,
    GR_MATMUL_SHORT_TILE,
    GR_MATMUL_SHORT_ROWS,
    GR_MATMUL_SHORT_FRAGMENTS
} gr_matmul_short_kernel;

/* Returns whether no rung is named and a kernel of matmul_short, *kernel, takes the least time. */
bool gr_matmul_prefers_short(const gr_matmul *self, const gr_device_info *info,
                             gr_matmul_short_kernel *kernel);
/* Returns whether the kernel with a warp per 16 rows and 8 columns can compute the product. */
bool gr_matmul_has_fragments(const gr_matmul *self);
/* Returns whether no rung is named and matmul_columns takes the least time. */
bool gr_matmul_prefers_columns(const gr_matmul *self, const gr_device_info *info);
/* Appends the product by a kernel of matmul_short. */
void gr_matmul_short(const gr_matmul *self, gr_matmul_short_kernel kernel, gr_matmul_job job);

/* Appends the product by the kernel of up to eight columns. */
void gr_matmul_columns(const gr_matmul *self, gr_matmul_job job);

/* ---- gemv.c: matrix-vector product ---- */

/* Returns whether one operand is a vector and no rung is named. */
bool gr_matmul_prefers_gemv(const gr_matmul *self);
void gr_matmul_gemv(const gr_matmul *self, gr_matmul_job job);

/* ---- cublas.c: the product of cuBLAS ---- */

/* Appends a library step, and copies of operands that have no leading dimension. */
void gr_cublas_plan(const gr_matmul *self, gr_matmul_job job);

#endif
