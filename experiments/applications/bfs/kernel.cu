// Distances from a node of a graph in compressed rows, level by level, after the structure of Rodinia's BFS: one kernel
// visits the neighbours of the frontier, another makes the nodes that it found the next frontier and says whether there
// were any.
#include "../cuda.h"

extern "C" __global__ void visit(const unsigned *starts, const unsigned *edges, unsigned char *frontier,
                                 unsigned char *found, const unsigned char *visited, int *distance, unsigned *more,
                                 int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    // No thread of this kernel sets the flag, so it is cleared for the one that follows.
    if (node == 0) *more = 0;
    if (node >= nodes || !frontier[node]) return;
    frontier[node] = 0;
    for (unsigned i = starts[node]; i < starts[node + 1]; i++) {
        const unsigned other = edges[i];
        if (!visited[other]) {
            // Several threads may write here; all write the same. As published, the node's own distance is read for every
            // edge: it might be what was just written.
            distance[other] = distance[node] + 1;
            found[other] = 1;
        }
    }
}

extern "C" __global__ void advance(unsigned char *frontier, unsigned char *found, unsigned char *visited,
                                   unsigned *more, int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || !found[node]) return;
    found[node] = 0;
    frontier[node] = 1;
    visited[node] = 1;
    *more = 1;
}
