// Prefix sums in levels of any depth, through a recursive host function: a template over the type, dynamic shared memory per launch.
// Arguments: 5000

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        cudaError_t e = (call);                                                       \
        if (e != cudaSuccess) {                                                       \
            fprintf(stderr, "scan: %s, line %d\n", cudaGetErrorString(e), __LINE__);  \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

constexpr int THREADS = 64;

// Sums before each element of a block of 2 * THREADS, up and down a tree; the sum of the block apart.
template <typename T> __global__ void scan_block(const T *from, T *to, T *sums, int n)
{
    extern __shared__ unsigned char bytes[];
    T *tree = reinterpret_cast<T *>(bytes);
    int t = threadIdx.x, base = blockIdx.x * 2 * THREADS;
    tree[t] = base + t < n ? from[base + t] : T(0);
    tree[t + THREADS] = base + t + THREADS < n ? from[base + t + THREADS] : T(0);
    int distance = 1;
    for (int active = THREADS; active > 0; active >>= 1, distance <<= 1) {
        __syncthreads();
        if (t < active)
            tree[distance * (2 * t + 2) - 1] += tree[distance * (2 * t + 1) - 1];
    }
    if (t == 0) {
        sums[blockIdx.x] = tree[2 * THREADS - 1];
        tree[2 * THREADS - 1] = T(0);
    }
    for (int active = 1; active <= THREADS; active <<= 1) {
        distance >>= 1;
        __syncthreads();
        if (t < active) {
            int left = distance * (2 * t + 1) - 1, right = distance * (2 * t + 2) - 1;
            T value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    if (base + t < n)
        to[base + t] = tree[t];
    if (base + t + THREADS < n)
        to[base + t + THREADS] = tree[t + THREADS];
}

template <typename T> __global__ void add(T *values, const T *offsets, int n)
{
    int i = blockIdx.x * 2 * THREADS + threadIdx.x;
    if (i < n)
        values[i] += offsets[blockIdx.x];
    if (i + THREADS < n)
        values[i + THREADS] += offsets[blockIdx.x];
}

template <typename T> void scan(const T *from, T *to, int n)
{
    int blocks = (n + 2 * THREADS - 1) / (2 * THREADS);
    T *sums;
    CHECK(cudaMalloc(&sums, blocks * sizeof(T)));
    scan_block<T><<<blocks, THREADS, 2 * THREADS * sizeof(T)>>>(from, to, sums, n);
    CHECK(cudaGetLastError());
    if (blocks > 1) {
        T *offsets;
        CHECK(cudaMalloc(&offsets, blocks * sizeof(T)));
        scan(sums, offsets, blocks);
        add<T><<<blocks, THREADS>>>(to, offsets, n);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(offsets));
    }
    CHECK(cudaFree(sums));
}

template <typename T> bool test(const char *name, int n)
{
    std::vector<T> values(n), got(n), wanted(n);
    T sum = 0;
    for (int i = 0; i < n; ++i) {
        values[i] = T((i * 17) % 13 + 1);
        wanted[i] = sum;
        sum += values[i];
    }
    T *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof(T)));
    CHECK(cudaMalloc(&to, n * sizeof(T)));
    CHECK(cudaMemcpy(from, values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    scan(from, to, n);
    CHECK(cudaMemcpy(got.data(), to, n * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    bool right = got == wanted;
    printf("%-10s %d elements: %s\n", name, n, right ? "right" : "wrong");
    return right;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000;
    bool right = test<int>("int", n);
    right &= test<long long>("long long", n / 2 + 3);
    right &= test<double>("double", THREADS - 1);
    puts(right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
