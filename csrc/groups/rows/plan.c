/* Planner of group sums of sorted rows: launches kernels that order the rows by partitions of labels, sort
   each partition by label, and add up the rows. */
#include "groups/rows/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "base/powers.h"
#include "groups/rows/params.h"

enum {
    WARP = 32,
    CHUNK = 64, /* sorted rows per team; twice as many if there are enough teams */
    TILE = 1 << GR_SORTED_TILE_SHIFT,
    SORT_STATIC_BYTES = 8 << 10, /* static shared memory of the kernel that sorts partitions, at most */
    FEW_LOCALS = 256,      /* groups per partition that are aimed at, as its parts may then have few rows, */
    MANY_PARTITIONS = 512, /* with up to this number of partitions */
    MIN_PARTITIONS = 128,  /* min. partitions, unless there are fewer groups */
    MAX_ROW_PARTITIONS = 1024, /* max. partitions on account of the number of rows */
    MAX_GROUP_ROWS = 256,      /* rows of a group that one team adds up, if there are enough teams */
    ENOUGH_TEAMS = 4096,
    MAX_WORKSPACE = 16 << 20,
    FEW_RESULTS = 1 << 16, /* to which additions wait for each other more often */
};

/* Properties of the kernels for a dtype. */
typedef struct kind {
    const char *name;
    uint32_t components, item_bytes, result_bytes; /* per component */
    uint32_t words, state_words;                   /* per slot */
    uint32_t vector;                               /* columns per thread, at most */
    bool samples;
} kind;

static kind kind_of(gr_dtype dtype) {
    static const kind floats[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f32] = {"f32", 1, 4, 4, 2, GR_EXACT_NARROW_WORDS, 4, true},
        [GR_DTYPE_f16] = {"f16", 1, 2, 2, 2, GR_EXACT_NARROW_WORDS, 4, false},
        [GR_DTYPE_bf16] = {"bf16", 1, 2, 2, 2, GR_EXACT_NARROW_WORDS, 4, true},
        [GR_DTYPE_f64] = {"f64", 1, 8, 8, 3, GR_EXACT_WIDE_WORDS, 2, true},
        [GR_DTYPE_c64] = {"f32", 2, 4, 4, 2, GR_EXACT_NARROW_WORDS, 4, true},
        [GR_DTYPE_c128] = {"f64", 2, 8, 8, 3, GR_EXACT_WIDE_WORDS, 2, true},
    };
    if (gr_dtypes[dtype].kind != GR_KIND_BITS)
        return floats[dtype];
    const uint32_t bytes = (uint32_t)gr_dtypes[dtype].item_bytes;
    return (kind){gr_dtypes[dtype].name,         1,    bytes, 8, bytes == 8 ? 2 : 1, 0,
                  dtype == GR_DTYPE_i32 ? 4 : 2, false};
}

/* Numbers of columns, slots and so on, and the parameters without addresses. */
typedef struct sizes {
    uint64_t columns, slots, chunks;
    uint64_t partitions, tiles, vector;
    gr_sorted_rows_params params;
} sizes;

/* Columns per thread: enough for a warp to have a whole row, if vector loads of rows are possible. */
static uint64_t vector_of(const gr_groups *self, const kind *of, uint64_t inner) {
    const int64_t item = (int64_t)of->item_bytes;
    uint64_t vector = of->vector;
    while (vector > 1 && inner <= vector / 2 * WARP)
        vector /= 2;
    const bool in_order = self->inner == 1 || self->inner_stride == item * (int64_t)of->components;
    for (; vector > 1; vector /= 2)
        if (in_order && self->aligned && inner % vector == 0 &&
            self->along_stride / item % (int64_t)vector == 0 &&
            self->line_stride / item % (int64_t)vector == 0)
            break;
    return vector;
}

