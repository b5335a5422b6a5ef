/* Features of ordinary CUDA C++, one kernel each. One block of 256 threads; out[t] is a hash of a kernel's
   results. */
#include <cooperative_groups.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <stdint.h>

typedef unsigned long long u64;
#define KERNEL(name) extern "C" __global__ void name(const u64 *in, u64 *out, u64 n)

static __device__ u64 fold(u64 sum, u64 value) {
    return (sum ^ value) * 0x9e3779b97f4a7c15ull;
}

/* A finite float of modest size from any bits. */
static __device__ float modest(u64 bits) {
    return (float)(int)(bits & 0xfffff) / 1024.0f - 500.0f;
}

/* ---- memory of the module ---- */

__constant__ unsigned primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__constant__ double weights[8] = {0.5, -1.25, 3, 1e300, -0.0, 0.1, 7, 1e-310};
__constant__ unsigned char letters[32] = "the quick brown fox jumps over";
struct mixed {
    short a;
    float b;
    const unsigned *c;
    char d[3];
};
__constant__ mixed mixture[3] = {{1, 2.5f, primes, "ab"}, {-3, 4, primes + 4, "c"}, {5, -6, nullptr, ""}};
__device__ unsigned counters[4] = {1, 10, 100, 1000};
__device__ unsigned zeros[300];
__device__ const float table[5] = {1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
__device__ unsigned *pointer = &counters[2];

KERNEL(constants) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    u64 sum = fold(primes[3], primes[x & 15]);
    sum = fold(sum, __double_as_longlong(weights[x >> 8 & 7] * 3.0));
    sum = fold(sum, letters[x >> 16 & 31]);
    const mixed &m = mixture[x >> 32 & 3 ? 1 : x >> 40 & 1 ? 0 : 2];
    sum = fold(sum, (u64)m.a + __float_as_uint(m.b) + m.d[x >> 50 & 1]);
    if (m.c)
        sum = fold(sum, m.c[x >> 20 & 3]);
    out[t] = sum;
}

KERNEL(variables) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    atomicAdd(&counters[x & 3], (unsigned)(x >> 40));
    atomicXor(&zeros[x >> 3 & 255], t);
    atomicMax(pointer, 7);
    __syncthreads();
    out[t] = fold(fold(counters[t & 3], zeros[t]), __float_as_uint(table[x >> 20 & 3]));
}

/* ---- memory of a thread ---- */

KERNEL(locals) {
    const unsigned t = threadIdx.x;
    u64 x = in[t];
    unsigned digits[40];
    for (int i = 0; i < 40; i++)
        digits[i] = i * 3;
    for (int i = 0; i < 50; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        digits[x >> 33 & 31] += (unsigned)(x >> 20);
        digits[(x >> 40) % 40] ^= t;
    }
    unsigned char bytes[24];
    for (int i = 0; i < 24; i++)
        bytes[i] = (unsigned char)(digits[i] + i);
    u64 sum = 0;
    for (int i = 0; i < 40; i++)
        sum = fold(sum, digits[(i + t) % 40] + bytes[(i * t) % 24]);
    out[t] = sum;
}

static __device__ __noinline__ u64 sort_and_sum(int *values, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
            const int swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
    u64 sum = 0;
    for (int i = 0; i < count; i++)
        sum = fold(sum, values[i]);
    return sum;
}

struct pair {
    double first;
    int second;
};

static __device__ __noinline__ pair make_pair(float x, short y, const pair &other) {
    if (y < 0)
        return other;
    return {x * 2.0, y + other.second};
}

KERNEL(calls) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    int values[12];
    for (int i = 0; i < 12; i++)
        values[i] = (int)(x >> i);
    pair p = make_pair(modest(x), (short)(x >> 30), {1.5, 3});
    u64 sum = sort_and_sum(values, 4 + t % 9);
    if (t % 3 == 0)
        p = make_pair(modest(x >> 9), (short)x, p);
    out[t] = fold(fold(sum, __double_as_longlong(p.first)), p.second);
}

