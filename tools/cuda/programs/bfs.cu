// Breadth-first search over a graph of a file, level after level until a device variable says that no node was new.
// Arguments: bfs.txt 0

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <queue>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t error = (call);                                                           \
        if (error != cudaSuccess) {                                                           \
            fprintf(stderr, "%s at line %d: %s\n", #call, __LINE__, cudaGetErrorString(error)); \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

struct Node {
    int first;
    int degree;
};

__device__ bool more;

__global__ void expand(const Node *nodes, const int *edges, const bool *frontier, const bool *visited, bool *next,
                       int *cost, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n && frontier[node]) {
        for (int i = nodes[node].first; i < nodes[node].first + nodes[node].degree; i++) {
            int other = edges[i];
            if (!visited[other]) {
                cost[other] = cost[node] + 1;
                next[other] = true;
            }
        }
    }
}

__global__ void settle(bool *frontier, bool *visited, bool *next, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n) {
        frontier[node] = next[node];
        if (next[node]) {
            visited[node] = true;
            next[node] = false;
            more = true;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s GRAPH SOURCE\n", argv[0]);
        return 2;
    }
    std::ifstream file(argv[1]);
    int source = atoi(argv[2]), n = 0, stride = 0;
    // The number of nodes, then rules "every SIZE nodes, an edge from node I to node I * FACTOR + OFFSET".
    if (!(file >> n) || source < 0 || source >= n) {
        fprintf(stderr, "no graph in %s\n", argv[1]);
        return 2;
    }
    std::vector<std::vector<int>> lists(n);
    long factor, offset;
    while (file >> stride >> factor >> offset)
        for (int node = 0; node < n; node += stride)
            lists[node].push_back((int)((node * factor + offset) % n));
    std::vector<Node> nodes(n);
    std::vector<int> edges;
    for (int node = 0; node < n; node++) {
        nodes[node] = Node{(int)edges.size(), (int)lists[node].size()};
        edges.insert(edges.end(), lists[node].begin(), lists[node].end());
    }

    Node *d_nodes;
    int *d_edges, *d_cost;
    bool *d_frontier, *d_visited, *d_next;
    CHECK(cudaMalloc(&d_nodes, n * sizeof(Node)));
    CHECK(cudaMalloc(&d_edges, edges.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_cost, n * sizeof(int)));
    CHECK(cudaMalloc(&d_frontier, n));
    CHECK(cudaMalloc(&d_visited, n));
    CHECK(cudaMalloc(&d_next, n));
    CHECK(cudaMemcpy(d_nodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_edges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_cost, -1, n * sizeof(int)));
    CHECK(cudaMemset(d_frontier, 0, n));
    CHECK(cudaMemset(d_visited, 0, n));
    CHECK(cudaMemset(d_next, 0, n));
    const int zero = 0;
    const bool yes = true, no = false;
    CHECK(cudaMemcpy(d_cost + source, &zero, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_frontier + source, &yes, 1, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_visited + source, &yes, 1, cudaMemcpyHostToDevice));

    int levels = 0, blocks = (n + 127) / 128;
    bool again;
    do {
        CHECK(cudaMemcpyToSymbol(more, &no, sizeof(bool)));
        expand<<<blocks, 128>>>(d_nodes, d_edges, d_frontier, d_visited, d_next, d_cost, n);
        settle<<<blocks, 128>>>(d_frontier, d_visited, d_next, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyFromSymbol(&again, more, sizeof(bool)));
        levels++;
    } while (again);
    std::vector<int> cost(n), wanted(n, -1);
    CHECK(cudaMemcpy(cost.data(), d_cost, n * sizeof(int), cudaMemcpyDeviceToHost));

    std::queue<int> queue({source});
    wanted[source] = 0;
    for (; !queue.empty(); queue.pop())
        for (int other : lists[queue.front()])
            if (wanted[other] < 0) {
                wanted[other] = wanted[queue.front()] + 1;
                queue.push(other);
            }
    bool right = cost == wanted;
    printf("%d nodes, %zu edges, %d levels: %s\n", n, edges.size(), levels, right ? "PASSED" : "FAILED");
    for (void *pointer : {(void *)d_nodes, (void *)d_edges, (void *)d_cost, (void *)d_frontier, (void *)d_visited, (void *)d_next})
        CHECK(cudaFree(pointer));
    return right ? 0 : 1;
}