static sizes sizes_of(const gr_groups *self, const kind *of, uint32_t slot_rows) {
    const uint64_t inner = self->inner * of->components;
    sizes all = {.columns = self->lines * inner, .tiles = gr_ceil_div(self->length, TILE)};
    all.vector = vector_of(self, of, inner);
    uint64_t wanted = gr_max(gr_min(all.tiles, MAX_ROW_PARTITIONS), MIN_PARTITIONS);
    wanted = gr_max(wanted, gr_min(self->groups / FEW_LOCALS, MANY_PARTITIONS));
    wanted = gr_max(wanted, gr_ceil_div(self->groups, GR_SORTED_MAX_LOCALS));
    const uint32_t shift = gr_log2_from(gr_min(wanted, self->groups), 63);
    all.partitions = (uint64_t)1 << shift;
    const uint64_t threads = inner / all.vector, width_shift = gr_log2_from(threads, 5);
    const uint64_t line_slices = gr_ceil_div(threads, (uint64_t)1 << width_shift);
    const uint64_t slices = line_slices * self->lines;
    const uint32_t chunk = gr_ceil_div(self->length, 2 * CHUNK) * slices >= ENOUGH_TEAMS ? 2 * CHUNK : CHUNK;
    all.chunks = gr_ceil_div(self->length, chunk);
    const uint32_t many = gr_min(self->groups, all.chunks) * slices >= ENOUGH_TEAMS;
    const uint32_t longest = many ? MAX_GROUP_ROWS : slot_rows;
    all.slots = self->length / slot_rows + 1;
    const uint64_t locals = gr_ceil_div(self->groups, all.partitions);
    all.params = (gr_sorted_rows_params){
        .columns = all.columns,
        .tiles = (uint32_t)all.tiles,
        .partitions_shift = shift,
        .locals = (uint32_t)locals,
        .part_rows = (uint32_t)gr_max(GR_SORTED_MIN_PART_ROWS, slot_rows * (locals + 1)),
        .chunk = chunk,
        .slot_rows = slot_rows,
        .longest = longest,
        .slots = (uint32_t)all.slots,
        .width_shift = (uint32_t)width_shift,
        .line_slices = (uint32_t)line_slices,
        .slices = (uint32_t)slices,
        .headroom = (uint32_t)(gr_max(gr_log2_from(self->length + 1, 63) + 2,
                                      GR_SORTED_MIN_HEADROOM + GR_SORTED_MIN_HEADROOM) -
                               GR_SORTED_MIN_HEADROOM),
        .item_bytes = of->samples ? of->item_bytes : 0,
        .result_bytes = of->result_bytes,
    };
    return all;
}

/* Buffers of a program, and where their addresses are in the parameters. */
typedef struct buffer_of {
    gr_buffer_kind kind;
    size_t offset, bytes;
} buffer_of;

enum { BUFFERS = 12 };

#define AT(field) offsetof(gr_sorted_rows_params, field)
static void list_buffers(const gr_groups *self, const kind *of, const sizes *all, buffer_of list[BUFFERS]) {
    const size_t rows = (size_t)self->length, slots = (size_t)all->slots,
                 places = slots * (size_t)all->columns;
    const buffer_of buffers[BUFFERS] = {
        {GR_BUFFER_ZEROED, AT(counts), (size_t)all->partitions * 4},
        {GR_BUFFER_TEMPORARY, AT(table), (size_t)(all->partitions * all->tiles) * 4},
        {GR_BUFFER_TEMPORARY, AT(records), (size_t)all->tiles * TILE * 4},
        {GR_BUFFER_TEMPORARY, AT(order),
         (rows + GR_SORTED_BATCH - 1) / GR_SORTED_BATCH * GR_SORTED_BATCH * 4},
        {GR_BUFFER_TEMPORARY, AT(run_of), rows * 4},
        {GR_BUFFER_TEMPORARY, AT(runs),
         ((size_t)(all->partitions * all->params.locals) + slots) * sizeof(gr_sorted_run)},
        {GR_BUFFER_TEMPORARY, AT(totals), slots * 4},
        {GR_BUFFER_TEMPORARY, AT(choice), GR_SORTED_CHOICE_BYTES},
        {GR_BUFFER_ZEROED, AT(sums), places * of->words * 8},
        {GR_BUFFER_ZEROED, AT(special), places * 8},
        {GR_BUFFER_ZEROED, AT(states), places * of->state_words * 8},
        {GR_BUFFER_ZEROED, AT(tickets), slots * all->params.slices * 4},
    };
    for (int i = 0; i < BUFFERS; ++i)
        list[i] = buffers[i];
}

static bool is_in_proportion(const gr_groups *self, const kind *of, const sizes *all) {
    buffer_of list[BUFFERS];
    list_buffers(self, of, all, list);
    const double columns = (double)self->lines * (double)self->inner;
    double bytes = 0;
    for (int i = 0; i < BUFFERS; ++i)
        bytes += (double)list[i].bytes;
    return bytes <=
           12 * columns * (double)self->length + 160 * columns * (double)self->groups + MAX_WORKSPACE;
}

/* The sizes with the fewest rows per team for which the workspace is in proportion. Returns false if there
   are none. */
