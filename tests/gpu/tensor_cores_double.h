/* Products of float64 in registers: what a GPU makes of double_cases.h. */
#include "double_cases.h"

/* Register r of A has row lane / 4, and then that 8 below it; the next two are four columns on. */
template <int FORM>
__global__ void double_products(const double *as, const double *bs, const double *cs, double *ds) {
    constexpr int rows = FORM == 0 ? 8 : 16, k = FORM < 2 ? 4 : FORM == 2 ? 8 : 16, halves = rows / 8;
    const size_t number = blockIdx.x;
    const int group = threadIdx.x / 4, member = threadIdx.x % 4;
    double a[8], b[4], c[4];
    for (int r = 0; r < k / 4 * halves; r++)
        a[r] = as[(number * rows + group + r % halves * 8) * k + member + r / halves * 4];
    for (int r = 0; r < k / 4; r++)
        b[r] = bs[(number * k + member + r * 4) * TC_COLUMNS + group];
    for (int r = 0; r < 2 * halves; r++)
        c[r] = cs[(number * rows + group + r / 2 * 8) * TC_COLUMNS + member * 2 + r % 2];
    if constexpr (FORM == 0)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(c[0]), "+d"(c[1])
                     : "d"(a[0]), "d"(b[0]));
#define SUMS "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
    if constexpr (FORM == 1)
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                     "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : SUMS
                     : "d"(a[0]), "d"(a[1]), "d"(b[0]));
    if constexpr (FORM == 2)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : SUMS
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    if constexpr (FORM == 3)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                     : SUMS
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#undef SUMS
    for (int r = 0; r < 2 * halves; r++)
        ds[(number * rows + group + r / 2 * 8) * TC_COLUMNS + member * 2 + r % 2] = c[r];
}

typedef void (*double_kernel)(const double *, const double *, const double *, double *);
static const double_kernel double_kernels[DC_FORMS] = {double_products<0>, double_products<1>,
                                                       double_products<2>, double_products<3>};

/* Writes a hash of each chunk of `all` cases. */
static void probe_doubles(int form, uint32_t all, FILE *text) {
    const dc_form *f = &dc_forms[form];
    const size_t na = f->rows * f->k, nb = f->k * TC_COLUMNS, nd = f->rows * TC_COLUMNS;
    std::vector<uint64_t> a(DC_CHUNK * na), b(DC_CHUNK * nb), c(DC_CHUNK * nd), d(DC_CHUNK * nd);
    double *ga, *gb, *gc, *gd;
    CHECK(cudaMalloc(&ga, 8 * a.size()));
    CHECK(cudaMalloc(&gb, 8 * b.size()));
    CHECK(cudaMalloc(&gc, 8 * c.size()));
    CHECK(cudaMalloc(&gd, 8 * d.size()));
    fprintf(text, ",\n{\"form\": \"%s\", \"cases\": %u, \"hashes\": [", f->name, all);
    static dc_inputs in;
    for (uint32_t first = 0; first < all; first += DC_CHUNK) {
        for (uint32_t i = 0; i < DC_CHUNK; i++) {
            dc_case(form, first + i, &in);
            memcpy(&a[i * na], in.a, 8 * na);
            memcpy(&b[i * nb], in.b, 8 * nb);
            memcpy(&c[i * nd], in.c, 8 * nd);
        }
        CHECK(cudaMemcpy(ga, a.data(), 8 * a.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(gb, b.data(), 8 * b.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(gc, c.data(), 8 * c.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemset(gd, 0xa5, 8 * d.size()));
        double_kernels[form]<<<DC_CHUNK, 32>>>(ga, gb, gc, gd);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(d.data(), gd, 8 * d.size(), cudaMemcpyDeviceToHost));
        uint64_t hash = 0;
        for (const uint64_t result : d)
            hash = dc_hash(hash, result);
        fprintf(text, "%s\"%016llx\"", first ? "," : "", (unsigned long long)hash);
    }
    fprintf(text, "]}");
    printf("%s: %u cases\n", f->name, all);
    CHECK(cudaFree(ga));
    CHECK(cudaFree(gb));
    CHECK(cudaFree(gc));
    CHECK(cudaFree(gd));
}
