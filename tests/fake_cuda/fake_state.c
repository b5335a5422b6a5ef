#include "fake_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLANS = 8 };

static const char *const symbol_names[] = {
#define GR_CUDA_SYMBOL(field, symbol, parameters) #symbol,
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
};

/* Destructors of user objects that are due when the call ends. */
static struct due {
    struct due *next;
    void (*release)(void *);
    void *owned;
} * due;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t configured = PTHREAD_ONCE_INIT;
static struct plan {
    long at; /* the call number that fails; 0: free */
    enum symbol symbol;
    gr_cu_result error;
    bool sticky;
} plans[MAX_PLANS];

fake_state state = {.device_count = 1,
                    .capability_major = 9,
                    .shared_per_block = FAKE_CUDA_SHARED_OPTIN,
                    .memory_limit = (size_t)1 << 30};
_Thread_local fake_thread thread;

context *top(void) {
    return thread.depth ? thread.stack[thread.depth - 1] : NULL;
}

static enum symbol symbol_of(const char *name) {
    int s = 0;
    while (s < SYMBOL_COUNT && strcmp(symbol_names[s], name) != 0)
        s++;
    return (enum symbol)s;
}

static void add_plan(const char *name, int nth, gr_cu_result error, bool sticky) {
    enum symbol symbol = symbol_of(name);
    for (int i = 0; i < MAX_PLANS && symbol < SYMBOL_COUNT; i++) {
        if (plans[i].at == 0) {
            plans[i] = (struct plan){state.calls[symbol] + nth, symbol, error, sticky};
            return;
        }
    }
    fprintf(stderr, "fake_libcuda: cannot plan a failure of %s\n", name);
}

static void configure(void) {
    const char *text = getenv("FAKE_CUDA_DEVICES");
    if (text)
        state.device_count = atoi(text);
    if (state.device_count > MAX_DEVICES)
        state.device_count = MAX_DEVICES;
    text = getenv("FAKE_CUDA_CAPABILITY");
    if (text && sscanf(text, "%d.%d", &state.capability_major, &state.capability_minor) != 2)
        fprintf(stderr, "fake_libcuda: FAKE_CUDA_CAPABILITY is not like 9.0: %s\n", text);
    text = getenv("FAKE_CUDA_SHARED");
    if (text)
        state.shared_per_block = (unsigned)atoi(text);
    text = getenv("FAKE_CUDA_CLUSTERS");
    state.clusters = text ? atoi(text) != 0 : state.capability_major >= 9;
    text = getenv("FAKE_CUDA_MEMORY");
    if (text)
        state.memory_limit = strtoull(text, NULL, 10);
    text = getenv("FAKE_CUDA_ORDER");
    if (text)
        state.order = (unsigned)atoi(text);
    text = getenv("FAKE_CUDA_FAIL");
    char name[64], sticky[8] = "";
    int nth, error;
    if (text && sscanf(text, "%63[^:]:%d:%d:%7s", name, &nth, &error, sticky) >= 3)
        add_plan(name, nth, error, strcmp(sticky, "sticky") == 0);
    else if (text)
        fprintf(stderr, "fake_libcuda: FAKE_CUDA_FAIL is not like symbol:n:error: %s\n", text);
}

static void enter(void) {
    pthread_once(&configured, configure);
    pthread_mutex_lock(&lock);
}

static void control_set_devices(int count) {
    enter();
    state.device_count = count;
    pthread_mutex_unlock(&lock);
}

static void control_set_memory(size_t bytes) {
    enter();
    state.memory_limit = bytes;
    pthread_mutex_unlock(&lock);
}

static void control_fail(const char *name, int nth, int error, bool sticky) {
    enter();
    add_plan(name, nth, error, sticky);
    pthread_mutex_unlock(&lock);
}

static long control_calls(const char *name) {
    enter();
    long sum = 0;
    for (int s = 0; s < SYMBOL_COUNT; s++)
        if (!name || strcmp(symbol_names[s], name) == 0)
            sum += state.calls[s];
    pthread_mutex_unlock(&lock);
    return sum;
}

static fake_cuda_live control_live(void) {
    enter();
    fake_cuda_live now = {.pinned = state.live[PINNED],
                          .modules = state.live[MODULE],
                          .streams = state.live[STREAM],
                          .graphs = state.live[GRAPH],
                          .graph_execs = state.live[GRAPH_EXEC],
                          .events = state.live[EVENT],
                          .pools = state.live[POOL],
                          .owners = state.live[OWNER]};
    for (const object *o = state.objects; o; o = o->next)
        now.allocations += o->kind == ALLOCATION && !o->freed;
    for (int i = 0; i < MAX_DEVICES; i++)
        now.contexts += state.contexts[i].retained;
    pthread_mutex_unlock(&lock);
    return now;
}

