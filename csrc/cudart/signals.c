/* Signals that would end the program without a report: an interrupt, an abort on the host, and an access
   to device memory on the host. */
#include <signal.h>
#include <unistd.h>

#include "cudart/cudart.h"

/* Ends the program by the signal, as without a handler. */
static void end_by(int number) {
    signal(number, SIG_DFL);
    cudart_finish_report();
    raise(number);
}

void cudart_end_by_interrupt(void) {
    end_by(SIGINT);
}

static void on_interrupt(int number) {
    if (cudart.running)
        cudart.interrupted = true; /* the launch ends, and then the program */
    else
        end_by(number);
}

static void on_abort(int number) {
    end_by(number);
}

/* Device memory is not mapped, so that host code that uses its address is stopped, as with a GPU. */
static void on_fault(int number, siginfo_t *info, void *context) {
    uint64_t start;
    size_t bytes;
    (void)context;
    signal(number, SIG_DFL);
    if (ptx_memory_find(cudart.memory, (uintptr_t)info->si_addr, &start, &bytes))
        cudart_say("host code accesses %p, byte %zu of the %zu bytes of device memory at %p: copy them by "
                   "cudaMemcpy, or allocate them by cudaMallocManaged",
                   info->si_addr, (size_t)((uintptr_t)info->si_addr - start), bytes,
                   (void *)(uintptr_t)start);
    end_by(number);
}

/* Leaves handlers of the program and of sanitizers alone. */
static void install(int number, const struct sigaction *action) {
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
        sigaction(number, action, NULL);
}

void cudart_install_handlers(void) {
    struct sigaction interrupt = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    struct sigaction abortion = {.sa_handler = on_abort};
    struct sigaction fault = {.sa_flags = SA_SIGINFO | SA_NODEFER};
    fault.sa_sigaction = on_fault;
    install(SIGINT, &interrupt);
    install(SIGABRT, &abortion);
    install(SIGSEGV, &fault);
    install(SIGBUS, &fault);
}
