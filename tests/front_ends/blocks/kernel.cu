// Modules: nvcc-sm_75 nvcc-sm_90
// The library's algorithms for blocks: a radix sort, prefix sums and a sum, in one piece of shared memory.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

extern "C" __global__ void blocks(const int *x, int *sorted, int *sums, int *total) {
    using Sort = cub::BlockRadixSort<int, 64, 4>;
    using Scan = cub::BlockScan<int, 64>;
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ union {
        Sort::TempStorage sort;
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } storage;
    int items[4];
    for (int i = 0; i < 4; i++) items[i] = x[threadIdx.x * 4 + i];
    Sort(storage.sort).Sort(items);
    for (int i = 0; i < 4; i++) sorted[threadIdx.x * 4 + i] = items[i];
    __syncthreads();
    Scan(storage.scan).InclusiveSum(items, items);
    for (int i = 0; i < 4; i++) sums[threadIdx.x * 4 + i] = items[i];
    __syncthreads();
    int sum = Reduce(storage.reduce).Reduce(items[3], [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) *total = sum;
}
