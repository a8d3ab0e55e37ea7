// Threads of the host that each work on the default stream of their own, beside a stream that the legacy default stream does not wait for.
// Flags: --default-stream per-thread -std=c++17
// Clang flags: -DCUDA_API_PER_THREAD_DEFAULT_STREAM -std=c++17
// Arguments: 3 2000

#include <cstdio>
#include <cstdlib>
#include <thread>
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

__global__ void step(int *values, int n, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = 3 * values[i] + add;
}

// Copies, fills, launches, events and waits on the default stream of the thread.
static void work(int number, int n, int *wrong)
{
    std::vector<int> host(n, number), result(n);
    int *values, *copy;
    cudaEvent_t begun, done;
    CHECK(cudaMalloc(&values, n * sizeof(int)));
    CHECK(cudaMalloc(&copy, n * sizeof(int)));
    CHECK(cudaMemset(copy, 0, n * sizeof(int)));
    CHECK(cudaEventCreate(&begun));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaEventRecord(begun));
    CHECK(cudaMemcpyAsync(values, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    for (int round = 0; round < 4; ++round)
        step<<<(n + 127) / 128, 128>>>(values, n, round);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(done, 0));

    // A stream that no default stream waits for goes on behind the event.
    cudaStream_t behind;
    unsigned flags;
    CHECK(cudaStreamCreateWithFlags(&behind, cudaStreamNonBlocking));
    CHECK(cudaStreamGetFlags(behind, &flags));
    CHECK(cudaStreamWaitEvent(behind, done, 0));
    CHECK(cudaMemcpyAsync(copy, values, n * sizeof(int), cudaMemcpyDeviceToDevice, behind));
    step<<<(n + 127) / 128, 128, 0, behind>>>(copy, n, 7);
    CHECK(cudaMemcpyAsync(result.data(), copy, n * sizeof(int), cudaMemcpyDeviceToHost, behind));
    CHECK(cudaStreamSynchronize(behind));
    int expected = number;
    for (int round = 0; round < 4; ++round)
        expected = 3 * expected + round;
    *wrong += flags != cudaStreamNonBlocking;
    for (int value : result)
        *wrong += value != 3 * expected + 7;

    CHECK(cudaMemcpy(result.data(), values, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int value : result)
        *wrong += value != expected;
    // The names of the default streams.
    for (cudaStream_t own : {cudaStream_t(0), cudaStreamLegacy, cudaStreamPerThread}) {
        CHECK(cudaStreamGetFlags(own, &flags));
        CHECK(cudaStreamSynchronize(own));
        *wrong += flags != 0;
    }
    CHECK(cudaStreamDestroy(behind));
    CHECK(cudaFree(values));
    CHECK(cudaFree(copy));
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 3, n = argc > 2 ? atoi(argv[2]) : 2000;
    std::vector<int> wrong(count + 1);
    std::vector<std::thread> threads;
    for (int number = 1; number <= count; ++number)
        threads.emplace_back(work, number, n, &wrong[number]);
    work(0, n, &wrong[0]);
    for (std::thread &thread : threads)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    int all = 0;
    for (int one : wrong)
        all += one;
    printf("%d threads, %d wrong values: %s\n", count + 1, all, all == 0 ? "PASSED" : "FAILED");
    return all == 0 ? 0 : 1;
}
