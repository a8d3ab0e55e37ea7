// Errors that a careful program provokes and handles: bad launches, bad copies and bad frees; the right work after them is right.
// Arguments: 300

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

static int failures = 0;

static void expect(cudaError_t got, cudaError_t wanted, const char *doing)
{
    if (got == wanted)
        return;
    printf("%s: %s instead of %s\n", doing, cudaGetErrorName(got), cudaGetErrorName(wanted));
    ++failures;
}

// Sizes of a launch that there are not: CUDA 13 calls them an invalid argument.
static void expect_size(cudaError_t got, const char *doing)
{
    expect(got, got == cudaErrorInvalidValue ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration, doing);
}

__global__ void square(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i] * from[i];
}

__global__ void __launch_bounds__(64) few_threads(int *to)
{
    to[threadIdx.x] = threadIdx.x;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 300;
    int devices = 0;
    expect(cudaGetDeviceCount(&devices), cudaSuccess, "count of devices");
    expect(cudaSetDevice(devices), cudaErrorInvalidDevice, "a device that is not there");
    expect(cudaGetLastError(), cudaErrorInvalidDevice, "the error is kept");
    expect(cudaGetLastError(), cudaSuccess, "until it is read");

    std::vector<int> host(n), result(n);
    for (int i = 0; i < n; ++i)
        host[i] = i - n / 2;
    int *from = nullptr, *to = nullptr;
    expect(cudaMalloc(&from, n * sizeof(int)), cudaSuccess, "cudaMalloc");
    expect(cudaMalloc(&to, n * sizeof(int)), cudaSuccess, "cudaMalloc");
    expect(cudaMemcpy(from, host.data(), n * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess, "copy");

    square<<<1, 2048>>>(from, to, n);
    expect_size(cudaPeekAtLastError(), "too many threads");
    expect_size(cudaGetLastError(), "too many threads, read");
    square<<<0, 32>>>(from, to, n);
    expect_size(cudaGetLastError(), "no blocks");
    square<<<1, dim3(4, 4, 128)>>>(from, to, n);
    expect_size(cudaGetLastError(), "too deep a block");
    square<<<dim3(1, 70000), 32>>>(from, to, n);
    expect_size(cudaGetLastError(), "too high a grid");
    square<<<1, 32, 1 << 20>>>(from, to, n);
    expect(cudaGetLastError(), cudaErrorInvalidValue, "too much shared memory");
    few_threads<<<1, 128>>>(to);
    // Versions of CUDA disagree about the code.
    if (cudaGetLastError() == cudaSuccess) {
        printf("more threads than the kernel's bounds: no error\n");
        ++failures;
    }

    void *huge = nullptr;
    expect(cudaMalloc(&huge, (size_t)1 << 60), cudaErrorMemoryAllocation, "an exbibyte");
    expect(cudaGetLastError(), cudaErrorMemoryAllocation, "an exbibyte, read");
    expect(cudaMemcpy(to, from, 4, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection, "a direction that is none");
    expect(cudaFree(nullptr), cudaSuccess, "nothing is freed");
    expect(cudaFree((char *)to + 4), cudaErrorInvalidValue, "the middle of a buffer is freed");
    expect(cudaMemcpy2D(result.data(), 8, from, 8, 16, 2, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue,
           "rows wider than their pitch");
    cudaEvent_t never, stop;
    expect(cudaEventCreate(&never), cudaSuccess, "cudaEventCreate");
    expect(cudaEventCreate(&stop), cudaSuccess, "cudaEventCreate");
    expect(cudaEventRecord(stop), cudaSuccess, "cudaEventRecord");
    float ms = 0.0f;
    expect(cudaEventElapsedTime(&ms, never, stop), cudaErrorInvalidResourceHandle, "time since an event that never was");
    (void)cudaGetLastError();
    if (strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") != 0 ||
        strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") != 0) {
        printf("names of errors are others\n");
        ++failures;
    }

    // None of these errors stays: the right launch works.
    square<<<(n + 63) / 64, 64>>>(from, to, n);
    expect(cudaGetLastError(), cudaSuccess, "a right launch");
    expect(cudaMemcpy(result.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess, "copy back");
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += result[i] != host[i] * host[i];
    cudaFree(from);
    cudaFree(to);
    bool right = failures == 0 && wrong == 0;
    printf("%d other errors than expected, %d wrong values: %s\n", failures, wrong, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