/* ---- control ---- */

KERNEL(switches) {
    const unsigned t = threadIdx.x;
    u64 x = in[t], sum = t;
    for (int i = 0; i < 20; i++, x = x * 6364136223846793005ull + 1) {
        switch (x >> 60) {
        case 0:
            sum += x;
            break;
        case 1:
            sum ^= x >> 3;
            break;
        case 2:
            sum *= 5;
            break;
        case 3:
            sum -= i; /* falls through */
        case 4:
            sum = sum << 7 | sum >> 57;
            break;
        case 5:
            sum = __popcll(sum);
            break;
        case 6:
            sum = __brevll(sum);
            break;
        case 7:
            sum = fold(sum, 7);
            break;
        case 9:
            sum /= 3;
            break;
        case 10:
            sum %= 1000007;
            break;
        case 11:
            return;
        case 12:
            sum = sum > x ? sum : x;
            continue;
        default:
            sum++;
        }
        sum ^= 0x55;
    }
    out[t] = sum;
}

/* ---- integers ---- */

KERNEL(wide_integers) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t], y = in[t + 256] | 1;
    const long long a = (long long)x, b = (long long)y;
    u64 sum = fold(x / y, x % y);
    sum = fold(sum, a / b + a % b);
    sum = fold(sum, (unsigned)x / ((unsigned)y | 1) + (int)a % ((int)b | 1));
    sum = fold(sum, __umul64hi(x, y) + __mul64hi(a, b));
    unsigned __int128 wide = (unsigned __int128)x * y + a;
    wide -= (unsigned __int128)y << 70;
    wide += wide >> 3;
    sum = fold(sum, (u64)wide);
    sum = fold(sum, (u64)(wide >> 64));
    __int128 narrow = (__int128)a * b - x;
    sum = fold(sum, (u64)(narrow >> 33));
    sum = fold(sum, wide / (y | 3) > 5);
    out[t] = sum;
}

KERNEL(bits) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t], y = in[t + 256];
    const unsigned a = (unsigned)x, b = (unsigned)(x >> 32), c = (unsigned)y;
    u64 sum = 0;
    sum = fold(sum, __funnelshift_l(a, b, c) + __funnelshift_r(a, b, c));
    sum = fold(sum, __funnelshift_lc(a, b, c & 63) + __funnelshift_rc(a, b, c & 63));
    sum = fold(sum, __byte_perm(a, b, c));
    sum = fold(sum, __clz(a) + __ffs(b) + __popc(c) + __brev(a));
    sum = fold(sum, __clzll(x) + __ffsll(y) + __popcll(x) + __brevll(y));
    sum = fold(sum, __sad(a, b, c) + __usad(a, b, c) + __hadd(a, b) + __rhadd(a, b) + __uhadd(a, b) +
                        __urhadd(a, b));
    sum = fold(sum, __mul24(a, b) + __umul24(a, b) + __mulhi((int)a, (int)b) + __umulhi(a, b));
    sum = fold(sum, (a & b) | (~a & c));
    sum = fold(sum, __dp4a(a, b, c) + __dp4a((int)a, (int)b, (int)c) + __dp2a_lo((int)a, (int)b, (int)c) +
                        __dp2a_hi(a, b, c));
    sum = fold(sum, (u64)(signed char)a + (short)b + (unsigned short)c);
    sum = fold(sum, abs((int)a) + llabs((long long)x) + max((int)a, (int)b) + min(b, c));
    sum = fold(sum, (x << (c & 63)) + (x >> (b & 63)) + ((long long)y >> (a & 63)) + (a << (b & 31)) +
                        ((int)c >> (a & 31)));
    out[t] = sum;
}

