/* Graphs: work that is described once and launched many times. A launch does the work of the nodes one after
   the other, each after those that it depends on. */
#include <stdlib.h>
#include <string.h>

#include "cudart/graph_nodes.h"

struct cudart_exec {
    cudaGraph_t graph; /* a clone */
};

static cudaError_t add_dependencies(const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cudaGraphNode_t node = to[i];
        cudaGraphNode_t *grown = realloc(node->needs, (node->need_count + 2) * sizeof *grown);
        if (!grown)
            return cudaErrorMemoryAllocation;
        node->needs = grown;
        node->needs[node->need_count++] = from[i];
    }
    return cudaSuccess;
}

/* ---- launches ---- */

static cudaError_t fill_elements(const cudaMemsetParams *p) {
    char row[4096];
    ptx_error error;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < sizeof row; i += p->elementSize)
        memcpy(row + i, &p->value, p->elementSize);
    for (size_t y = 0; y < p->height; y++)
        for (size_t done = 0, bytes = p->width * p->elementSize; done < bytes; done += sizeof row) {
            const size_t count = bytes - done < sizeof row ? bytes - done : sizeof row;
            const uint64_t to = (uintptr_t)p->dst + y * p->pitch + done;
            if (ptx_memory_write(cudart.memory, to, row, count, &error) != PTX_OK)
                return cudart_refuse_as(&error);
        }
    return cudaSuccess;
}

static cudaError_t run_graph(cudaGraph_t graph);

static cudaError_t run_node(cudaGraphNode_t node) {
    const cudart_work *work = &node->work;
    switch (work->type) {
    case cudaGraphNodeTypeKernel:
        return cudart_run(&work->launch);
    case cudaGraphNodeTypeMemcpy:
        return cudart_copy_box(&work->copy);
    case cudaGraphNodeTypeMemset:
        return fill_elements(&work->fill);
    case cudaGraphNodeTypeHost: /* without the lock, as for streams */
        cudart_show_printed();
        cudart_lock(false);
        work->host.fn(work->host.userData);
        cudart_lock(true);
        return cudaSuccess;
    case cudaGraphNodeTypeGraph:
        return run_graph(work->child);
    default:
        return cudaSuccess;
    }
}

static bool is_ready(cudaGraphNode_t node) {
    bool ready = !node->done;
    for (size_t i = 0; i < node->need_count && ready; i++)
        ready = !node->needs[i] || node->needs[i]->done;
    return ready;
}

static cudaError_t run_graph(cudaGraph_t graph) {
    cudaError_t error = cudaSuccess;
    for (cudaGraphNode_t node = graph->nodes; node; node = node->next)
        node->done = false;
    for (bool progress = true; progress && error == cudaSuccess;) {
        progress = false;
        for (cudaGraphNode_t node = graph->nodes; node && error == cudaSuccess; node = node->next)
            if (is_ready(node)) {
                error = run_node(node);
                node->done = progress = true;
            }
    }
    return error;
}

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t graph) {
    struct cudart_exec *exec = calloc(1, sizeof *exec);
    if (!exec)
        return cudaErrorMemoryAllocation;
    const cudaError_t error = cudart_clone_graph(&exec->graph, graph);
    if (error != cudaSuccess) {
        free(exec);
        return error;
    }
    *out = exec;
    return cudaSuccess;
}

static cudaError_t destroy_exec(cudaGraphExec_t exec) {
    if (!exec)
        return cudaErrorInvalidValue;
    (void)cudart_destroy_graph(exec->graph);
    free(exec);
    return cudaSuccess;
}

static size_t node_count(cudaGraph_t graph) {
    size_t count = 0;
    for (cudaGraphNode_t node = graph->nodes; node; node = node->next)
        count++;
    return count;
}

enum { UPDATE_SUCCESS, UPDATE_ERROR, UPDATE_TOPOLOGY_CHANGED };

/* Takes over the work of a graph with the same nodes. */
static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result) {
    cudaGraph_t clone;
    *result = (cudaGraphExecUpdateResultInfo){.result = UPDATE_TOPOLOGY_CHANGED};
    if (!exec || !cudart_is_graph(graph))
        return cudaErrorInvalidValue;
    bool same = node_count(exec->graph) == node_count(graph);
    for (cudaGraphNode_t a = exec->graph->nodes, b = graph->nodes; same && a; a = a->next, b = b->next)
        same = a->work.type == b->work.type && a->need_count == b->need_count;
    if (!same)
        return cudaErrorGraphExecUpdateFailure;
    const cudaError_t error = cudart_clone_graph(&clone, graph);
    if (error != cudaSuccess)
        return error;
    for (cudaGraphNode_t a = exec->graph->nodes, b = clone->nodes; a; a = a->next, b = b->next)
        b->origin = a->origin; /* programs name nodes of the graph that was instantiated */
    (void)cudart_destroy_graph(exec->graph);
    exec->graph = clone;
    result->result = UPDATE_SUCCESS;
    return cudaSuccess;
}

static cudart_work kernel_work(const cudaKernelNodeParams *p) {
    return (cudart_work){.type = cudaGraphNodeTypeKernel,
                         .launch = {.function = p->func,
                                    .grid = p->gridDim,
                                    .block = p->blockDim,
                                    .dynamic_shared = p->sharedMemBytes,
                                    .arguments = p->kernelParams}};
}

