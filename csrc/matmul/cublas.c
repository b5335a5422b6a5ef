/* The rung `cublas`: cuBLAS's functions, loaded by dlopen; a library step of a program; and its run, a
   strided batched GEMM for each index of the outer batch dimensions. */
#include <stddef.h>

#include "matmul/internal.h"

/* Enumerators of cublas_api.h and library_types.h, whose headers the build does not need. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77 };
enum { NO_REDUCED_SUMS = 16, ANY_ALGORITHM = -1 };
enum { WORKSPACE_BYTES = 32 << 20 }; /* bytes: the default of cuBLAS on compute capability 9.0 */

typedef void *handle;

#define CUBLAS_SYMBOLS(X)                                                                                    \
    X(create, "cublasCreate_v2", (handle * out))                                                             \
    X(set_stream, "cublasSetStream_v2", (handle self, void *stream))                                         \
    X(set_workspace, "cublasSetWorkspace_v2", (handle self, void *memory, size_t bytes))                     \
    X(set_math_mode, "cublasSetMathMode", (handle self, int mode))                                           \
    X(multiply, "cublasGemmStridedBatchedEx_64",                                                             \
      (handle self, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const void *alpha,            \
       const void *a, int type_a, int64_t lda, int64_t stride_a, const void *b, int type_b, int64_t ldb,     \
       int64_t stride_b, const void *beta, void *c, int type_c, int64_t ldc, int64_t stride_c,               \
       int64_t count, int compute, int algorithm))

static struct {
    const char *(*describe)(int status);
    CUBLAS_SYMBOLS(GR_VENDOR_POINTER)
} functions;

/* One handle per device. Its stream and workspace are properties, so that a lock serializes its use. */
static handle handles[GR_MAX_CUDA_DEVICES];

typedef struct cublas_call {
    gr_library_call call;
    int device;
    gr_matmul product;
    gr_devptr a, b, c, workspace;
} cublas_call;

/* ---- the library ---- */

static const gr_symbol symbols[] = {{"cublasGetStatusString", &functions.describe},
                                    CUBLAS_SYMBOLS(GR_VENDOR_SYMBOL){NULL, NULL}};
static gr_vendor vendor = {.variant = "cublas",
                           .needed = "cuBLAS 12 or later",
                           .environment = "GPUREDUCE_LIBCUBLAS",
                           .names = {"libcublas.so.13", "libcublas.so.12"},
                           .symbols = symbols,
                           .describe = &functions.describe,
                           .lock = PTHREAD_MUTEX_INITIALIZER};

gr_status gr_cublas_open(gr_error *error) {
    return gr_vendor_open(&vendor, error);
}

/* ---- the run ---- */

static int type_of(gr_dtype dtype) {
    static const int types[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f16] = R_16F, [GR_DTYPE_bf16] = R_16BF, [GR_DTYPE_f32] = R_32F,
        [GR_DTYPE_f64] = R_64F, [GR_DTYPE_c64] = C_32F,   [GR_DTYPE_c128] = C_64F};
    return types[dtype];
}

static void *pointer(gr_devptr base, int64_t elements, gr_dtype dtype) {
    return (void *)(uintptr_t)(base + (uint64_t)(elements * (int64_t)gr_dtypes[dtype].item_bytes));
}

/* Of an operand with a leading dimension: whether it is column-major. */
static bool is_column_major(const gr_matmul_view *view) {
    return view->column != 1;
}

static int64_t leading_dimension(const gr_matmul_view *view) {
    return is_column_major(view) ? view->column : view->row;
}

/* Multiplies the matrices of the first batch dimension, from index `first` on. cuBLAS is column-major and
   computes C^T = B^T A^T: its A is our B, its B our A. */