static long read_long(const long *from) {
    enter();
    long value = *from;
    pthread_mutex_unlock(&lock);
    return value;
}

static long control_leaked(void) {
    return read_long(&state.leaked);
}

static void control_set_order(unsigned order) {
    enter();
    state.order = order;
    pthread_mutex_unlock(&lock);
}

static size_t control_launches(fake_cuda_launch *out, size_t size) {
    enter();
    size_t count = state.launch_count;
    for (size_t i = 0; i < size && i < count && i < MAX_LAUNCHES; i++)
        out[i] = state.launches[i];
    pthread_mutex_unlock(&lock);
    return count;
}

static void control_set_current(int device) {
    thread.stack[0] = &state.contexts[device];
    thread.depth = 1;
}

static int control_current(int *depth_out) {
    *depth_out = thread.depth;
    return thread.depth ? (int)(top() - state.contexts) : -1;
}

EXPORT const fake_cuda_controls *fake_cuda(void) {
    static const fake_cuda_controls controls = {
        .set_devices = control_set_devices,
        .set_memory = control_set_memory,
        .fail = control_fail,
        .calls = control_calls,
        .live = control_live,
        .leaked = control_leaked,
        .set_order = control_set_order,
        .launches = control_launches,
        .set_current = control_set_current,
        .current = control_current,
    };
    return &controls;
}

static gr_cu_result planned_failure(enum symbol symbol) {
    for (int i = 0; i < MAX_PLANS; i++) {
        struct plan *plan = &plans[i];
        if (plan->at == 0 || plan->symbol != symbol || plan->at != state.calls[symbol])
            continue;
        plan->at = 0;
        if (plan->sticky && top())
            top()->sticky = plan->error;
        return plan->error;
    }
    return GR_CU_SUCCESS;
}

gr_cu_result begin(enum symbol symbol, enum need need) {
    enter();
    state.calls[symbol]++;
    gr_cu_result planned = planned_failure(symbol);
    if (planned != GR_CU_SUCCESS)
        return planned;
    if (thread.in_destructor)
        return NOT_PERMITTED;
    if (need == ANYTIME)
        return GR_CU_SUCCESS;
    if (state.owner != getpid())
        return NOT_INITIALIZED;
    if (need == INITIALISED)
        return GR_CU_SUCCESS;
    if (!top() || top()->retained == 0)
        return INVALID_CONTEXT;
    if (top()->sticky != GR_CU_SUCCESS)
        return top()->sticky;
    return need == SAFE && forbidden() ? CAPTURE_UNSUPPORTED : GR_CU_SUCCESS;
}

gr_cu_result end(gr_cu_result result) {
    struct due *now = due;
    due = NULL;
    pthread_mutex_unlock(&lock);
    while (now) {
        struct due *next = now->next;
        thread.in_destructor = true;
        now->release(now->owned);
        thread.in_destructor = false;
        free(now);
        now = next;
    }
    return result;
}

object *make(kind of) {
    object *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    *o = (object){.next = state.objects, .kind = of, .context = top(), .time = -1.0};
    state.objects = o;
    state.live[of]++;
    return o;
}

object *known(kind of, const void *handle) {
    object *o = state.objects;
    while (o && !((const void *)o == handle && o->kind == of && o->context == top()))
        o = o->next;
    return o;
}

static void destroy_functions(const object *module) {
    for (object *o = state.objects, *next; o; o = next) {
        next = o->next;
        if (o->kind == FUNCTION && o->module == module)
            destroy(o);
    }
}

static void finish(const object *dead) {
    struct due *last = malloc(sizeof *last);
    if (!last)
        abort();
    *last = (struct due){due, dead->release, dead->owned};
    due = last;
}

/* Work that still needs the object is done first, where a driver would keep what it needs of it. */
void destroy(object *dead) {
    if (dead->kind == GRAPH_EXEC)
        run_until(dead->last);
    forget(dead);
    object **link = &state.objects;
    while (*link != dead)
        link = &(*link)->next;
    *link = dead->next;
    state.live[dead->kind]--;
    if (dead->kind == ALLOCATION)
        dead->context->used -= dead->bytes;
    if (dead->kind == MODULE)
        destroy_functions(dead);
    if (dead->kind == OWNER && dead->references == 0) /* else it goes with its context, and unheard */
        finish(dead);
    drop_holds(dead);
    free(dead->memory);
    free(dead->nodes);
    free(dead);
}

gr_cu_result destroy_handle(enum symbol symbol, kind of, const void *handle) {
    gr_cu_result result = begin(symbol, CONTEXT);
    object *o = result == GR_CU_SUCCESS ? known(of, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!o || (of == GRAPH && o->by)))
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS)
        destroy(o);
    return end(result);
}
