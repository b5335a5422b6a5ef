/* Handlers of the functions with which kernels launch kernels (CUDA dynamic parallelism). A launch is only
   recorded; the launching program runs it after the kernel. CUDA allows this order, as a kernel cannot wait
   for the kernels that it launches. */
#include <stdlib.h>

#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/heap.h"
#include "reserve.h"

enum { OUT_OF_MEMORY = 2 /* cudaErrorMemoryAllocation */ };

/* Copies a .param variable of the call. */
static ptx_status read_param(ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane, void *to,
                             unsigned bytes) {
    uint8_t *from = NULL;
    const ptx_status status =
        ptx_locate(w, in, lane, PTX_SPACE_LOCAL, ptx_further_address(w, in, operand, lane), bytes, 4, &from);
    if (status == PTX_OK)
        memcpy(to, from, bytes);
    return status;
}

static ptx_status write_result(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 value, unsigned bytes) {
    uint8_t *to = NULL;
    const ptx_status status =
        ptx_locate(w, in, lane, PTX_SPACE_LOCAL, ptx_further_address(w, in, 0, lane), bytes, bytes, &to);
    if (status == PTX_OK)
        memcpy(to, &value, bytes);
    return status;
}

static const ptx_kernel *find_kernel(const ptx_warp *w, u64 address) {
    const ptx_module *module = w->worker->kernel->module;
    const u64 index = address - PTX_KERNEL_WINDOW;
    return index < module->kernel_count ? module->kernels[index] : NULL;
}

/* Adds a launch with a buffer; returns the buffer's address, 0 if there is no memory. */
static u64 add_launch(ptx_heap *heap, const ptx_device_launch *launch) {
    u64 buffer = 0;
    pthread_mutex_lock(&heap->lock);
    if (ptx_reserve(&heap->launches, &heap->launch_capacity, heap->launch_count, sizeof *heap->launches) &&
        (buffer = ptx_heap_take(heap, PTX_DEVICE_PARAMS)))
        heap->launches[heap->launch_count++] = (ptx_heap_launch){.launch = *launch, .buffer = buffer};
    pthread_mutex_unlock(&heap->lock);
    return buffer;
}

/* Operands: the buffer, the kernel's address, grid, block, bytes of dynamic shared memory. */
PTX_LANE_HANDLER(launch_buffer) {
    ptx_heap *heap = w->worker->run->config->heap;
    ptx_device_launch launch = {.kernel = NULL};
    u64 address = 0;
    u32 shared = 0;
    ptx_status status = read_param(w, in, 2, lane, &address, sizeof address);
    if (status == PTX_OK)
        status = read_param(w, in, 4, lane, launch.grid, sizeof launch.grid);
    if (status == PTX_OK)
        status = read_param(w, in, 6, lane, launch.block, sizeof launch.block);
    if (status == PTX_OK)
        status = read_param(w, in, 8, lane, &shared, sizeof shared);
    if (status != PTX_OK)
        return status;
    if (!heap)
        return ptx_fault(w, in, (int)lane, PTX_ERR_UNSUPPORTED,
                         "this launch has no heap for further launches");
    launch.kernel = find_kernel(w, address);
    launch.dynamic_shared_bytes = shared;
    if (!launch.kernel)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "0x%llx is not the address of a kernel",
                         (unsigned long long)address);
    return write_result(w, in, lane, add_launch(heap, &launch), sizeof(u64));
}

static ptx_heap_launch *find_launch(ptx_heap *heap, u64 buffer) {
    for (size_t i = heap->launch_count; buffer && i-- > 0;)
        if (heap->launches[i].buffer == buffer)
            return &heap->launches[i];
    return NULL;
}

/* Operands: the result, the buffer, the stream. The parameters are copied, and the buffer is free again. */
PTX_LANE_HANDLER(launch_device) {
    ptx_heap *heap = w->worker->run->config->heap;
    u64 buffer = 0;
    uint8_t *from = NULL;
    ptx_status status = read_param(w, in, 2, lane, &buffer, sizeof buffer);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, PTX_SPACE_GENERIC, buffer, PTX_DEVICE_PARAMS, 8, &from);
    if (status != PTX_OK)
        return status;
    void *params = malloc(PTX_DEVICE_PARAMS);
    pthread_mutex_lock(&heap->lock);
    ptx_heap_launch *launch = find_launch(heap, buffer);
    if (launch && params) {
        memcpy(params, from, PTX_DEVICE_PARAMS);
        launch->params = params;
        launch->launch.order = ++heap->launch_number;
        launch->buffer = 0;
        (void)ptx_heap_give_back(heap, buffer);
    }
    pthread_mutex_unlock(&heap->lock);
    if (!launch)
        free(params);
    if (!launch)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "0x%llx is not a buffer of a launch",
                         (unsigned long long)buffer);
    return write_result(w, in, lane, params ? 0 : OUT_OF_MEMORY, sizeof(u32));
}

