/* The cached process number. */
#include "device/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int number;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static void ask(void) {
    atomic_store_explicit(&number, (int)getpid(), memory_order_relaxed);
}

static void ask_in_children_too(void) {
    ask();
    pthread_atfork(NULL, NULL, ask);
}

int gr_process(void) {
    pthread_once(&asked, ask_in_children_too);
    return atomic_load_explicit(&number, memory_order_relaxed);
}
