// A column sum over tiles of dynamic shared memory above 48 KiB, which cudaFuncSetAttribute allows (64 KiB by default).
// Machines: titanx-sm6,titanx-maxwell
// Needs: sm_70
// Arguments: 200 64

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t e = (call);                                                            \
        if (e != cudaSuccess) {                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e));             \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

// Turns a tile of 128 columns around and adds up, so that the whole tile has to be there.
__global__ void sum_columns(const int *from, long long *sums, int rows, int columns, int tile_rows)
{
    extern __shared__ int tile[];
    int first = blockIdx.x * blockDim.x, column = first + threadIdx.x;
    long long sum = 0;
    for (int begin = 0; begin < rows; begin += tile_rows) {
        for (int row = 0; row < tile_rows; ++row)
            tile[row * blockDim.x + threadIdx.x] =
                begin + row < rows && column < columns ? from[(begin + row) * columns + column] : 0;
        __syncthreads();
        for (int row = tile_rows - 1; row >= 0; --row)
            sum += tile[row * blockDim.x + (blockDim.x - 1 - threadIdx.x)] * (begin + row + 1LL);
        __syncthreads();
    }
    int mirrored = first + blockDim.x - 1 - threadIdx.x;
    if (mirrored < columns)
        sums[mirrored] = sum;
}

int main(int argc, char **argv)
{
    const int rows = argc > 1 ? atoi(argv[1]) : 200, kilobytes = argc > 2 ? atoi(argv[2]) : 64;
    const int columns = 300, threads = 128, shared = kilobytes * 1024;
    const int tile_rows = shared / (threads * (int)sizeof(int));
    int most = 0, most_without = 0, device = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CHECK(cudaDeviceGetAttribute(&most_without, cudaDevAttrMaxSharedMemoryPerBlock, device));
    printf("%d bytes of shared memory wanted, %d without asking, %d at most\n", shared, most_without, most);
    if (shared > most) {
        printf("FAILED: too much for this device\n");
        return 1;
    }

    std::vector<int> input(rows * columns);
    std::vector<long long> got(columns), wanted(columns, 0);
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
            int value = input[row * columns + column] = (row * 31 + column * 17) % 101 - 50;
            wanted[column] += value * (row + 1LL);
        }
    int *d_input;
    long long *d_sums;
    CHECK(cudaMalloc(&d_input, input.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_sums, columns * sizeof(long long)));
    CHECK(cudaMemcpy(d_input, input.data(), input.size() * sizeof(int), cudaMemcpyHostToDevice));

    bool refused = true;
    const dim3 grid((columns + threads - 1) / threads);
    if (shared > most_without) {
        // Without the attribute, the launch fails and leaves no mark.
        sum_columns<<<grid, threads, shared>>>(d_input, d_sums, rows, columns, tile_rows);
        refused = cudaGetLastError() == cudaErrorInvalidValue;
    }
    CHECK(cudaFuncSetAttribute(sum_columns, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, sum_columns));
    sum_columns<<<grid, threads, shared>>>(d_input, d_sums, rows, columns, tile_rows);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), d_sums, columns * sizeof(long long), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_input));
    CHECK(cudaFree(d_sums));
    bool right = got == wanted && refused && attributes.maxDynamicSharedSizeBytes >= shared;
    printf("%d rows in tiles of %d, %s without the attribute: %s\n", rows, tile_rows, refused ? "refused" : "not refused",
           right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
