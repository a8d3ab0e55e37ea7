// Sums and maxima in two launches: templates over type and operation, warp shuffles, and a device's properties for the grid.
// Arguments: 20000

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

inline void check(cudaError_t status)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status));
}

struct Sum {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

struct Maximum {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename T, typename Operation> __device__ T of_warp(T value, Operation operation)
{
    for (int distance = warpSize / 2; distance > 0; distance /= 2)
        value = operation(value, __shfl_down_sync(0xffffffffu, value, distance));
    return value;
}

template <typename T, typename Operation, int THREADS>
__global__ void reduce(const T *from, T *to, int n, T neutral, Operation operation)
{
    __shared__ T partial[THREADS / 32];
    T value = neutral;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        value = operation(value, from[i]);
    value = of_warp(value, operation);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : neutral;
        value = of_warp(value, operation);
        if (threadIdx.x == 0)
            to[blockIdx.x] = value;
    }
}

template <typename T> class Buffer {
public:
    explicit Buffer(size_t n) { check(cudaMalloc(&data_, n * sizeof(T))); }
    ~Buffer() { cudaFree(data_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    T *get() const { return data_; }

private:
    T *data_ = nullptr;
};

template <typename T, typename Operation>
bool test(const char *name, const std::vector<T> &values, T neutral, Operation operation, int blocks)
{
    const int n = static_cast<int>(values.size());
    Buffer<T> input(n), partial(blocks), output(1);
    check(cudaMemcpy(input.get(), values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    reduce<T, Operation, 256><<<blocks, 256>>>(input.get(), partial.get(), n, neutral, operation);
    check(cudaGetLastError());
    reduce<T, Operation, 64><<<1, 64>>>(partial.get(), output.get(), blocks, neutral, operation);
    check(cudaGetLastError());
    T got;
    check(cudaMemcpy(&got, output.get(), sizeof(T), cudaMemcpyDeviceToHost));
    T wanted = neutral;
    for (T value : values)
        wanted = operation(wanted, value);
    double difference = std::fabs(static_cast<double>(got) - static_cast<double>(wanted));
    bool right = difference <= 1e-4 * std::fabs(static_cast<double>(wanted));
    printf("%-16s %.6g, wanted %.6g: %s\n", name, static_cast<double>(got), static_cast<double>(wanted),
           right ? "right" : "wrong");
    return right;
}

int main(int argc, char **argv)
try {
    const int n = argc > 1 ? std::stoi(argv[1]) : 20000;
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0));
    const int blocks = properties.multiProcessorCount;
    printf("%s with %d SMs\n", properties.name, blocks);
    std::vector<int> ints(n);
    std::vector<float> floats(n);
    std::vector<double> doubles(n);
    for (int i = 0; i < n; ++i) {
        ints[i] = (i * 7919) % 1009 - 500;
        floats[i] = static_cast<float>(ints[i]) / 64.0f + 4.0f;
        doubles[i] = 1.0 / (i + 1.0);
    }
    bool right = test("sum of ints", ints, 0, Sum(), blocks);
    right &= test("maximum of ints", ints, -1000000, Maximum(), blocks);
    right &= test("sum of floats", floats, 0.0f, Sum(), blocks);
    right &= test("sum of doubles", doubles, 0.0, Sum(), blocks);
    puts(right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
} catch (const std::exception &error) {
    fprintf(stderr, "%s\n", error.what());
    return 1;
}
