/* Put in front of the C library (LD_PRELOAD): what one shared object allocates is counted, and the n-th time
 * it fails. Whoever else allocates sees nothing of this. For glibc, whose own functions have second names. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

enum { SLOTS = 1 << 20, REMOVED = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t low, high;         /* where the code lies that is watched */
static long countdown, hits, calls; /* the allocation to fail; those that failed; all */
static long live;                   /* blocks that the watched code has allocated and not freed */
static uintptr_t blocks[SLOTS];     /* which these are, by open addressing */
static int (*real_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static FILE *(*real_open)(const char *, const char *);

__attribute__((constructor)) static void find_the_real_ones(void) {
    *(void **)&real_thread = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&real_open = dlsym(RTLD_NEXT, "fopen");
}

static int look_at(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    if (strstr(info->dlpi_name, name) == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            low = info->dlpi_addr + header->p_vaddr;
            high = low + header->p_memsz;
        }
    }
    return 1;
}

/* Watches the loaded object of that name; 0 if there is none. */
int faults_watch(const char *name) {
    return dl_iterate_phdr(look_at, (void *)(uintptr_t)name) != 0;
}

/* The n-th allocation from now fails; none for 0. */
void faults_arm(long n) {
    pthread_mutex_lock(&lock);
    countdown = n;
    hits = calls = 0;
    pthread_mutex_unlock(&lock);
}

long faults_hits(void) {
    return hits;
}

long faults_calls(void) {
    return calls;
}

long faults_live(void) {
    return live;
}

static bool watched(const void *caller) {
    return (uintptr_t)caller >= low && (uintptr_t)caller < high;
}

static bool fails(void) {
    pthread_mutex_lock(&lock);
    ++calls;
    const bool now = countdown > 0 && --countdown == 0;
    hits += now;
    pthread_mutex_unlock(&lock);
    if (now)
        errno = ENOMEM;
    return now;
}

static size_t slot_of(uintptr_t block) {
    return (size_t)(block >> 4) * 0x9E3779B97F4A7C15u >> 44;
}

static void *note(void *memory) {
    if (memory == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    size_t slot = slot_of((uintptr_t)memory);
    while (blocks[slot] > REMOVED)
        slot = (slot + 1) % SLOTS;
    blocks[slot] = (uintptr_t)memory;
    ++live;
    pthread_mutex_unlock(&lock);
    return memory;
}

static void forget(const void *memory) {
    pthread_mutex_lock(&lock);
    size_t slot = slot_of((uintptr_t)memory);
    while (live > 0 && blocks[slot] != 0 && blocks[slot] != (uintptr_t)memory)
        slot = (slot + 1) % SLOTS;
    if (live > 0 && blocks[slot] == (uintptr_t)memory) {
        blocks[slot] = blocks[(slot + 1) % SLOTS] == 0 ? 0 : REMOVED;
        --live;
    }
    pthread_mutex_unlock(&lock);
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes) {
    if (!watched(CALLER))
        return __libc_malloc(bytes);
    return fails() ? NULL : note(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes) {
    if (!watched(CALLER))
        return __libc_calloc(count, bytes);
    return fails() ? NULL : note(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes) {
    if (!watched(CALLER))
        return __libc_realloc(memory, bytes);
    if (fails())
        return NULL;
    if (memory != NULL)
        forget(memory);
    return note(__libc_realloc(memory, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    if (!watched(CALLER))
        return __libc_memalign(alignment, bytes);
    return fails() ? NULL : note(__libc_memalign(alignment, bytes));
}

static char *copy(const char *text, size_t length, bool counted) {
    if (counted && fails())
        return NULL;
    char *out = __libc_malloc(length + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, text, length);
    out[length] = '\0';
    return counted ? note(out) : out;
}

char *strdup(const char *text) {
    return copy(text, strlen(text), watched(CALLER));
}

char *strndup(const char *text, size_t length) {
    return copy(text, strnlen(text, length), watched(CALLER));
}

void free(void *memory) {
    if (memory != NULL)
        forget(memory);
    __libc_free(memory);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
    return watched(CALLER) && fails() ? EAGAIN : real_thread(thread, attributes, start, arg);
}

FILE *fopen(const char *path, const char *mode) {
    return watched(CALLER) && fails() ? NULL : real_open(path, mode);
}
