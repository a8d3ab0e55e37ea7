// Managed memory as source and destination of copies and fills in every direction, mixed with writes of the host and of kernels.
// Arguments: 64

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t e = (call);                                                              \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "managed_copies:%d: %s\n", __LINE__, cudaGetErrorString(e));     \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

__global__ void add_one(int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] += 1;
}

static int failures = 0;

static void expect(const char *name, const int *values, int n, std::function<int(int)> wanted)
{
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += values[i] != wanted(i);
    if (wrong)
        printf("%s: %d of %d wrong, first is %d\n", name, wrong, n, values[0]);
    failures += wrong != 0;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 64, blocks = (n + 31) / 32;
    const size_t bytes = n * sizeof(int);
    std::vector<int> host(n), back(n);
    int *managed, *device;
    CHECK(cudaMallocManaged(&managed, bytes));
    CHECK(cudaMalloc(&device, bytes));
    for (int i = 0; i < n; ++i) {
        host[i] = i;
        managed[i] = -1;
    }

    CHECK(cudaMemcpy(managed, host.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    expect("the host sees a copy to the device", managed, n, [](int i) { return i; });
    add_one<<<blocks, 32>>>(managed, n);
    CHECK(cudaDeviceSynchronize());
    expect("a kernel sees a copy to the device", managed, n, [](int i) { return i + 1; });

    for (int i = 0; i < n; ++i)
        managed[i] = 50 + i;
    CHECK(cudaMemcpy(back.data(), managed, bytes, cudaMemcpyDeviceToHost));
    expect("a copy to the host sees what the host wrote", back.data(), n, [](int i) { return 50 + i; });

    for (int i = 0; i < n; ++i)
        managed[i] = 90 - i;
    CHECK(cudaMemcpy(device, managed, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
    expect("a copy on the device sees what the host wrote", back.data(), n, [](int i) { return 90 - i; });

    CHECK(cudaMemcpy(device, host.data(), bytes, cudaMemcpyDefault));
    add_one<<<blocks, 32>>>(device, n);
    CHECK(cudaMemcpy(managed, device, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaDeviceSynchronize());
    expect("the host sees a copy on the device", managed, n, [](int i) { return i + 1; });

    CHECK(cudaMemset(managed, 0, bytes));
    CHECK(cudaMemset(managed + n / 2, 0xff, bytes / 2));
    add_one<<<blocks, 32>>>(managed, n);
    CHECK(cudaDeviceSynchronize());
    expect("a kernel sees fills", managed, n, [n](int i) { return i < n / 2 ? 1 : 0; });

    // Zeros that the host wrote are there, too, though nothing seems to change.
    int *counter;
    CHECK(cudaMallocManaged(&counter, sizeof(int)));
    *counter = 0;
    for (int round = 0; round < 3; ++round)
        add_one<<<1, 1>>>(counter, 1);
    CHECK(cudaDeviceSynchronize());
    expect("a counter from zero", counter, 1, [](int) { return 3; });

    CHECK(cudaMemcpy(managed, host.data(), bytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(back.data(), managed, bytes, cudaMemcpyDefault));
    expect("copies whose direction the addresses say", back.data(), n, [](int i) { return i; });
    CHECK(cudaFree(counter));
    CHECK(cudaFree(managed));
    CHECK(cudaFree(device));
    printf("%d steps wrong: %s\n", failures, failures ? "FAILED" : "PASSED");
    return failures ? 1 : 0;
}
