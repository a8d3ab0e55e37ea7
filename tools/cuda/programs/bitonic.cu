// Bitonic sort of keys with their values: small steps in shared memory, large ones as one launch for each pair of strides.
// Arguments: 2048

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    {                                                                                        \
        cudaError_t status = call;                                                           \
        if (status != cudaSuccess) {                                                         \
            fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(status));           \
            return 1;                                                                        \
        }                                                                                    \
    }

constexpr unsigned CHUNK = 256;

__device__ inline void exchange(uint32_t &key_a, uint16_t &value_a, uint32_t &key_b, uint16_t &value_b, bool up)
{
    if ((key_a > key_b) == up) {
        uint32_t key = key_a;
        uint16_t value = value_a;
        key_a = key_b, value_a = value_b;
        key_b = key, value_b = value;
    }
}

// All strides below CHUNK, from `stride` down, for sequences of `first` to `last` elements.
__global__ void in_chunks(uint32_t *keys, uint16_t *values, unsigned first, unsigned last)
{
    __shared__ uint32_t k[CHUNK];
    __shared__ uint16_t v[CHUNK];
    unsigned base = blockIdx.x * CHUNK, t = threadIdx.x;
    for (unsigned i = t; i < CHUNK; i += CHUNK / 2)
        k[i] = keys[base + i], v[i] = values[base + i];
    for (unsigned size = first; size <= last; size <<= 1)
        for (unsigned stride = min(size, CHUNK) / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned a = 2 * t - (t & (stride - 1));
            exchange(k[a], v[a], k[a + stride], v[a + stride], ((base + a) & size) == 0);
        }
    __syncthreads();
    for (unsigned i = t; i < CHUNK; i += CHUNK / 2)
        keys[base + i] = k[i], values[base + i] = v[i];
}

__global__ void one_stride(uint32_t *keys, uint16_t *values, unsigned size, unsigned stride)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = 2 * t - (t & (stride - 1));
    exchange(keys[a], values[a], keys[a + stride], values[a + stride], (a & size) == 0);
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? strtoul(argv[1], nullptr, 0) : 2048;
    if (n < CHUNK || (n & (n - 1)) || n > 65536) {
        fprintf(stderr, "%u is not a power of two from %u to 65536\n", n, CHUNK);
        return 2;
    }
    std::vector<uint32_t> keys(n);
    std::vector<uint16_t> values(n);
    std::vector<std::pair<uint32_t, uint16_t>> wanted(n);
    for (unsigned i = 0; i < n; ++i) {
        // Odd multiples change places with each other, so no key comes twice.
        keys[i] = i * 2654435761u;
        values[i] = (uint16_t)i;
        wanted[i] = {keys[i], values[i]};
    }
    uint32_t *d_keys;
    uint16_t *d_values;
    CHECK(cudaMalloc(&d_keys, n * sizeof(uint32_t)));
    CHECK(cudaMalloc(&d_values, n * sizeof(uint16_t)));
    CHECK(cudaMemcpy(d_keys, keys.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_values, values.data(), n * sizeof(uint16_t), cudaMemcpyHostToDevice));
    int launches = 1;
    in_chunks<<<n / CHUNK, CHUNK / 2>>>(d_keys, d_values, 2, CHUNK);
    for (unsigned size = 2 * CHUNK; size <= n; size <<= 1) {
        for (unsigned stride = size / 2; stride >= CHUNK; stride >>= 1, ++launches)
            one_stride<<<n / CHUNK, CHUNK / 2>>>(d_keys, d_values, size, stride);
        in_chunks<<<n / CHUNK, CHUNK / 2>>>(d_keys, d_values, size, size);
        ++launches;
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(keys.data(), d_keys, n * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(values.data(), d_values, n * sizeof(uint16_t), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_keys));
    CHECK(cudaFree(d_values));

    std::sort(wanted.begin(), wanted.end());
    unsigned errors = 0;
    for (unsigned i = 0; i < n; ++i)
        errors += keys[i] != wanted[i].first || values[i] != wanted[i].second;
    printf("%u keys, %d launches, %u wrong: %s\n", n, launches, errors, errors ? "FAILED" : "PASSED");
    return errors != 0;
}
