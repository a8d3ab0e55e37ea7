// A saxpy in chunks over several streams, with pinned memory, asynchronous copies, events between streams and a callback of the host.
// Arguments: 4096 4

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t status = (call);                                                                   \
        if (status != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));            \
            exit(EXIT_FAILURE);                                                                        \
        }                                                                                              \
    } while (0)

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Adds the ends of all chunks: it has to wait for every stream.
__global__ void add_ends(int chunks, int chunk, const float *y, float *sum)
{
    float total = 0.0f;
    for (int c = 0; c < chunks; ++c)
        total += y[(c + 1) * chunk - 1];
    *sum = total;
}

static void CUDART_CB count_done(void *counter)
{
    ++*static_cast<int *>(counter);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4096;
    int chunks = argc > 2 ? atoi(argv[2]) : 4;
    int chunk = n / chunks;
    n = chunk * chunks;
    const float a = 2.5f;

    float *x, *y, *sum;
    CHECK(cudaMallocHost(&x, n * sizeof(float)));
    CHECK(cudaHostAlloc(&y, n * sizeof(float), cudaHostAllocDefault));
    CHECK(cudaMallocHost(&sum, sizeof(float)));
    std::vector<float> wanted(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i % 97);
        y[i] = static_cast<float>(i % 31) * 0.5f;
        wanted[i] = a * x[i] + y[i];
    }
    float *dx, *dy, *dsum;
    CHECK(cudaMalloc(&dx, n * sizeof(float)));
    CHECK(cudaMalloc(&dy, n * sizeof(float)));
    CHECK(cudaMalloc(&dsum, sizeof(float)));

    std::vector<cudaStream_t> streams(chunks);
    std::vector<cudaEvent_t> ready(chunks);
    std::vector<int> done(chunks, 0);
    cudaStream_t last;
    cudaEvent_t start, stop;
    CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, 0));
    for (int c = 0; c < chunks; ++c) {
        CHECK(cudaStreamCreate(&streams[c]));
        CHECK(cudaEventCreateWithFlags(&ready[c], cudaEventDisableTiming));
        int at = c * chunk;
        size_t bytes = chunk * sizeof(float);
        CHECK(cudaMemcpyAsync(dx + at, x + at, bytes, cudaMemcpyHostToDevice, streams[c]));
        CHECK(cudaMemcpyAsync(dy + at, y + at, bytes, cudaMemcpyHostToDevice, streams[c]));
        saxpy<<<(chunk + 127) / 128, 128, 0, streams[c]>>>(chunk, a, dx + at, dy + at);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(ready[c], streams[c]));
        CHECK(cudaStreamWaitEvent(last, ready[c], 0));
        CHECK(cudaMemcpyAsync(y + at, dy + at, bytes, cudaMemcpyDeviceToHost, streams[c]));
        CHECK(cudaLaunchHostFunc(streams[c], count_done, &done[c]));
    }
    add_ends<<<1, 1, 0, last>>>(chunks, chunk, dy, dsum);
    CHECK(cudaMemcpyAsync(sum, dsum, sizeof(float), cudaMemcpyDeviceToHost, last));
    CHECK(cudaEventRecord(stop, last));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaDeviceSynchronize());
    float milliseconds = 0.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));

    int errors = 0;
    float ends = 0.0f;
    for (int i = 0; i < n; ++i)
        errors += y[i] != wanted[i];
    for (int c = 0; c < chunks; ++c) {
        ends += wanted[(c + 1) * chunk - 1];
        errors += done[c] != 1;
        CHECK(cudaEventDestroy(ready[c]));
        CHECK(cudaStreamDestroy(streams[c]));
    }
    errors += *sum != ends;
    CHECK(cudaStreamDestroy(last));
    CHECK(cudaFree(dx));
    CHECK(cudaFree(dy));
    CHECK(cudaFree(dsum));
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    CHECK(cudaFreeHost(sum));
    printf("%d elements in %d streams, %.3f ms: %s\n", n, chunks, milliseconds, errors ? "FAILED" : "PASSED");
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
