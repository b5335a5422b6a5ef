/* Graphs as lists of nodes, which graph_nodes.c stores and graph.c launches. */
#ifndef CUDART_GRAPH_NODES_H
#define CUDART_GRAPH_NODES_H

#include "cudart/cudart.h"

struct cudart_node {
    struct cudart_node *next; /* in the order in which they were added */
    cudaGraph_t graph;
    cudaGraphNode_t origin; /* of a clone: the node that it is a copy of */
    cudaGraphNode_t *needs;
    size_t need_count;
    cudart_work work;
    char *arguments; /* the bytes of a kernel's arguments */
    bool done;       /* in the current launch */
};

struct cudart_graph {
    cudaGraphNode_t nodes;
    struct cudart_graph *next; /* of all graphs, clones included */
};

bool cudart_is_graph(cudaGraph_t graph);
cudaError_t cudart_destroy_graph(cudaGraph_t graph);
cudaError_t cudart_clone_graph(cudaGraph_t *out, cudaGraph_t from);
/* Returns the node of a clone that is a copy of another graph's node. */
cudaGraphNode_t cudart_copy_of_node(cudaGraph_t clone, cudaGraphNode_t node);
/* Copies a kernel's arguments to the node, as the program may change them after the call. */
cudaError_t cudart_keep_arguments(cudaGraphNode_t node, void **arguments);

#endif
