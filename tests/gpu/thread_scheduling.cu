// Kernels in which lanes of a warp wait for each other, or have returned before others: a GPU from sm_70 on
// runs them by its independent thread scheduling.
//   nvcc -arch=native thread_scheduling.cu -o thread_scheduling && ./thread_scheduling
// tests/simulator/test_thread_scheduling.py has the simulator run them. Each comment "expect" has what thread
// t of n leaves in out[t], as an expression of Python.

// expect ballot_after_return: min(32, n - 1 - t // 32 * 32) if t < n - 1 else 0
extern "C" __global__ void ballot_after_return(int *out, int n) {
    if (threadIdx.x >= n - 1)
        return;
    out[threadIdx.x] = __popc(__ballot_sync(0xffffffffu, 1));
}
// expect reduce_after_return: 7 if t >= 3 else 0
extern "C" __global__ void reduce_after_return(int *out, int n) {
    if (threadIdx.x < 3)
        return;
    __syncwarp();
    out[threadIdx.x] =
        __any_sync(0xffffffffu, threadIdx.x > 1) + 6 * __all_sync(0xffffffffu, threadIdx.x > 1);
}
// expect shuffle_after_return: (t // 32 * 32 + 3 if t < 32 else t // 32 * 32) if t >= 3 else 0
extern "C" __global__ void shuffle_after_return(int *out, int n) {
    if (threadIdx.x < 3)
        return;
    out[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, threadIdx.x < 32 ? 3 : 0);
}

__device__ int spin_lock, try_lock, next_ticket, now_serving, sleeping_lock;
__device__ volatile int spin_count, try_count, ticket_count, sleeping_count, turn;

// expect lock_by_spinning: n
extern "C" __global__ void lock_by_spinning(int *out, int n) {
    if (threadIdx.x == 0)
        spin_count = 0;
    __syncthreads();
    while (atomicCAS(&spin_lock, 0, 1) != 0)
        ;
    spin_count = spin_count + 1;
    __threadfence();
    atomicExch(&spin_lock, 0);
    __syncthreads();
    out[threadIdx.x] = spin_count;
}
// expect lock_by_trying: n
extern "C" __global__ void lock_by_trying(int *out, int n) {
    if (threadIdx.x == 0)
        try_count = 0;
    __syncthreads();
    bool done;
    do {
        done = atomicCAS(&try_lock, 0, 1) == 0;
        if (done) {
            try_count = try_count + 1;
            __threadfence();
            atomicExch(&try_lock, 0);
        }
    } while (!done);
    __syncthreads();
    out[threadIdx.x] = try_count;
}
// expect lock_by_tickets: n
extern "C" __global__ void lock_by_tickets(int *out, int n) {
    if (threadIdx.x == 0)
        ticket_count = next_ticket = now_serving = 0;
    __syncthreads();
    const int ticket = atomicAdd(&next_ticket, 1);
    while (atomicAdd(&now_serving, 0) != ticket)
        ;
    ticket_count = ticket_count + 1;
    __threadfence();
    atomicAdd(&now_serving, 1);
    __syncthreads();
    out[threadIdx.x] = ticket_count;
}
// expect lock_by_sleeping: n
extern "C" __global__ void lock_by_sleeping(int *out, int n) {
    if (threadIdx.x == 0)
        sleeping_count = 0;
    __syncthreads();
#if __CUDA_ARCH__ >= 700
    for (unsigned wait = 8; atomicCAS(&sleeping_lock, 0, 1) != 0; wait = wait < 256 ? 2 * wait : wait)
        __nanosleep(wait);
#endif
    sleeping_count = sleeping_count + 1;
    __threadfence();
    atomicExch(&sleeping_lock, 0);
    __syncthreads();
    out[threadIdx.x] = sleeping_count;
}
// expect lanes_in_turn: t
extern "C" __global__ void lanes_in_turn(int *out, int n) {
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    while (turn != int(threadIdx.x))
        ;
    out[threadIdx.x] = turn;
    turn = turn + 1;
}

// The host's part, for nvcc.
#include <cstdio>

template <class Kernel> int run(const char *name, Kernel kernel, int threads) {
    int *out, found[128];
    cudaMalloc(&out, sizeof found);
    cudaMemset(out, 0, sizeof found);
    kernel<<<1, threads>>>(out, threads);
    const cudaError_t error = cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(out);
    printf("%s %d %s:", name, threads, cudaGetErrorName(error));
    for (int t = 0; t < threads; ++t)
        printf(" %d", found[t]);
    printf("\n");
    return error != cudaSuccess;
}
#define RUN(name) failed |= run(#name, name, threads)

int main() {
    int failed = 0;
    for (int threads : {20, 32, 96}) {
        RUN(ballot_after_return);
        RUN(reduce_after_return);
        RUN(shuffle_after_return);
        RUN(lock_by_spinning);
        RUN(lock_by_trying);
        RUN(lock_by_tickets);
        RUN(lock_by_sleeping);
        RUN(lanes_in_turn);
    }
    return failed;
}
