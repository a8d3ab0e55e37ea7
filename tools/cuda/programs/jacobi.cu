// Jacobi iterations of Poisson's equation until the residual is small; the host waits for it on a stream with pinned memory.
// Arguments: 24 2e-3

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t err_ = (call);                                                             \
        if (err_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "CUDA error %d at %s:%d\n", (int)err_, __FILE__, __LINE__);   \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

// One sweep over the inner points, with the largest change of any point. A float that is not negative grows with its bits.
__global__ void sweep(const float *__restrict__ u, float *__restrict__ next, const float *__restrict__ f, int n,
                      unsigned int *largest)
{
    __shared__ unsigned int of_block;
    if (threadIdx.x + threadIdx.y == 0)
        of_block = 0;
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1) {
        int at = y * n + x;
        float value = 0.25f * (u[at - 1] + u[at + 1] + u[at - n] + u[at + n] + f[at]);
        next[at] = value;
        atomicMax(&of_block, __float_as_uint(fabsf(value - u[at])));
    }
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0)
        atomicMax(largest, of_block);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 24;
    float bound = argc > 2 ? (float)std::atof(argv[2]) : 2e-3f;
    std::vector<float> f(n * n, 0.0f), u(n * n, 0.0f);
    f[n / 3 * n + n / 2] = 1.0f;
    f[2 * n / 3 * n + n / 4] = -0.5f;
    for (int x = 0; x < n; ++x)
        u[x] = std::sin(3.14159265f * x / (n - 1));

    size_t bytes = n * n * sizeof(float);
    float *d_u, *d_next, *d_f;
    unsigned int *d_largest, *largest;
    CHECK(cudaMalloc(&d_u, bytes));
    CHECK(cudaMalloc(&d_next, bytes));
    CHECK(cudaMalloc(&d_f, bytes));
    CHECK(cudaMalloc(&d_largest, sizeof(unsigned int)));
    CHECK(cudaMallocHost((void **)&largest, sizeof(unsigned int)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyAsync(d_u, u.data(), bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(d_f, f.data(), bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(d_next, d_u, bytes, cudaMemcpyDeviceToDevice, stream));

    dim3 block(16, 8), grid((n + 15) / 16, (n + 7) / 8);
    int iterations = 0;
    float residual = 1.0f;
    while (residual > bound && iterations < 1000) {
        // The residual is looked at every fourth sweep only.
        for (int inner = 0; inner < 4; ++inner, ++iterations) {
            if (inner == 3)
                CHECK(cudaMemsetAsync(d_largest, 0, sizeof(unsigned int), stream));
            sweep<<<grid, block, 0, stream>>>(d_u, d_next, d_f, n, d_largest);
            float *old = d_u;
            d_u = d_next;
            d_next = old;
        }
        CHECK(cudaMemcpyAsync(largest, d_largest, sizeof(unsigned int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        static_assert(sizeof(float) == sizeof(unsigned int), "bits of a float");
        union {
            unsigned int bits;
            float value;
        } largest_change = {*largest};
        residual = largest_change.value;
    }
    std::vector<float> result(n * n);
    CHECK(cudaMemcpy(result.data(), d_u, bytes, cudaMemcpyDeviceToHost));

    std::vector<float> next = u;
    float change = 1.0f;
    int wanted_iterations = 0;
    for (; wanted_iterations < iterations; ++wanted_iterations) {
        change = 0.0f;
        for (int y = 1; y < n - 1; ++y)
            for (int x = 1; x < n - 1; ++x) {
                int at = y * n + x;
                next[at] = 0.25f * (u[at - 1] + u[at + 1] + u[at - n] + u[at + n] + f[at]);
                change = std::fmax(change, std::fabs(next[at] - u[at]));
            }
        u.swap(next);
    }
    float worst = 0.0f;
    for (int i = 0; i < n * n; ++i)
        worst = std::fmax(worst, std::fabs(u[i] - result[i]));
    bool right = worst < 1e-5f && residual <= bound && std::fabs(change - residual) < 1e-5f;
    std::printf("%d iterations, residual %g, difference %g: %s\n", iterations, residual, worst, right ? "PASSED" : "FAILED");
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(largest));
    CHECK(cudaFree(d_u));
    CHECK(cudaFree(d_next));
    CHECK(cudaFree(d_f));
    CHECK(cudaFree(d_largest));
    return right ? 0 : 1;
}