static bool find_sizes(const gr_groups *self, const kind *of, sizes *all) {
    if (self->length == 0 || self->length >> GR_SORTED_MAX_ROWS_SHIFT > 0 ||
        self->groups > (uint64_t)GR_SORTED_MAX_PARTITIONS * GR_SORTED_MAX_LOCALS ||
        self->lines * self->inner >= 1u << 24)
        return false;
    *all = sizes_of(self, of, CHUNK);
    if (!is_in_proportion(self, of, all))
        *all = sizes_of(self, of, MAX_GROUP_ROWS);
    return is_in_proportion(self, of, all) &&
           gr_ceil_div(all->chunks * all->params.slices << all->params.width_shift, GR_SORTED_SUM_THREADS) <=
               GR_MAX_GRID;
}

bool gr_sorted_rows_fit(const gr_groups *self) {
    const kind of = kind_of(self->dtype);
    sizes all;
    return find_sizes(self, &of, &all);
}

/* Compares estimates in microseconds, fitted to times on an H100: of additions to planes, each of which waits
   for the others to its address; and of sorting and adding. */
bool gr_sorted_rows_are_faster(const gr_groups *self) {
    const kind of = kind_of(self->dtype);
    const double columns = (double)self->lines * (double)self->inner * of.components,
                 rows = (double)self->length, groups = (double)self->groups;
    const double addends = rows * columns * (of.words == 3 ? 2.5 : 1);
    const double queues = addends / (groups * columns) * 0.01;
    const double adding = 8 + addends / (groups * columns < FEW_RESULTS ? 50e3 : 100e3);
    const double sorted = 30 + rows * 45e-6 + rows * columns * 2.2e-6;
    return self->inner > 1 && sorted < (queues > adding ? queues : adding) && gr_sorted_rows_fit(self);
}

static void name_sums(const kind *of, const sizes *all, bool hopper, gr_kernel_id *kernel) {
    GR_KERNEL_NAME(kernel->file, "group_rows_sum", hopper ? "" : "_75");
    GR_KERNEL_NAME(kernel->entry, "group_rows_", of->name,
                   all->vector == 1   ? "_1"
                   : all->vector == 2 ? "_2"
                                      : "_4");
}

void gr_sorted_rows_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                         gr_program *program) {
    const kind of = kind_of(self->dtype);
    sizes all;
    if (!find_sizes(self, &of, &all)) {
        gr_program_fail(program, GR_ERR_VALUE, "labels: no kernels sort as many rows");
        return;
    }
    gr_sorted_rows_params *params = &all.params;
    params->rows = *rows;
    const uint64_t room = caps->shared_per_block - SORT_STATIC_BYTES - params->locals * 4;
    params->staged = (uint32_t)gr_min(GR_SORTED_STAGED, room / 4);
    const uint32_t in = gr_program_input(program, 0), labels = gr_program_input(program, 1),
                   out =
                       gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)rows->results * of.result_bytes);
    buffer_of list[BUFFERS];
    uint32_t buffers[BUFFERS];
    list_buffers(self, &of, &all, list);
    for (int i = 0; i < BUFFERS; ++i)
        buffers[i] = gr_program_buffer(program, list[i].kind, gr_max(list[i].bytes, 4));
    for (int i = 0; i < 3; ++i) {
        gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
        step->pdl = caps->capability >= GR_HOPPER;
        step->kernel.owner = "group_reduce";
        gr_program_relocate(program, AT(rows.in), in);
        gr_program_relocate(program, AT(rows.labels), labels);
        gr_program_relocate(program, AT(rows.out), out);
        for (int k = 0; k < BUFFERS; ++k)
            gr_program_relocate(program, list[k].offset, buffers[k]);
        if (i == 0) {
            GR_KERNEL_NAME(step->kernel.file, "group_rows_order");
            GR_KERNEL_NAME(step->kernel.entry, "group_rows_partition");
            step->grid[0] = params->tiles + 1; /* the last one samples elements */
            step->block[0] = GR_SORTED_TILE_THREADS;
            step->shared_bytes = (uint32_t)all.partitions * 4;
        } else if (i == 1) {
            GR_KERNEL_NAME(step->kernel.file, "group_rows_order");
            GR_KERNEL_NAME(step->kernel.entry, "group_rows_sort");
            step->grid[0] = (uint32_t)(all.partitions + self->length / params->part_rows);
            step->block[0] = GR_SORTED_SORT_THREADS;
            step->shared_bytes = (params->locals + params->staged) * 4;
        } else {
            name_sums(&of, &all, caps->capability >= GR_HOPPER, &step->kernel);
            step->grid[0] = (uint32_t)gr_ceil_div(all.chunks * params->slices << params->width_shift,
                                                  GR_SORTED_SUM_THREADS);
            step->block[0] = GR_SORTED_SUM_THREADS;
        }
    }
}
#undef AT
