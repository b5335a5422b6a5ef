/* Two reductions of the ladder: the slowest tree and the vectorised shuffle. n floats in, one per block
   out. */
typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(256) tree(const float *in, float *out, u64 n) {
    __shared__ float part[256];
    const unsigned t = threadIdx.x;
    const u64 i = (u64)blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

extern "C" __global__ void vectors(const float *in, float *out, u64 n) {
    __shared__ float part[32];
    const u64 stride = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const float4 *quads = (const float4 *)in;
    float sum = 0;
    for (u64 i = first; i < n / 4; i += stride) {
        const float4 q = quads[i];
        sum += (q.x + q.y) + (q.z + q.w);
    }
    for (u64 i = n / 4 * 4 + first; i < n; i += stride)
        sum += in[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

/* Int to wide, min and max, division by a run-time value, a byte array. */
extern "C" __global__ void integers(const int *in, long long *out, u64 n) {
    const unsigned t = threadIdx.x;
    const signed char *bytes = (const signed char *)in;
    long long sum = 0;
    int most = -2147483647 - 1;
    for (u64 i = t; i < n; i += blockDim.x) {
        sum += in[i];
        most = max(most, in[i]);
        sum -= bytes[4 * i + 1];
        sum += in[i] / (int)(t + 2) + (unsigned)in[i] % (t + 3) - (sum / 3) % (long long)(t + 5);
    }
    out[t] = sum + most;
}
