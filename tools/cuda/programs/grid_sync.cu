// Odd-even sort of the whole grid in one cooperative launch with grid.sync(), in as many blocks as are resident at once.
// Needs: sm_60
// Arguments: 256

#include <algorithm>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e = (call);                                                                    \
        if (e != cudaSuccess) {                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__device__ unsigned int swaps[2];

// Rounds until one changes nothing: all blocks see the same count behind the barrier.
__global__ void sort(int *values, int n, int *rounds)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int round = 0;
    for (;; ++round) {
        unsigned int mine = 0;
        for (int phase = 0; phase < 2; ++phase) {
            for (int i = 2 * (int)grid.thread_rank() + phase; i + 1 < n; i += 2 * (int)grid.size()) {
                int a = values[i], b = values[i + 1];
                if (a > b) {
                    values[i] = b;
                    values[i + 1] = a;
                    ++mine;
                }
            }
            grid.sync();
        }
        for (int distance = warp.size() / 2; distance > 0; distance /= 2)
            mine += warp.shfl_down(mine, distance);
        if (warp.thread_rank() == 0 && mine > 0)
            atomicAdd(&swaps[round & 1], mine);
        grid.sync();
        unsigned int all = *(volatile unsigned int *)&swaps[round & 1];
        if (grid.thread_rank() == 0)
            swaps[(round + 1) & 1] = 0;
        grid.sync();
        if (all == 0)
            break;
    }
    if (grid.thread_rank() == 0)
        *rounds = round;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 256, threads = 32;
    int cooperative = 0, sms = 0, per_sm = 0;
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    if (!cooperative) {
        printf("FAILED: no cooperative launches on this device\n");
        return 1;
    }
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sort, threads, 0));
    int blocks = std::min(2, sms * per_sm);

    std::vector<int> values(n), wanted;
    for (int i = 0; i < n; ++i)
        values[i] = i + (i * 7) % 12 - 6;
    wanted = values;
    int *d_values, *d_rounds, rounds = -1;
    CHECK(cudaMalloc(&d_values, n * sizeof(int)));
    CHECK(cudaMalloc(&d_rounds, sizeof(int)));
    CHECK(cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    void *arguments[] = {&d_values, &n, &d_rounds};
    CHECK(cudaLaunchCooperativeKernel((void *)sort, dim3(blocks), dim3(threads), arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(values.data(), d_values, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&rounds, d_rounds, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_rounds));

    int wanted_rounds = 0;
    for (bool swapped = true; swapped; wanted_rounds += swapped) {
        swapped = false;
        for (int phase = 0; phase < 2; ++phase)
            for (int i = phase; i + 1 < n; i += 2)
                if (wanted[i] > wanted[i + 1]) {
                    std::swap(wanted[i], wanted[i + 1]);
                    swapped = true;
                }
    }
    bool right = values == wanted && std::is_sorted(values.begin(), values.end()) && rounds == wanted_rounds;
    printf("%d values in %d blocks, %d rounds of %d: %s\n", n, blocks, rounds, wanted_rounds, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
