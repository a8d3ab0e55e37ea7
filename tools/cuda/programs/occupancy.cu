// A template of a kernel over functors whose block size the occupancy functions choose, fixed and by a function of shared memory.
// Arguments: 3000

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t e = (call);                                                          \
        if (e != cudaSuccess) {                                                          \
            fprintf(stderr, "occupancy:%d: %s\n", __LINE__, cudaGetErrorString(e));      \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

struct Affine {
    float scale, shift;
    __host__ __device__ float operator()(float x) const { return scale * x + shift; }
};

struct Wave {
    float frequency;
    __host__ __device__ float operator()(float x) const { return sinf(frequency * x) * 0.5f; }
};

template <typename F> __global__ void map(const float *from, float *to, int n, F f)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = f(from[i]);
}

// Takes each value from the thread on the other side of the block.
__global__ void mirror(const float *from, float *to, int n)
{
    extern __shared__ float block[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    block[threadIdx.x] = i < n ? from[i] : 0.0f;
    __syncthreads();
    if (i < n)
        to[i] = block[blockDim.x - 1 - threadIdx.x];
}

template <typename F> int test(const char *name, const std::vector<float> &values, float *from, float *to, F f)
{
    int n = (int)values.size(), blocks = 0, threads = 0, resident = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, map<F>, 0, 512));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, map<F>, threads, 0));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    double occupancy = (double)resident * threads / device.maxThreadsPerMultiProcessor;
    if (threads < 32 || threads > 512 || resident < 1 || occupancy > 1.0 || blocks != resident * device.multiProcessorCount) {
        printf("%s: %d blocks of %d threads, %d an SM, cannot be\n", name, blocks, threads, resident);
        return 1;
    }
    int grid = (n + threads - 1) / threads;
    map<F><<<grid < blocks ? grid : blocks, threads>>>(from, to, n, f);
    CHECK(cudaGetLastError());
    std::vector<float> got(n);
    CHECK(cudaMemcpy(got.data(), to, n * sizeof(float), cudaMemcpyDeviceToHost));
    int errors = 0;
    for (int i = 0; i < n; ++i)
        errors += !(std::fabs(got[i] - f(values[i])) < 1e-4f);
    printf("%-8s %4d threads, %2d blocks an SM, occupancy %.0f %%, %d errors\n", name, threads, resident, occupancy * 100, errors);
    return errors;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3000;
    std::vector<float> values(n), got(n);
    for (int i = 0; i < n; ++i)
        values[i] = (float)(i % 100) * 0.0625f;
    float *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof(float)));
    CHECK(cudaMalloc(&to, n * sizeof(float)));
    CHECK(cudaMemcpy(from, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    int errors = test("affine", values, from, to, Affine{3.0f, -1.0f});
    errors += test("wave", values, from, to, Wave{2.5f});

    int blocks = 0, threads = 0;
    auto shared_of = [](int block_size) { return block_size * sizeof(float); };
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&blocks, &threads, mirror, shared_of, 256));
    mirror<<<(n + threads - 1) / threads, threads, shared_of(threads)>>>(from, to, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), to, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) {
        int other = i / threads * threads + threads - 1 - i % threads;
        errors += got[i] != (other < n ? values[other] : 0.0f);
    }
    printf("mirror   %4d threads\n%s\n", threads, errors ? "FAILED" : "PASSED");
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return errors ? 1 : 0;
}
