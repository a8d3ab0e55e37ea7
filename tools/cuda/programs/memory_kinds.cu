// Kinds of memory and of copies: mapped and registered host memory, stream-ordered memory, cudaMemcpyDefault, device variables with offsets.
// Arguments: 500

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t e = (call);                                                              \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "memory_kinds:%d: %s\n", __LINE__, cudaGetErrorString(e));       \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

struct Coefficients {
    short a;
    int b[3];
};

__constant__ Coefficients coefficients[4];
__device__ int journal[64] = {5, 6, 7};
__device__ int *where;

__global__ void apply(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const Coefficients &c = coefficients[i % 4];
        to[i] = from[i] * c.a + c.b[i % 3];
    }
    if (i < 64 && i >= 3)
        journal[i] = journal[i % 3] * i;
}

__global__ void through_variable(int n, int step)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        where[i] += step;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 500;
    const size_t bytes = n * sizeof(int);
    int errors = 0;

    // Two of four elements first, and one member of another later.
    Coefficients host[4] = {{2, {1, 2, 3}}, {-3, {4, 5, 6}}, {4, {7, 8, 9}}, {-5, {10, 11, 12}}};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyToSymbol(coefficients, host, 2 * sizeof(Coefficients)));
    CHECK(cudaMemcpyToSymbolAsync(coefficients, host + 2, 2 * sizeof(Coefficients), 2 * sizeof(Coefficients),
                                  cudaMemcpyHostToDevice, stream));
    host[1].b[2] = 66;
    CHECK(cudaMemcpyToSymbolAsync(coefficients, &host[1].b[2], sizeof(int), (char *)&host[1].b[2] - (char *)host,
                                  cudaMemcpyDefault, stream));

    // Mapped memory: the kernel reads the host's, under another address perhaps.
    int *mapped, *device_view, *to;
    CHECK(cudaHostAlloc(&mapped, bytes, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CHECK(cudaHostGetDevicePointer(&device_view, mapped, 0));
    CHECK(cudaMallocAsync(&to, bytes, stream));
    CHECK(cudaMemsetAsync(to, 0, bytes, stream));
    std::vector<int> results(n);
    CHECK(cudaHostRegister(results.data(), bytes, cudaHostRegisterDefault));
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < n; ++i)
            mapped[i] = i * (round + 1) - 100;
        apply<<<(n + 63) / 64, 64, 0, stream>>>(device_view, to, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(results.data(), to, bytes, cudaMemcpyDefault, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < n; ++i)
            errors += results[i] != mapped[i] * host[i % 4].a + host[i % 4].b[i % 3];
    }
    CHECK(cudaHostUnregister(results.data()));
    CHECK(cudaFreeAsync(to, stream));

    // A device variable with an initial value, read from its middle.
    int part[10];
    CHECK(cudaMemcpyFromSymbol(part, journal, sizeof(part), 20 * sizeof(int)));
    for (int i = 0; i < 10; ++i)
        errors += part[i] != (5 + (20 + i) % 3) * (20 + i);

    // A pointer that the host puts into a device variable; rows of a wide buffer copied on the device.
    int *wide, *narrow;
    const int width = 40, rows = 9, columns = 16;
    CHECK(cudaMalloc(&wide, width * rows * sizeof(int)));
    CHECK(cudaMalloc(&narrow, columns * rows * sizeof(int)));
    std::vector<int> host_wide(width * rows), host_narrow(columns * rows);
    for (int i = 0; i < width * rows; ++i)
        host_wide[i] = i;
    CHECK(cudaMemcpy(wide, host_wide.data(), width * rows * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DAsync(narrow, columns * sizeof(int), wide + 5, width * sizeof(int), columns * sizeof(int), rows,
                            cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyToSymbol(where, &narrow, sizeof(narrow)));
    through_variable<<<1, 32>>>(columns * rows, 1000);
    CHECK(cudaMemcpy2D(&host_wide[width + 3], width * sizeof(int), narrow + columns, columns * sizeof(int),
                       columns * sizeof(int), rows - 2, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host_narrow.data(), narrow, columns * rows * sizeof(int), cudaMemcpyDeviceToHost));
    for (int row = 0; row < rows; ++row)
        for (int x = 0; x < columns; ++x) {
            errors += host_narrow[row * columns + x] != row * width + 5 + x + 1000;
            if (row > 0 && row < rows - 1)
                errors += host_wide[row * width + 3 + x] != row * width + 5 + x + 1000;
        }

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, narrow + 3));
    errors += attributes.type != cudaMemoryTypeDevice;
    CHECK(cudaPointerGetAttributes(&attributes, mapped));
    errors += attributes.type != cudaMemoryTypeHost;
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFree(wide));
    CHECK(cudaFree(narrow));
    printf("%d elements, %d errors: %s\n", n, errors, errors ? "FAILED" : "PASSED");
    return errors ? 1 : 0;
}
