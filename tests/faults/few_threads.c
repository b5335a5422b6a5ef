/* Put in front of the C library (LD_PRELOAD): from some time on only a given number of threads can start, on
 * a machine of eight CPUs, where more are wanted. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

static int (*real_affinity)(pid_t, size_t, cpu_set_t *);
static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static atomic_int left = INT_MAX;
static atomic_int started, refused;
static atomic_bool armed;

__attribute__((constructor)) static void find_the_real_one(void) {
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&real_affinity = dlsym(RTLD_NEXT, "sched_getaffinity");
}

/* From now on; the threads that run already go on. */
void threads_allow(int count) {
    left = count;
    started = refused = 0;
    armed = true;
}

int threads_started(void) {
    return started;
}

int threads_refused(void) {
    return refused;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
    if (atomic_fetch_sub(&left, 1) > 0) {
        ++started;
        return real(thread, attributes, start, arg);
    }
    ++refused;
    return EAGAIN;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *cpus) {
    if (!armed)
        return real_affinity(process, size, cpus);
    CPU_ZERO_S(size, cpus);
    for (int cpu = 0; cpu < 8; ++cpu)
        CPU_SET_S(cpu, size, cpus);
    return 0;
}