KERNEL(bytes_of_words) {
    const unsigned t = threadIdx.x;
    const unsigned a = (unsigned)in[t], b = (unsigned)in[t + 256], c = (unsigned)in[t + 512];
    u64 sum = 0;
    sum = fold(sum, __vadd4(a, b) + __vsub2(a, b) + __vabsdiffu4(a, b) + __vsadu4(a, b));
    sum = fold(sum, __vmaxs2(a, b) + __vminu2(a, b) + __vcmpgtu4(a, b) + __vavgu4(a, b) + __vmaxu4(a, b));
    sum = fold(sum, __vaddss2(a, b) + __vaddus4(a, b) + __vneg2(a) + __vabs4(b) + __vseteq2(a, b));
    sum = fold(sum, __viaddmax_s32(a, b, c) + __vimax3_s32(a, b, c) + __vimin3_s16x2(a, b, c) +
                        __vimax3_s16x2_relu(a, b, c));
    out[t] = sum;
}

/* ---- floating point ---- */

KERNEL(doubles) {
    const unsigned t = threadIdx.x;
    const double x = modest(in[t]) * 1.1, y = modest(in[t + 256]) / 3.0 + 0.01;
    u64 sum = 0;
#define TAKE(value) sum = fold(sum, __double_as_longlong(value))
    TAKE(x / y);
    TAKE(sqrt(fabs(x)));
    TAKE(fma(x, y, 1.0));
    TAKE(__drcp_rn(y));
    TAKE(floor(x) + ceil(y) + trunc(x) + rint(y) + round(x));
    TAKE(fmin(x, y) + fmax(x, y) + copysign(x, y));
    TAKE(__dadd_rz(x, y) + __dmul_ru(x, y) + __dsub_rd(x, y) + __fma_rd(x, y, x));
    TAKE(__ddiv_rz(x, y) + __dsqrt_ru(fabs(x)) + __drcp_rd(y));
    TAKE(fmod(x, y));
    TAKE(ldexp(x, 5) + scalbn(y, -3));
    sum = fold(sum,
               (u64)(long long)(x * 1e6) + (unsigned)fabs(y * 1e3) + __double2int_rd(x) + __double2ll_ru(y));
    sum = fold(sum, __double_as_longlong((double)(long long)in[t]) + __double_as_longlong((double)in[t]));
    sum = fold(sum, __float_as_uint((float)x) + __float_as_uint(__double2float_rz(y)) +
                        __float_as_uint(__double2float_ru(y)));
    sum = fold(sum, isnan((x - x) / (y - y)) + isinf(x / (y - y)) + signbit(x) + isfinite(y) + lrint(x) +
                        llround(y));
    sum = fold(sum, __double2hiint(x) + __double2loint(y) + __double_as_longlong(__hiloint2double(t, t * 3)));
    sum = fold(sum, __double_as_longlong(__uint2double_rn(t)) + __double_as_longlong(__ll2double_rz(in[t])) +
                        __double_as_longlong(__ull2double_ru(in[t])));
    out[t] = sum;
}

KERNEL(floats) {
    const unsigned t = threadIdx.x;
    const float x = modest(in[t]), y = modest(in[t + 256]) + 0.01f;
    u64 sum = 0;
#undef TAKE
#define TAKE(value) sum = fold(sum, __float_as_uint(value))
    TAKE(x / y);
    TAKE(sqrtf(fabsf(x)));
    TAKE(fmaf(x, y, 1));
    TAKE(__frcp_rn(y));
    TAKE(__fdiv_rz(x, y) + __fsqrt_ru(fabsf(x)) + __frcp_rd(y) + __fdiv_ru(x, y) + __fsqrt_rd(fabsf(y)));
    TAKE(floorf(x) + ceilf(y) + truncf(x) + rintf(y) + roundf(x));
    TAKE(fminf(x, y) + fmaxf(x, y) + copysignf(x, y));
    TAKE(__fadd_rz(x, y) + __fmul_ru(x, y) + __fsub_rd(x, y) + __fmaf_rd(x, y, x));
    TAKE(fmodf(x, y));
    TAKE(__saturatef(x * 0.01f));
    TAKE(ldexpf(x, 5) + scalbnf(y, -3));
    sum = fold(sum,
               (u64)(long long)(x * 1e6f) + (unsigned)fabsf(y * 1e3f) + __float2int_rd(x) + __float2ll_ru(y));
    sum = fold(sum, __float_as_uint((float)(long long)in[t]) + __float_as_uint((float)in[t]) +
                        __float_as_uint((float)(int)in[t]));
    sum = fold(sum, __float_as_uint(__int2float_rz((int)in[t])) + __float_as_uint(__ull2float_ru(in[t])) +
                        __float_as_uint(__uint2float_rd((unsigned)in[t])));
    sum = fold(sum, isnan(x) + isinf(y) + signbit(x) + lrintf(x) + llroundf(y) + (x < y) + (x != x));
    TAKE(cbrtf(1.0f) + nextafterf(x, y) + fdimf(x, y) + remainderf(x, y));
    out[t] = sum;
}

