// Limits that a program sets for its kernels: deeper recursion, blocks of a larger heap, and text that has room. What it may not set, it is told.
// Arguments: 24
// Machines: gtx480,titanx-sm6

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

static int failures = 0;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    printf("not so: %s\n", what);
    ++failures;
}

#define EXPECT(condition) expect((condition), #condition)

static size_t limit(cudaLimit which)
{
    size_t value = 0;
    EXPECT(cudaDeviceGetLimit(&value, which) == cudaSuccess);
    return value;
}

// Each thread takes a block of the heap, writes its ends, and gives it back.
__global__ void reserve(int *found, size_t bytes)
{
    void *block = malloc(bytes);
    found[threadIdx.x] = block != nullptr;
    if (block != nullptr) {
        volatile char *place = static_cast<volatile char *>(block);
        place[0] = 1;
        place[bytes - 1] = 2;
        free(block);
    }
}

// Each call needs a frame of its own.
__device__ __noinline__ int descend(int x, int depth)
{
    volatile int frame[16];
    frame[x & 15] = x;
    return x >= depth ? frame[x & 15] : descend(x + 1, depth) + (frame[x & 15] - x);
}

__global__ void recurse(int *result, int depth)
{
    result[threadIdx.x] = descend(0, depth);
}

__global__ void say(int lines)
{
    for (int i = 0; i < lines; ++i)
        printf("line %d\n", i);
}

int main(int argc, char **argv)
{
    const size_t MIB = 1 << 20;
    const size_t wanted = (argc > 1 ? atoi(argv[1]) : 24) * MIB;
    EXPECT(limit(cudaLimitStackSize) == 1024);
    EXPECT(limit(cudaLimitMallocHeapSize) == 8 * MIB);
    EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * wanted) == cudaSuccess);
    EXPECT(limit(cudaLimitMallocHeapSize) == 2 * wanted);
    EXPECT(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 * MIB) == cudaSuccess);
    EXPECT(limit(cudaLimitPrintfFifoSize) == 2 * MIB);
    EXPECT(cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1) == cudaErrorInvalidValue);
    EXPECT(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 129) == cudaErrorInvalidValue);
    (void)cudaGetLastError();

    int *found, host[2] = {-1, -1};
    EXPECT(cudaMalloc(&found, sizeof(host)) == cudaSuccess);
    reserve<<<1, 1>>>(found, wanted);
    reserve<<<1, 1>>>(found + 1, 4 * wanted);
    EXPECT(cudaMemcpy(host, found, sizeof(host), cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(host[0] == 1 && host[1] == 0);
    EXPECT(cudaDeviceSetLimit(cudaLimitStackSize, 60001) == cudaSuccess);
    EXPECT(limit(cudaLimitStackSize) == 60016);
    EXPECT(cudaDeviceSetLimit(cudaLimitStackSize, MIB) == cudaErrorInvalidValue);
    recurse<<<1, 2>>>(found, 200);
    EXPECT(cudaMemcpy(host, found, sizeof(host), cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(host[0] == 200 && host[1] == 200);
    say<<<1, 1>>>(3);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    // Kernels use both now, so that their sizes stay.
    EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, wanted) == cudaErrorInvalidValue);
    EXPECT(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, MIB) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
    EXPECT(cudaFree(found) == cudaSuccess);
    printf("%d other limits than expected: %s\n", failures, failures == 0 ? "PASSED" : "FAILED");
    return failures == 0 ? 0 : 1;
}