/* Streams of a kernel have no effect, as the launches run in their order. Operands: the result, the address
   of the handle. */
PTX_LANE_HANDLER(launch_stream) {
    static const u64 handle = 1;
    u64 to = 0;
    uint8_t *host = NULL;
    ptx_status status = read_param(w, in, 2, lane, &to, sizeof to);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, PTX_SPACE_GENERIC, to, sizeof handle, sizeof handle, &host);
    if (status == PTX_OK)
        memcpy(host, &handle, sizeof handle);
    return status == PTX_OK ? write_result(w, in, lane, 0, sizeof(u32)) : status;
}

PTX_LANE_HANDLER(launch_success) {
    return write_result(w, in, lane, 0, sizeof(u32));
}

/* Launches by kernels leave no error, so that their text is empty. */
PTX_LANE_HANDLER(launch_error_text) {
    return write_result(w, in, lane, 0, sizeof(u64));
}

/* Operands: the result, destination, source, bytes, kind, stream. */
PTX_LANE_HANDLER(launch_copy) {
    ptx_heap *heap = w->worker->run->config->heap;
    u64 *params = heap ? calloc(1, PTX_DEVICE_PARAMS) : NULL;
    ptx_status status =
        params ? PTX_OK
               : ptx_fault(w, in, (int)lane, PTX_ERR_UNSUPPORTED, "this launch has no memory for the copy");
    for (unsigned i = 0; i < 3 && status == PTX_OK; i++)
        status = read_param(w, in, 2 + 2 * i, lane, &params[i], sizeof params[i]);
    if (status != PTX_OK) {
        free(params);
        return status;
    }
    pthread_mutex_lock(&heap->lock);
    const bool added =
        ptx_reserve(&heap->launches, &heap->launch_capacity, heap->launch_count, sizeof *heap->launches);
    if (added)
        heap->launches[heap->launch_count++] =
            (ptx_heap_launch){.launch = {.order = ++heap->launch_number}, .params = params};
    pthread_mutex_unlock(&heap->lock);
    if (!added)
        free(params);
    return write_result(w, in, lane, added ? 0 : OUT_OF_MEMORY, sizeof(u32));
}

/* ---- memory ---- */

/* Operands: the result, the address of the pointer, bytes. */
PTX_LANE_HANDLER(device_malloc) {
    ptx_heap *heap = w->worker->run->config->heap;
    u64 to = 0, bytes = 0, address;
    uint8_t *host = NULL;
    ptx_status status = read_param(w, in, 2, lane, &to, sizeof to);
    if (status == PTX_OK)
        status = read_param(w, in, 4, lane, &bytes, sizeof bytes);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, PTX_SPACE_GENERIC, to, sizeof to, sizeof to, &host);
    if (status != PTX_OK)
        return status;
    if (!heap)
        return ptx_fault(w, in, (int)lane, PTX_ERR_UNSUPPORTED, "this launch has no heap for cudaMalloc");
    pthread_mutex_lock(&heap->lock);
    address = ptx_heap_take(heap, bytes);
    pthread_mutex_unlock(&heap->lock);
    memcpy(host, &address, sizeof address);
    return write_result(w, in, lane, address || !bytes ? 0 : OUT_OF_MEMORY, sizeof(u32));
}

/* Operands: the result, the pointer. */
PTX_LANE_HANDLER(device_free) {
    enum { INVALID_VALUE = 1 };
    ptx_heap *heap = w->worker->run->config->heap;
    u64 address = 0;
    const ptx_status status = read_param(w, in, 2, lane, &address, sizeof address);
    bool known = !address;
    if (status != PTX_OK)
        return status;
    if (heap && address) {
        pthread_mutex_lock(&heap->lock);
        known = ptx_heap_give_back(heap, address);
        pthread_mutex_unlock(&heap->lock);
    }
    return write_result(w, in, lane, known ? 0 : INVALID_VALUE, sizeof(u32));
}

/* ---- for the program that launched ---- */

bool ptx_heap_next_launch(ptx_heap *heap, ptx_device_launch *out, void *params) {
    ptx_heap_launch *next = NULL;
    for (size_t i = 0; heap && i < heap->launch_count; i++)
        if (heap->launches[i].params && (!next || heap->launches[i].launch.order < next->launch.order))
            next = &heap->launches[i];
    if (!next)
        return false;
    *out = next->launch;
    memcpy(params, next->params, PTX_DEVICE_PARAMS);
    free(next->params);
    *next = heap->launches[--heap->launch_count];
    return true;
}