KERNEL(halves) {
    const unsigned t = threadIdx.x;
    const __half a = __float2half(modest(in[t]) * 0.01f), b = __float2half(modest(in[t + 256]) * 0.02f);
    const __half2 p = __halves2half2(a, b), q = __halves2half2(b, __float2half(1.5f));
    u64 sum = 0;
#undef TAKE
#define TAKE(value) sum = fold(sum, __half_as_ushort(value))
#define TAKE2(value)                                                                                         \
    {                                                                                                        \
        const __half2 v_ = value;                                                                            \
        TAKE(__low2half(v_));                                                                                \
        TAKE(__high2half(v_));                                                                               \
    }
    TAKE(a + b);
    TAKE(__hmul_rn(a, b) - a); /* of a * b - a, ptxas may make one fma */
    TAKE(__hfma(a, b, a));
    TAKE(__hdiv(a, __float2half(3)));
    TAKE(__hmax(a, b));
    TAKE(__hmin_nan(a, b));
    TAKE(__habs(a));
    TAKE(__hneg(b));
    TAKE2(__hadd2(p, q));
    TAKE2(__hmul2(p, q));
    TAKE2(__hfma2(p, q, p));
    TAKE2(__hfma2_relu(p, q, p));
    TAKE2(__hmax2(p, q));
    TAKE2(__hadd2_sat(p, q));
    TAKE(__hadd_sat(a, b));
    TAKE(__hfma_sat(a, b, a));
    TAKE(hfloor(a) + hceil(b) + hrint(a) + htrunc(b));
    sum = fold(sum, (a < b) + 2 * (a == b) + 4 * __hisnan(a) + 8 * __hbgt2(p, q) + 16 * __hgeu(a, b));
    TAKE2(__hgt2(p, q));
    sum = fold(sum, __heq2_mask(p, q) + __hlt2_mask(p, q));
    sum = fold(sum, __half2int_rz(a) + __half2uint_rn(b) + __half2short_rd(a) + (u64)__half2ll_ru(b) +
                        __half2char_rz(a));
    TAKE(__int2half_rn((int)in[t] >> 18));
    TAKE(__ushort2half_rz((unsigned short)in[t]));
    TAKE(__ull2half_rn(in[t] >> 50));
    TAKE(__double2half(modest(in[t]) * 0.3));
    TAKE(__float2half_rz(modest(in[t])));
    TAKE(__float2half_ru(modest(in[t])));
    sum = fold(sum, __float_as_uint(__half2float(a)) + __double_as_longlong((double)__half2float(b)));
    TAKE2(__float22half2_rn(make_float2(modest(in[t]), modest(in[t + 1]))));
    TAKE(__shfl_xor_sync(~0u, a, 5));
    out[t] = sum;
}

