/* Graphs and their nodes: made, copied and destroyed. A node keeps the work that a launch of its graph does.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/graph_nodes.h"

static cudaGraph_t graphs;

cudaError_t cudart_graph_create(cudaGraph_t *out) {
    struct cudart_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return cudaErrorMemoryAllocation;
    graph->next = graphs;
    graphs = *out = graph;
    return cudaSuccess;
}

bool cudart_is_graph(cudaGraph_t graph) {
    cudaGraph_t each = graphs;
    while (each && each != graph)
        each = each->next;
    return each != NULL;
}

bool cudart_is_graph_memory(const void *address) {
    for (cudaGraph_t graph = graphs; graph; graph = graph->next)
        for (cudaGraphNode_t node = graph->nodes; node; node = node->next)
            if (node->work.type == cudaGraphNodeTypeMemAlloc && node->work.address == address)
                return true;
    return false;
}

static void free_node(cudaGraphNode_t node) {
    if (node->work.type == cudaGraphNodeTypeGraph)
        (void)cudart_destroy_graph(node->work.child);
    free(node->work.launch.arguments);
    free(node->arguments);
    free(node->needs);
    free(node);
}

cudaError_t cudart_destroy_graph(cudaGraph_t graph) {
    if (!cudart_is_graph(graph))
        return cudaErrorInvalidValue;
    for (cudaGraph_t *at = &graphs; *at; at = &(*at)->next)
        if (*at == graph) {
            *at = graph->next;
            break;
        }
    while (graph->nodes) {
        cudaGraphNode_t node = graph->nodes;
        void *address = node->work.type == cudaGraphNodeTypeMemAlloc ? node->work.address : NULL;
        graph->nodes = node->next;
        free_node(node);
        if (address && !cudart_is_graph_memory(address)) /* no clone has it either */
            (void)cudart_release(address);
    }
    free(graph);
    return cudaSuccess;
}

cudaError_t cudart_keep_arguments(cudaGraphNode_t node, void **arguments) {
    cudart_function *f;
    const cudaError_t error = cudart_find_function(node->work.launch.function, &f);
    if (error != cudaSuccess)
        return error;
    const size_t count = ptx_kernel_param_count(f->kernel);
    char *bytes = calloc(1, ptx_kernel_param_bytes(f->kernel) + 1);
    void **pointers = calloc(count + 1, sizeof *pointers);
    if (!bytes || !pointers || (count && !arguments)) {
        free(bytes);
        free(pointers);
        return count && !arguments ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < count; i++) {
        size_t offset, size;
        ptx_kernel_param_at(f->kernel, i, &offset, &size);
        memcpy(bytes + offset, arguments[i], size);
        pointers[i] = bytes + offset;
    }
    node->arguments = bytes;
    node->work.launch.arguments = pointers;
    return cudaSuccess;
}

cudaError_t cudart_graph_add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                             size_t need_count, const cudart_work *work) {
    if (!cudart_is_graph(graph) || (need_count && !needs))
        return cudaErrorInvalidValue;
    cudaGraphNode_t node = calloc(1, sizeof *node);
    if (!node)
        return cudaErrorMemoryAllocation;
    *node = (struct cudart_node){.graph = graph, .need_count = need_count, .work = *work};
    node->needs = calloc(need_count + 1, sizeof *node->needs);
    if (node->needs && need_count)
        memcpy(node->needs, needs, need_count * sizeof *needs);
    node->work.launch.arguments = NULL;
    node->work.launch.stream = NULL;
    cudaError_t error = node->needs ? cudaSuccess : cudaErrorMemoryAllocation;
    if (error == cudaSuccess && work->type == cudaGraphNodeTypeKernel)
        error = cudart_keep_arguments(node, work->launch.arguments);
    if (error == cudaSuccess && work->type == cudaGraphNodeTypeGraph)
        error = cudart_clone_graph(&node->work.child, work->child);
    if (error != cudaSuccess) {
        node->work.type = cudaGraphNodeTypeEmpty;
        free_node(node);
        return error;
    }
    cudaGraphNode_t *end = &graph->nodes;
    while (*end)
        end = &(*end)->next;
    *end = node;
    if (out)
        *out = node;
    return cudaSuccess;
}

cudaGraphNode_t cudart_copy_of_node(cudaGraph_t clone, cudaGraphNode_t node) {
    cudaGraphNode_t each = clone->nodes;
    while (each && each->origin != node)
        each = each->next;
    return each;
}

cudaError_t cudart_clone_graph(cudaGraph_t *out, cudaGraph_t from) {
    if (!cudart_is_graph(from))
        return cudaErrorInvalidValue;
    cudaError_t error = cudart_graph_create(out);
    for (cudaGraphNode_t node = from->nodes; node && error == cudaSuccess; node = node->next) {
        cudaGraphNode_t copy;
        error = cudart_graph_add(&copy, *out, node->needs, node->need_count, &node->work);
        if (error == cudaSuccess)
            copy->origin = node;
    }
    for (cudaGraphNode_t copy = error == cudaSuccess ? (*out)->nodes : NULL; copy; copy = copy->next)
        for (size_t i = 0; i < copy->need_count; i++)
            copy->needs[i] = cudart_copy_of_node(*out, copy->needs[i]);
    return error;
}

cudart_work cudart_copy_work(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return (cudart_work){.type = cudaGraphNodeTypeMemcpy,
                         .copy = {.srcPtr = {(void *)(uintptr_t)from, bytes, bytes, 1},
                                  .dstPtr = {to, bytes, bytes, 1},
                                  .extent = {bytes, 1, 1},
                                  .kind = kind}};
}
