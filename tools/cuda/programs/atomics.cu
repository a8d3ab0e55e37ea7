// All atomic operations on integers, floats, and doubles by compare-and-swap; a ticket of the last block ends a reduction in one launch.
// Arguments: 24 64

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t e = (call);                                                          \
        if (e != cudaSuccess) {                                                          \
            fprintf(stderr, "atomics:%d: %s\n", __LINE__, cudaGetErrorString(e));        \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

struct Results {
    int add, sub, least, most, bits_and, bits_or, bits_xor;
    unsigned int inc, dec;
    unsigned long long wide;
    float sum;
    double product_of_two;
    int winners;
    int claimed;
};

__device__ double multiply(double *at, double factor)
{
    unsigned long long *bits = (unsigned long long *)at, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __double_as_longlong(factor * __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}

__global__ void all(Results *r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&r->add, i);
    atomicSub(&r->sub, 3);
    atomicMin(&r->least, (i * 37) % 501 - 200);
    atomicMax(&r->most, (i * 37) % 501 - 200);
    atomicAnd(&r->bits_and, ~(1 << (i % 20)));
    atomicOr(&r->bits_or, 1 << (i % 25));
    atomicXor(&r->bits_xor, i);
    atomicInc(&r->inc, 99);
    atomicDec(&r->dec, 49);
    atomicAdd(&r->wide, 5000000000ULL);
    atomicAdd(&r->sum, 0.25f);
    if (i % 64 < 2)
        multiply(&r->product_of_two, i % 64 ? 2.0 : 4.0);
    if (atomicCAS(&r->claimed, -1, i) == -1)
        atomicExch(&r->winners, 1);
}

__device__ unsigned int tickets;

__global__ void sum_at_once(const float *values, int n, volatile float *partial, float *result)
{
    __shared__ float sums[32];
    __shared__ bool last;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += values[i];
    if (threadIdx.x < 32)
        sums[threadIdx.x] = 0.0f;
    __syncthreads();
    atomicAdd(&sums[threadIdx.x % 32], sum);
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 32; ++i)
            sums[0] += sums[i];
        partial[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (int i = 0; i < gridDim.x; ++i)
            total += partial[i];
        *result = total;
    }
}

int main(int argc, char **argv)
{
    const int blocks = argc > 1 ? atoi(argv[1]) : 24, threads = argc > 2 ? atoi(argv[2]) : 64, n = blocks * threads;
    Results start = {0, 0, 1000, -1000, -1, 0, 0, 0, 0, 0, 0.0f, 1.0, 0, -1}, want = start, got, *device;
    CHECK(cudaMalloc(&device, sizeof(Results)));
    CHECK(cudaMemcpy(device, &start, sizeof(Results), cudaMemcpyHostToDevice));
    all<<<blocks, threads>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, device, sizeof(Results), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) {
        int value = (i * 37) % 501 - 200;
        want.add += i, want.sub -= 3, want.wide += 5000000000ULL, want.sum += 0.25f;
        want.least = value < want.least ? value : want.least;
        want.most = value > want.most ? value : want.most;
        want.bits_and &= ~(1 << (i % 20)), want.bits_or |= 1 << (i % 25), want.bits_xor ^= i;
        want.inc = want.inc >= 99 ? 0 : want.inc + 1;
        want.dec = want.dec == 0 || want.dec > 49 ? 49 : want.dec - 1;
        if (i % 64 < 2)
            want.product_of_two *= i % 64 ? 2.0 : 4.0;
    }
    int errors = got.add != want.add || got.sub != want.sub || got.least != want.least || got.most != want.most;
    errors += got.bits_and != want.bits_and || got.bits_or != want.bits_or || got.bits_xor != want.bits_xor;
    errors += got.inc != want.inc || got.dec != want.dec || got.wide != want.wide || got.sum != want.sum;
    errors += got.product_of_two != want.product_of_two || got.winners != 1 || got.claimed < 0 || got.claimed >= n;

    std::vector<float> values(n);
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
        sum += values[i] = 1.0f / (float)(i + 1);
    float *d_values, *d_partial, *d_result, result = 0.0f;
    CHECK(cudaMalloc(&d_values, n * sizeof(float)));
    CHECK(cudaMalloc(&d_partial, blocks * sizeof(float)));
    CHECK(cudaMalloc(&d_result, sizeof(float)));
    CHECK(cudaMemcpy(d_values, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    for (int round = 0; round < 2; ++round) {
        sum_at_once<<<blocks, threads>>>(d_values, n, d_partial, d_result);
        CHECK(cudaMemcpy(&result, d_result, sizeof(float), cudaMemcpyDeviceToHost));
        errors += !(std::fabs(result - sum) < 1e-4);
    }
    printf("%d threads, sum %.6f, wanted %.6f, %d errors: %s\n", n, result, sum, errors, errors ? "FAILED" : "PASSED");
    CHECK(cudaFree(device));
    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_partial));
    CHECK(cudaFree(d_result));
    return errors ? 1 : 0;
}