#if __CUDA_ARCH__ >= 800
KERNEL(bfloats) {
    const unsigned t = threadIdx.x;
    const __nv_bfloat16 a = __float2bfloat16(modest(in[t]) * 0.01f),
                        b = __float2bfloat16(modest(in[t + 256]));
    const __nv_bfloat162 p = __halves2bfloat162(a, b), q = __halves2bfloat162(b, __float2bfloat16(1.5f));
    u64 sum = 0;
#undef TAKE
#undef TAKE2
#define TAKE(value) sum = fold(sum, __bfloat16_as_ushort(value))
#define TAKE2(value)                                                                                         \
    {                                                                                                        \
        const __nv_bfloat162 v_ = value;                                                                     \
        TAKE(__low2bfloat16(v_));                                                                            \
        TAKE(__high2bfloat16(v_));                                                                           \
    }
    TAKE(a + b);
    TAKE(a - b);
    TAKE(a * b);
    TAKE(__hfma(a, b, a));
    TAKE(__hmax(a, b));
    TAKE(__hmin_nan(a, b));
    TAKE(__habs(a));
    TAKE(__hneg(b));
    TAKE2(__hadd2(p, q));
    TAKE2(__hmul2(p, q));
    TAKE2(__hfma2(p, q, p));
    TAKE2(__hfma2_relu(p, q, p));
    TAKE(__hadd_sat(a, b));
    sum = fold(sum, (a < b) + 2 * (a == b) + 4 * __hisnan(a) + 8 * __hbgt2(p, q) + 16 * __hgeu(a, b));
    sum = fold(sum, __bfloat162int_rz(a) + __bfloat162uint_rn(b) + __bfloat162short_rd(a) +
                        (u64)__bfloat162ll_ru(b));
    TAKE(__int2bfloat16_rn((int)in[t]));
    TAKE(__ushort2bfloat16_rz((unsigned short)in[t]));
    TAKE(__ull2bfloat16_rn(in[t] >> 20));
    TAKE(__double2bfloat16(modest(in[t]) * 0.3));
    TAKE(__float2bfloat16_rz(modest(in[t])));
    TAKE(__float2bfloat16_ru(modest(in[t])));
    TAKE2(__float22bfloat162_rn(make_float2(modest(in[t]), modest(in[t + 1]))));
    TAKE2(__floats2bfloat162_rn(modest(in[t]), modest(in[t + 1])));
    out[t] = sum;
}
#endif

/* ---- threads together ---- */

KERNEL(atomics) {
    __shared__ unsigned words[16];
    __shared__ u64 longs[8];
    __shared__ int ints[8];
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    if (t < 16)
        words[t] = 0;
    if (t < 8)
        longs[t] = ints[t] = 0;
    __syncthreads();
    atomicAdd(&words[0], (unsigned)x);
    atomicSub(&words[1], (unsigned)x);
    atomicMin(&words[2], (unsigned)x);
    atomicMax(&words[3], (unsigned)x);
    atomicInc(&words[4], 100);
    atomicDec(&words[5], 100);
    atomicAnd(&words[6], (unsigned)x);
    atomicOr(&words[7], (unsigned)x);
    atomicXor(&words[8], (unsigned)x);
    atomicCAS(&words[9], 0u, 77u);
    atomicAdd_block(&words[10], t);
    atomicAdd(&longs[0], x);
    atomicMin((long long *)&longs[1], (long long)x);
    atomicMax(&longs[2], x);
    atomicXor(&longs[3], x);
    atomicAnd(&longs[4], x);
    atomicExch(&longs[5], 9ull);
    atomicCAS(&longs[6], 0ull, 5ull);
    atomicMax(&ints[0], (int)x);
    atomicMin(&ints[1], (int)x);
    __syncthreads();
    u64 sum = longs[t % 8];
    out[t] = fold(fold(sum, words[t % 16]), ints[t % 8]);
}

