// The cheapest way through a grid, row after row: two buffers that change places, dynamic shared memory and a ghost zone.
// Arguments: 600 20 5

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA(call) cuda_check((call), #call, __LINE__)
static inline void cuda_check(cudaError_t status, const char *call, int line)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s (%d)\n", line, call, cudaGetErrorName(status), (int)status);
        exit(2);
    }
}

// Computes `height` rows at once. A block loses one column at both sides with every row.
__global__ void rows_at_once(int height, const int *wall, const int *from, int *to, int columns, int first_row)
{
    extern __shared__ int shared[];
    int *above = shared, *here = shared + blockDim.x;
    int inner = blockDim.x - 2 * height;
    int x = (int)blockIdx.x * inner - height + (int)threadIdx.x;
    bool inside = x >= 0 && x < columns;
    above[threadIdx.x] = inside ? from[x] : INT_MAX;
    __syncthreads();
    for (int row = 0; row < height; ++row) {
        int best = INT_MAX;
        if (inside) {
            best = above[threadIdx.x];
            if (threadIdx.x > 0)
                best = min(best, above[threadIdx.x - 1]);
            if (threadIdx.x + 1 < blockDim.x)
                best = min(best, above[threadIdx.x + 1]);
            best += wall[(first_row + row) * columns + x];
        }
        here[threadIdx.x] = best;
        __syncthreads();
        int *other = above;
        above = here;
        here = other;
    }
    if (inside && threadIdx.x >= height && threadIdx.x < blockDim.x - height)
        to[x] = above[threadIdx.x];
}

int main(int argc, char *argv[])
{
    if (argc != 4) {
        printf("usage: %s COLUMNS ROWS HEIGHT\n", argv[0]);
        return 2;
    }
    const int columns = atoi(argv[1]), rows = atoi(argv[2]), height = atoi(argv[3]), block = 128;
    srand(9);
    std::vector<int> wall(columns * rows);
    for (int &cost : wall)
        cost = rand() % 10;

    int *device_wall, *result[2];
    CUDA(cudaMalloc(&device_wall, sizeof(int) * columns * (rows - 1)));
    CUDA(cudaMalloc(&result[0], sizeof(int) * columns));
    CUDA(cudaMalloc(&result[1], sizeof(int) * columns));
    CUDA(cudaMemcpy(result[0], wall.data(), sizeof(int) * columns, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(device_wall, wall.data() + columns, sizeof(int) * columns * (rows - 1), cudaMemcpyHostToDevice));

    int source = 0;
    for (int row = 0; row < rows - 1; row += height) {
        int now = std::min(height, rows - 1 - row);
        int inner = block - 2 * now;
        rows_at_once<<<(columns + inner - 1) / inner, block, 2 * block * sizeof(int)>>>(
            now, device_wall, result[source], result[!source], columns, row);
        CUDA(cudaPeekAtLastError());
        source = !source;
    }
    std::vector<int> got(columns);
    CUDA(cudaMemcpy(got.data(), result[source], sizeof(int) * columns, cudaMemcpyDeviceToHost));

    std::vector<int> wanted(wall.begin(), wall.begin() + columns), next(columns);
    for (int row = 1; row < rows; ++row) {
        for (int x = 0; x < columns; ++x) {
            int best = wanted[x];
            if (x > 0)
                best = std::min(best, wanted[x - 1]);
            if (x + 1 < columns)
                best = std::min(best, wanted[x + 1]);
            next[x] = best + wall[row * columns + x];
        }
        wanted.swap(next);
    }
    bool same = got == wanted;
    printf("cheapest way %d: %s\n", *std::min_element(got.begin(), got.end()), same ? "PASSED" : "FAILED");
    CUDA(cudaFree(device_wall));
    CUDA(cudaFree(result[0]));
    CUDA(cudaFree(result[1]));
    return same ? 0 : 1;
}
