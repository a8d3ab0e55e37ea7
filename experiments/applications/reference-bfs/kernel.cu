// Breadth-first search by masks, two kernels a level. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void bfs1(const int *starts, const int *edges, unsigned char *mask, unsigned char *updated, const unsigned char *visited, int *distances, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && mask[i]) {
        mask[i] = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++) {
            int to = edges[k];
            if (!visited[to]) {
                distances[to] = distances[i] + 1;
                updated[to] = 1;
            }
        }
    }
}
extern "C" __global__ void bfs2(unsigned char *mask, unsigned char *updated, unsigned char *visited, unsigned char *over, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && updated[i]) {
        mask[i] = 1;
        visited[i] = 1;
        *over = 1;
        updated[i] = 0;
    }
}
