/* The report for the command `gpureduce run`: a line of JSON per failed launch, per kernel and grid, for the
   launch whose steps are recorded, and a last one. Without a report the end of the program writes to
   standard error that launches failed. */
#include <inttypes.h>

#include "cudart/cudart.h"

static void put_string(FILE *to, const char *text) {
    fputc('"', to);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < ' ' || c > '~')
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

void cudart_report_failure(const char *kernel, cudaError_t code) {
    if (!cudart.report)
        return;
    fprintf(cudart.report, "{\"kind\":\"failure\",\"code\":%d,\"kernel\":", (int)code);
    put_string(cudart.report, kernel);
    fputs(",\"message\":", cudart.report);
    put_string(cudart.report, cudart.refusal);
    fputs("}\n", cudart.report);
    fflush(cudart.report);
}

static bool write_text(void *arg, const char *text, size_t length) {
    return fwrite(text, 1, length, arg) == length;
}

static void put_record(FILE *to, const char *kind, const cudart_record *r) {
    fprintf(to, "{\"kind\":\"%s\",\"kernel\":", kind);
    put_string(to, r->function->name);
    fprintf(to,
            ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32
            "],\"shared\":%zu,\"launches\":%" PRIu64 ",",
            r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1], r->block[2],
            ptx_kernel_shared_bytes(r->function->kernel) + r->dynamic_shared, r->launches);
    (void)ptx_record_write(r->ptx, write_text, to);
    fputs("}\n", to);
}

static void say_end(void) {
    if (cudart.printed.length)
        cudart_say("%zu bytes that kernels printed are lost, as on a GPU: the program ended without "
                   "cudaDeviceSynchronize",
                   cudart.printed.length);
    if (cudart.failed)
        cudart_say("%" PRIu64 " of %" PRIu64 " launches failed", cudart.failed, cudart.launches);
    if (cudart.times_read)
        cudart_say("%s", cudart.wall ? "times between events are those of the simulator on this machine"
                                     : "times between events are counts: 1 ns per warp instruction");
}

void cudart_finish_report(void) {
    static bool done;
    if (done)
        return;
    done = true;
    say_end();
    if (!cudart.report)
        return;
    for (const cudart_record *r = cudart.records; r; r = r->next)
        put_record(cudart.report, "kernel", r);
    if (cudart.traced)
        put_record(cudart.report, "trace", cudart.traced);
    fprintf(cudart.report,
            "{\"kind\":\"end\",\"launches\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"repeated\":%" PRIu64
            ",\"warp_instructions\":%" PRIu64 "}\n",
            cudart.launches, cudart.failed, cudart.repeated, cudart.clock);
    fclose(cudart.report);
    cudart.report = NULL;
}

__attribute__((destructor)) static void finish(void) {
    cudart_finish_report();
}