KERNEL(float_atomics) {
    __shared__ float f[4];
    __shared__ double d[4];
    __shared__ __half2 h[4];
    __shared__ __nv_bfloat162 b[4];
    __shared__ __half single[2];
    __shared__ unsigned short shorts[2];
    const unsigned t = threadIdx.x;
    if (t < 4)
        f[t] = 0, d[t] = 0, h[t] = __float2half2_rn(0), b[t] = __float2bfloat162_rn(0);
    if (t < 2)
        single[t] = __float2half(0), shorts[t] = 0;
    __syncthreads();
    /* small integers: exact, so that the order does not matter */
    const float x = (float)(in[t] & 3);
    atomicAdd(&f[t % 4], x);
    atomicAdd(&d[t % 4], (double)x);
    atomicAdd(&h[t % 4], __float2half2_rn(x));
    atomicAdd(&b[t % 4], __float2bfloat162_rn(x > 2 ? 1 : 0));
    atomicAdd(&single[t % 2], __float2half(x));
    atomicCAS(&shorts[t % 2], (unsigned short)0, (unsigned short)9);
    __syncthreads();
    u64 sum = fold(__float_as_uint(f[t % 4]), __double_as_longlong(d[t % 4]));
    sum = fold(sum, __half_as_ushort(__low2half(h[t % 4])) + __half_as_ushort(single[t % 2]) + shorts[t % 2]);
    out[t] = fold(sum, __bfloat16_as_ushort(__high2bfloat16(b[t % 4])));
}

KERNEL(warps) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    u64 sum = __shfl_sync(~0u, x, 3) + __shfl_xor_sync(~0u, x, 9) + __shfl_down_sync(~0u, x, 2, 8);
    sum = fold(sum, __ballot_sync(~0u, x & 1) + __any_sync(~0u, x & 2) + __all_sync(~0u, x & 4));
#if __CUDA_ARCH__ >= 700
    sum = fold(sum, __match_any_sync(~0u, (unsigned)x & 7));
    sum = fold(sum, __match_any_sync(~0u, x & 0x300000003ull));
    int same;
    sum = fold(sum, __match_all_sync(~0u, (unsigned)x >> 31, &same) + same);
    sum = fold(sum, __match_all_sync(~0u, x & 0, &same) + same);
    if (x & 8)
        sum = fold(sum, __match_any_sync(__activemask(), (unsigned)x & 3));
#endif
#if __CUDA_ARCH__ >= 800
    sum = fold(sum, __reduce_add_sync(~0u, (unsigned)x) + __reduce_max_sync(~0u, (int)x) +
                        __reduce_xor_sync(~0u, (unsigned)x));
#endif
    __syncwarp();
    sum = fold(sum, __activemask() + __popc(__ballot_sync(~0u, t % 3 == 0)));
    out[t] = sum;
}

KERNEL(block_votes) {
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    u64 sum = __syncthreads_count((int)(x & 1));
    sum = fold(sum, __syncthreads_and((int)(x | 1)));
    sum = fold(sum, __syncthreads_and((int)(x & 7)));
    sum = fold(sum, __syncthreads_or(x == in[5]));
    out[t] = fold(sum, __syncthreads_or(0));
}

KERNEL(groups) {
    namespace cg = cooperative_groups;
    __shared__ unsigned parts[8];
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<8>(block);
    const unsigned t = block.thread_rank();
    const u64 x = in[t];
    unsigned value = (unsigned)x;
    for (int i = warp.size() / 2; i > 0; i /= 2)
        value += warp.shfl_down(value, i);
    if (warp.thread_rank() == 0)
        parts[warp.meta_group_rank()] = value;
    block.sync();
    u64 sum = fold(parts[t % 8], tile.shfl_xor((unsigned)x, 3) + tile.ballot(x & 1) + tile.any(x & 2));
    if (x & 4) {
        const cg::coalesced_group active = cg::coalesced_threads();
        sum = fold(sum, active.size() + active.thread_rank() * 7 + active.shfl((unsigned)x, 0));
    }
    sum = fold(sum, block.group_dim().x + block.thread_index().x + block.num_threads());
    tile.sync();
    out[t] = sum;
}

