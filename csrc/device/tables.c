/* Implements tables.h. A table that is dropped may still be read by enqueued work, so its memory is freed
   after the device was synchronized, like the memory of results that several streams use. */
#include "device/tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/process.h"

/* Limits of the tables that no graph reads; the last one is kept in any case. */
enum { MAX_TABLES = 16, MAX_TABLE_BYTES = 8 << 20 };

struct gr_table {
    gr_table *next;
    gr_device *device;
    gr_allocation *memory;
    size_t bytes;
    unsigned users; /* calls that are about to enqueue work */
    int process;
    bool captured;
    _Alignas(8) unsigned char content[];
};

/* A list, the most recently used table first. */
struct gr_tables {
    gr_table *first;
    pthread_mutex_t lock;
};

gr_tables *gr_tables_open(void) {
    gr_tables *tables = calloc(1, sizeof *tables);
    if (tables != NULL)
        pthread_mutex_init(&tables->lock, NULL);
    return tables;
}

/* A forked child leaves the memory to its parent. */
static void free_table(gr_table *table) {
    if (table->process == gr_process())
        gr_allocation_release(table->memory, true);
    free(table);
}

void gr_tables_close(gr_tables *tables) {
    if (tables == NULL)
        return;
    for (gr_table *table = tables->first, *next; table != NULL; table = next) {
        next = table->next;
        free_table(table);
    }
    pthread_mutex_destroy(&tables->lock);
    free(tables);
}

gr_devptr gr_table_address(const gr_table *table) {
    return table->memory->address;
}

static bool is_table_of(const gr_table *table, const gr_device *device, const void *content, size_t bytes) {
    return table->device == device && table->bytes == bytes && table->process == gr_process() &&
           memcmp(table->content, content, bytes) == 0;
}

/* Moves the table with this content to the front, and adds a user. NULL: there is none. */
static gr_table *find(gr_tables *tables, const gr_device *device, const void *content, size_t bytes,
                      bool captured) {
    pthread_mutex_lock(&tables->lock);
    gr_table **link = &tables->first;
    while (*link != NULL && !is_table_of(*link, device, content, bytes))
        link = &(*link)->next;
    gr_table *found = *link;
    if (found != NULL) {
        *link = found->next;
        found->next = tables->first;
        tables->first = found;
        found->captured = found->captured || captured;
        ++found->users;
    }
    pthread_mutex_unlock(&tables->lock);
    return found;
}

/* Drops the tables behind the limits that neither a call nor a graph uses. */
static void drop_old(gr_tables *tables) {
    size_t count = 0, bytes = 0;
    for (gr_table **link = &tables->first; *link != NULL;) {
        gr_table *table = *link;
        if (!table->captured) {
            ++count;
            bytes += table->bytes;
        }
        const bool within = count <= 1 || (count <= MAX_TABLES && bytes <= MAX_TABLE_BYTES);
        if (within || table->captured || table->users > 0) {
            link = &table->next;
            continue;
        }
        *link = table->next;
        free_table(table);
    }
}

/* Copies a table to the device in its internal stream, which waits for no other work. */
static gr_status make(gr_device *device, const void *content, size_t bytes, gr_table **out, gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_stream stream = backend->internal_stream;
    gr_table *table = malloc(sizeof *table + bytes);
    if (table == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a table");
    *table = (gr_table){.device = device, .bytes = bytes, .users = 1, .process = gr_process()};
    memcpy(table->content, content, bytes);
    gr_status status = gr_allocation_new(device, stream, bytes, &table->memory, error);
    if (status != GR_OK) {
        free(table);
        return status;
    }
    status = backend->upload(backend, stream, table->memory->address, table->content, bytes, error);
    if (status == GR_OK)
        status = backend->wait(backend, stream, error);
    if (status != GR_OK) {
        free_table(table);
        return status;
    }
    *out = table;
    return GR_OK;
}

gr_status gr_table_acquire(gr_tables *tables, gr_device *device, const void *content, size_t bytes,
                           bool captured, gr_table **out, gr_error *error) {
    *out = find(tables, device, content, bytes, captured);
    if (*out != NULL)
        return GR_OK;
    const gr_status status = make(device, content, bytes, out, error);
    if (status != GR_OK)
        return status;
    (*out)->captured = captured;
    pthread_mutex_lock(&tables->lock);
    (*out)->next = tables->first;
    tables->first = *out;
    drop_old(tables);
    pthread_mutex_unlock(&tables->lock);
    return GR_OK;
}

void gr_table_release(gr_tables *tables, gr_table *table) {
    if (table == NULL)
        return;
    pthread_mutex_lock(&tables->lock);
    --table->users;
    pthread_mutex_unlock(&tables->lock);
}