static cudaError_t set_kernel(cudaGraphNode_t node, const cudaKernelNodeParams *p) {
    if (!node || node->work.type != cudaGraphNodeTypeKernel)
        return cudaErrorInvalidValue;
    free(node->work.launch.arguments);
    free(node->arguments);
    node->arguments = NULL;
    node->work = kernel_work(p);
    node->work.launch.arguments = NULL;
    return cudart_keep_arguments(node, p->kernelParams);
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream) {
    const cudaError_t error = exec ? cudart_check_stream(stream) : cudaErrorInvalidValue;
    return error == cudaSuccess ? run_graph(exec->graph) : error;
}

/* ---- the interface ---- */

CUDART_API cudaGraphCreate(cudaGraph_t *out, unsigned flags) {
    (void)flags;
    CUDART_RUN(cudart_graph_create(out));
}

CUDART_API cudaGraphDestroy(cudaGraph_t graph) {
    CUDART_RUN(cudart_destroy_graph(graph));
}

CUDART_API cudaGraphClone(cudaGraph_t *out, cudaGraph_t graph) {
    CUDART_RUN(cudart_clone_graph(out, graph));
}

CUDART_API cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                  size_t count, const cudaKernelNodeParams *p) {
    const cudart_work work = kernel_work(p);
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                  size_t count, const cudaMemcpy3DParms *p) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemcpy, .copy = *p};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                    size_t count, void *to, const void *from, size_t bytes,
                                    enum cudaMemcpyKind kind) {
    const cudart_work work = cudart_copy_work(to, from, bytes, kind);
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                  size_t count, const cudaMemsetParams *p) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemset, .fill = *p};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                size_t count, const cudaHostNodeParams *p) {
    const cudart_work work = {.type = cudaGraphNodeTypeHost, .host = *p};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                 size_t count) {
    const cudart_work work = {.type = cudaGraphNodeTypeEmpty};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                      size_t count, cudaGraph_t child) {
    const cudart_work work = {.type = cudaGraphNodeTypeGraph, .child = child};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

static cudaError_t add_allocation(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                  size_t count, cudaMemAllocNodeParams *p) {
    const cudaError_t error = cudart_allocate(&p->dptr, p->bytesize);
    const cudart_work work = {.type = cudaGraphNodeTypeMemAlloc, .address = p->dptr};
    return error == cudaSuccess ? cudart_graph_add(out, graph, needs, count, &work) : error;
}

CUDART_API cudaGraphAddMemAllocNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                    size_t count, cudaMemAllocNodeParams *p) {
    CUDART_RUN(add_allocation(out, graph, needs, count, p));
}

CUDART_API cudaGraphAddMemFreeNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                                   size_t count, void *address) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemFree, .address = address};
    CUDART_RUN(cudart_graph_add(out, graph, needs, count, &work));
}

CUDART_API cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                    const void *data, size_t count) {
    (void)data;
    CUDART_RUN(cudart_is_graph(graph) ? add_dependencies(from, to, count) : cudaErrorInvalidValue);
}

/* Without an array the number is stored, else at most that many nodes. */
static cudaError_t give_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count, bool roots) {
    size_t found = 0;
    if (!cudart_is_graph(graph) || !count)
        return cudaErrorInvalidValue;
    for (cudaGraphNode_t node = graph->nodes; node; node = node->next) {
        if (roots && node->need_count)
            continue;
        if (nodes && found < *count)
            nodes[found] = node;
        found++;
    }
    *count = found;
    return cudaSuccess;
}

CUDART_API cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    CUDART_RUN(give_nodes(graph, nodes, count, false));
}

CUDART_API cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    CUDART_RUN(give_nodes(graph, nodes, count, true));
}

static cudaError_t give_type(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    if (node)
        *type = node->work.type;
    return node ? cudaSuccess : cudaErrorInvalidValue;
}

CUDART_API cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    CUDART_RUN(give_type(node, type));
}

CUDART_API cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
    (void)flags;
    CUDART_RUN(instantiate(out, graph));
}
CUDART_ALSO(cudaGraphInstantiateWithFlags, cudaGraphInstantiate)

CUDART_API cudaGraphExecDestroy(cudaGraphExec_t exec) {
    CUDART_RUN(destroy_exec(exec));
}

CUDART_API cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                               cudaGraphExecUpdateResultInfo *result) {
    CUDART_RUN(update(exec, graph, result));
}

CUDART_API cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                            const cudaKernelNodeParams *p) {
    CUDART_RUN(exec ? set_kernel(cudart_copy_of_node(exec->graph, node), p) : cudaErrorInvalidValue);
}

CUDART_API cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *p) {
    CUDART_RUN(set_kernel(node, p));
}

CUDART_API cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    CUDART_RUN(launch(exec, stream));
}
CUDART_ALSO(cudaGraphLaunch_ptsz, cudaGraphLaunch)

CUDART_API cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    CUDART_RUN(exec ? cudart_check_stream(stream) : cudaErrorInvalidValue);
}
CUDART_ALSO(cudaGraphUpload_ptsz, cudaGraphUpload)

CUDART_API cudaDeviceGraphMemTrim(int device) {
    CUDART_RUN(device ? cudaErrorInvalidDevice : cudaSuccess);
}

static cudaError_t graph_memory(int device, uint64_t *value) {
    if (device)
        return cudaErrorInvalidDevice;
    *value = ptx_memory_used(cudart.memory);
    return cudaSuccess;
}

CUDART_API cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
    (void)attribute;
    CUDART_RUN(graph_memory(device, value));
}

/* Only the two highest values, whose numbers are odd, can be set, and only to 0. */
static cudaError_t reset_graph_memory(int device, int attribute, const uint64_t *value) {
    if (device)
        return cudaErrorInvalidDevice;
    return attribute % 2 && !*value ? cudaSuccess : cudaErrorInvalidValue;
}

CUDART_API cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
    CUDART_RUN(reset_graph_memory(device, attribute, value));
}
