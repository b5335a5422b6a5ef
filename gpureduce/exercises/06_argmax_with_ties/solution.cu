__device__ bool wins(float b, int j, float a, int i) {
    const bool b_is_nan = b != b, a_is_nan = a != a;
    if (b_is_nan || a_is_nan)
        return b_is_nan && (!a_is_nan || j < i);
    return b > a || (b == a && j < i);
}

__global__ void argmax(const float *in, int *out, int n) {
    __shared__ float values[128];
    __shared__ int places[128];
    const int t = threadIdx.x;

    float best = in[t < n ? t : 0];
    int place = t < n ? t : 0;
    for (int i = t + blockDim.x; i < n; i += blockDim.x)
        if (wins(in[i], i, best, place)) {
            best = in[i];
            place = i;
        }
    values[t] = best;
    places[t] = place;
    __syncthreads();

    // Adjacent threads first: nearby elements are compared early, distant ones late.
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0 && wins(values[t + stride], places[t + stride], values[t], places[t])) {
            values[t] = values[t + stride];
            places[t] = places[t + stride];
        }
        __syncthreads();
    }
    if (t == 0)
        *out = places[0];
}