static int multiply(const cublas_call *call, handle self, uint64_t first) {
    static const double one[] = {1, 0}, zero[] = {0, 0};
    static const float narrow_one[] = {1, 0}, narrow_zero[] = {0, 0};
    const gr_matmul *p = &call->product;
    const bool wide = p->dtype == GR_DTYPE_f64 || p->dtype == GR_DTYPE_c128;
    const int type = type_of(p->dtype),
              narrow = p->precision == GR_PRECISION_TF32 ? COMPUTE_TF32 : COMPUTE_32F;
    const int64_t m = (int64_t)p->m, n = (int64_t)p->n, k = (int64_t)p->k;
    int64_t at_a = 0, at_b = 0;
    uint64_t index = first / p->stack[0];
    for (int d = 1; d < GR_MATMUL_STACKS; index /= p->stack[d++]) {
        at_a += (int64_t)(index % p->stack[d]) * p->a.stack[d];
        at_b += (int64_t)(index % p->stack[d]) * p->b.stack[d];
    }
    return functions.multiply(
        self, is_column_major(&p->b), is_column_major(&p->a), n, m, k, wide ? (const void *)one : narrow_one,
        pointer(call->b, at_b, p->dtype), type, leading_dimension(&p->b), p->b.stack[0],
        pointer(call->a, at_a, p->dtype), type, leading_dimension(&p->a), p->a.stack[0],
        wide ? (const void *)zero : narrow_zero, pointer(call->c, (int64_t)first * m * n, p->dtype), type, n,
        m * n, (int64_t)p->stack[0], wide ? COMPUTE_64F : narrow, ANY_ALGORITHM);
}

/* The caller has made the context of the device current. */
static gr_status run(const gr_library_call *call, void *stream, gr_error *error) {
    const cublas_call *p = (const cublas_call *)call;
    const uint64_t count = gr_matmul_stack_count(p->product.stack);
    pthread_mutex_lock(&vendor.lock);
    handle *self = &handles[p->device];
    gr_status status = GR_OK;
    if (*self == NULL) {
        status = gr_vendor_check(&vendor, functions.create(self), "making a handle", error);
        if (status == GR_OK)
            status = gr_vendor_check(&vendor, functions.set_math_mode(*self, NO_REDUCED_SUMS),
                                     "setting the mode of sums", error);
    }
    if (status == GR_OK)
        status = gr_vendor_check(&vendor, functions.set_stream(*self, stream), "setting the stream", error);
    if (status == GR_OK)
        status = gr_vendor_check(
            &vendor, functions.set_workspace(*self, (void *)(uintptr_t)p->workspace, WORKSPACE_BYTES),
            "setting the workspace", error);
    for (uint64_t first = 0; status == GR_OK && first < count; first += p->product.stack[0])
        status = gr_vendor_check(&vendor, multiply(p, *self, first), "multiplying", error);
    pthread_mutex_unlock(&vendor.lock);
    return status;
}

/* ---- the plan ---- */

/* Returns whether cuBLAS accepts the operand uncopied. Sets strides of dimensions of length 1 to a valid
   leading dimension. */
static bool has_leading_dimension(gr_matmul_view *view, uint64_t rows, uint64_t columns) {
    const int64_t wide = (int64_t)columns, high = (int64_t)rows;
    if (rows == 1)
        view->row = view->column == 1 || columns == 1 ? wide : 1;
    if (columns == 1)
        view->column = view->row >= wide ? 1 : high;
    const bool supported = is_column_major(view) ? view->row == 1 && view->column >= high : view->row >= wide;
    return supported && view->stack[0] >= 0;
}

static void prepare(gr_matmul_view *view, uint64_t rows, uint64_t columns, const gr_matmul *self,
                    uint32_t *buffer, gr_program *program) {
    const gr_matmul_shape shape = {rows, columns, columns};
    if (!has_leading_dimension(view, rows, columns))
        gr_matmul_pack_operand(view, &shape, self->stack, gr_dtypes[self->dtype].item_bytes, buffer, program);
}

void gr_cublas_plan(const gr_matmul *self, gr_matmul_job job) {
    cublas_call call = {.call = {"cublas", run}, .device = job.info->index, .product = *self};
    gr_program *program = job.program;
    prepare(&call.product.a, self->m, self->k, self, &job.a, program);
    prepare(&call.product.b, self->k, self->n, self, &job.b, program);
    const uint32_t workspace = gr_program_buffer(program, GR_BUFFER_TEMPORARY, WORKSPACE_BYTES);
    gr_program_step(program, GR_STEP_LIBRARY, &call, sizeof call);
    gr_program_relocate(program, offsetof(cublas_call, a), job.a);
    gr_program_relocate(program, offsetof(cublas_call, b), job.b);
    gr_program_relocate(program, offsetof(cublas_call, c), job.c);
    gr_program_relocate(program, offsetof(cublas_call, workspace), workspace);
}