KERNEL(shared_of_all_kinds) {
    __shared__ uint4 quads[64];
    __shared__ unsigned char bytes[256];
    __shared__ double doubles[256];
    const unsigned t = threadIdx.x;
    const u64 x = in[t];
    bytes[255 - t] = (unsigned char)x;
    doubles[t ^ 5] = (double)(int)x;
    if (t < 64)
        quads[t] = make_uint4((unsigned)x, t, (unsigned)(x >> 32), 9);
    __syncthreads();
    const uint4 q = quads[(t * 5) % 64];
    out[t] = fold(fold(bytes[t], (u64)(long long)doubles[t]), q.x + q.y + q.z + q.w);
}

#if __CUDA_ARCH__ >= 800
KERNEL(async_copies) {
    __shared__ u64 a[2][256];
    __shared__ uint4 b[256];
    __shared__ unsigned c[256];
    const unsigned t = threadIdx.x;
    u64 sum = 0;
    __pipeline_memcpy_async(&a[0][t], &in[t], 8);
    __pipeline_commit();
    for (int i = 0; i < 3; i++) {
        __pipeline_memcpy_async(&a[(i + 1) & 1][t], &in[t + 256 * (i + 1)], 8);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum = fold(sum, a[i & 1][255 - t]);
        __syncthreads();
    }
    __pipeline_memcpy_async(&b[t], (const uint4 *)in + t, 16);
    __pipeline_memcpy_async(&c[t], (const unsigned *)in + t, 4, t & 3);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = fold(fold(sum, b[t * 7 % 256].y), c[t ^ 1]);
}

KERNEL(async_barriers) {
    __shared__ u64 a[256];
    __shared__ __mbarrier_t bar;
    const unsigned t = threadIdx.x;
    if (t == 0)
        __mbarrier_init(&bar, 256);
    __syncthreads();
    __pipeline_memcpy_async(&a[t], &in[t], 8);
    __pipeline_arrive_on(&bar);
    const __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token))
        ;
    out[t] = fold(a[255 - t], t);
}
#endif

/* ---- access ---- */

KERNEL(accesses) {
    const unsigned t = threadIdx.x;
    u64 sum = __ldg(&in[t]) + __ldcg(&in[t + 1]) + __ldcs(&in[t + 2]) + __ldca(&in[t + 3]) +
              __ldlu(&in[t + 4]) + __ldcv(&in[t + 5]);
    const uint4 q = __ldg((const uint4 *)in + t);
    sum = fold(sum, q.x + q.y + q.z + q.w);
    sum = fold(sum,
               ((const signed char *)in)[t] + ((const short *)in)[t] + __ldg((const unsigned char *)in + t));
    const double2 d = __ldcs((const double2 *)in + t);
    sum = fold(sum, __double_as_longlong(d.y));
    const float2 f = ((const float2 *)in)[t];
    sum = fold(sum, __float_as_uint(f.x));
    sum = fold(sum, ((volatile const unsigned *)in)[t]);
    const ushort4 s = ((const ushort4 *)in)[t];
    sum = fold(sum, s.x + s.w);
    const char4 c = ((const char4 *)in)[t];
    sum = fold(sum, c.x + c.w);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __stcs(&out[t], sum);
    __stwt(&out[t], sum);
    __stcg(&out[t], sum);
    __nanosleep(10);
}

static __device__ __noinline__ u64 word_at(const u64 *from, int index) {
    return index < 1 ? from[index] : 0;
}

extern "C" __global__ void parameters(const u64 *in, u64 *out, const __grid_constant__ u64 n) {
    const unsigned t = threadIdx.x;
    out[t] = fold(word_at(&n, t & 1), in[t]);
}

KERNEL(clocks) {
    const unsigned t = threadIdx.x;
    const long long a = clock64();
    const unsigned b = clock();
    out[t] = (clock64() >= a) + in[t] * 0 + b * 0;
    unsigned s;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    out[t] += s * 0;
}

KERNEL(assertions) {
    const unsigned t = threadIdx.x;
    if (in[t] == 0x123456789ull)
        __trap();
    if (in[t] == 0x123456787ull)
        __brkpt();
    __builtin_assume(n > 0);
    out[t] = 1;
}
