// Lists that threads allocate with malloc and new and free in a later kernel; the kernels print, and the heap's size is set by the host.
// Arguments: 48

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "device_heap:%d: %s\n", __LINE__, cudaGetErrorString(e));   \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

struct Link {
    int value;
    Link *next;
    __device__ Link(int v, Link *n) : value(v), next(n) {}
};

struct Slot {
    Link *links;
    short *squares;
    int length;
};

__device__ Slot slots[128];

__global__ void allocate(int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int length = i % 5;
    Slot &slot = slots[i];
    slot.links = nullptr;
    slot.length = length;
    for (int k = 0; k < length; ++k)
        slot.links = new Link(i * 10 + k, slot.links);
    slot.squares = (short *)malloc((length + 1) * sizeof(short));
    if (!slot.squares) {
        printf("thread %d has no memory\n", i);
        return;
    }
    for (int k = 0; k <= length; ++k)
        slot.squares[k] = (short)(k * k);
}

__global__ void add_and_free(int n, int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int sum = 0;
    for (Link *link = slots[i].links; link;) {
        Link *next = link->next;
        sum += link->value;
        delete link;
        link = next;
    }
    for (int k = 0; k <= slots[i].length; ++k)
        sum += slots[i].squares[k];
    free(slots[i].squares);
    sums[i] = sum;
    if (i % 16 == 7)
        printf("thread %d of block %u: %d links, sum %d, half %.2f %s\n", i, blockIdx.x, slots[i].length, sum, sum / 2.0,
               sum > 200 ? "much" : "little");
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 48;
    if (n < 1 || n > 128)
        return 2;
    size_t heap = 0, buffer = 0;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    CHECK(cudaDeviceGetLimit(&buffer, cudaLimitPrintfFifoSize));
    int *d_sums;
    CHECK(cudaMalloc(&d_sums, n * sizeof(int)));
    CHECK(cudaMemset(d_sums, 0, n * sizeof(int)));
    std::vector<int> sums(n);
    int errors = heap < (4 << 20) || buffer == 0;
    for (int round = 0; round < 2; ++round) {
        allocate<<<(n + 31) / 32, 32>>>(n);
        CHECK(cudaGetLastError());
        add_and_free<<<(n + 31) / 32, 32>>>(n, d_sums);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(sums.data(), d_sums, n * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; ++i) {
            int wanted = 0;
            for (int k = 0; k < i % 5; ++k)
                wanted += i * 10 + k;
            for (int k = 0; k <= i % 5; ++k)
                wanted += k * k;
            errors += sums[i] != wanted;
        }
    }
    CHECK(cudaFree(d_sums));
    printf("heap of %zu bytes, %d errors: %s\n", heap, errors, errors ? "FAILED" : "PASSED");
    return errors ? 1 : 0;
}
