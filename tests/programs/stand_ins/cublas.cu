// A stand-in for the functions of cuBLAS that published programs compare their kernels with: plain kernels
// behind cuBLAS's declarations, so that such a program runs on the simulator. tests/tools/run_programs.py
// links it where bar.toml says so.
#include <cublas_v2.h>

struct cublasContext {
    cudaStream_t stream;
};

// Column-major matrices, as in cuBLAS.
template <class T>
__global__ void multiply(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T *a,
                         int lda, const T *b, int ldb, T beta, T *c, int ldc) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
    if (row >= m || column >= n)
        return;
    T sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[a_transposed ? (size_t)row * lda + i : (size_t)i * lda + row] *
               b[b_transposed ? (size_t)i * ldb + column : (size_t)column * ldb + i];
    T *to = &c[(size_t)column * ldc + row];
    *to = alpha * sum + (beta == 0 ? T(0) : beta * *to);
}

template <class T>
static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_operation,
                           cublasOperation_t b_operation, int m, int n, int k, const T *alpha, const T *a,
                           int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {
    multiply<T><<<dim3((m + 127) / 128, n), 128, 0, handle->stream>>>(a_operation != CUBLAS_OP_N,
                                                                      b_operation != CUBLAS_OP_N, m, n, k,
                                                                      *alpha, a, lda, b, ldb, *beta, c, ldc);
    return cudaGetLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class T>
__global__ void multiply_vector(bool transposed, int rows, int columns, T alpha, const T *a, int lda,
                                const T *x, int x_step, T beta, T *y, int y_step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, results = transposed ? columns : rows;
    if (i >= results)
        return;
    T sum = 0;
    for (int j = 0; j < rows + columns - results; j++)
        sum += a[transposed ? (size_t)i * lda + j : (size_t)j * lda + i] * x[(size_t)j * x_step];
    T *to = &y[(size_t)i * y_step];
    *to = alpha * sum + (beta == 0 ? T(0) : beta * *to);
}

template <class T>
static cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n, const T *alpha,
                           const T *a, int lda, const T *x, int x_step, const T *beta, T *y, int y_step) {
    const int results = operation == CUBLAS_OP_N ? m : n;
    multiply_vector<T><<<(results + 127) / 128, 128, 0, handle->stream>>>(
        operation != CUBLAS_OP_N, m, n, *alpha, a, lda, x, x_step, *beta, y, y_step);
    return cudaGetLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetVector(int n, int bytes, const void *from, int from_step, void *to, int to_step) {
    return cudaMemcpy2D(to, (size_t)to_step * bytes, from, (size_t)from_step * bytes, bytes, n,
                        cudaMemcpyHostToDevice) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t cublasGetVector(int n, int bytes, const void *from, int from_step, void *to, int to_step) {
    return cudaMemcpy2D(to, (size_t)to_step * bytes, from, (size_t)from_step * bytes, bytes, n,
                        cudaMemcpyDeviceToHost) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a_operation,
                              cublasOperation_t b_operation, int m, int n, int k, const float *alpha,
                              const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                              int ldc) {
    return gemm(handle, a_operation, b_operation, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_operation,
                            cublasOperation_t b_operation, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType a_type, int lda, const void *b, cudaDataType b_type,
                            int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t, cublasGemmAlgo_t) {
    if (a_type != CUDA_R_32F || b_type != CUDA_R_32F || c_type != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return gemm(handle, a_operation, b_operation, m, n, k, (const float *)alpha, (const float *)a, lda,
                (const float *)b, ldb, (const float *)beta, (float *)c, ldc);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                              const float *alpha, const float *a, int lda, const float *x, int x_step,
                              const float *beta, float *y, int y_step) {
    return gemv(handle, operation, m, n, alpha, a, lda, x, x_step, beta, y, y_step);
}

cublasStatus_t cublasDgemv_v2(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                              const double *alpha, const double *a, int lda, const double *x, int x_step,
                              const double *beta, double *y, int y_step) {
    return gemv(handle, operation, m, n, alpha, a, lda, x, x_step, beta, y, y_step);
}
}
