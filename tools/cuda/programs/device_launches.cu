// Kernels that launch kernels: Fibonacci's numbers by a tree of launches, and a sum behind all that a grid has launched.
// Compiler: nvcc
// Flags: -rdc=true
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t error = call;                                               \
        if (error != cudaSuccess) {                                             \
            printf("%s: %s\n", #call, cudaGetErrorString(error));               \
            return 1;                                                           \
        }                                                                       \
    } while (0)

constexpr int DEPTH = 6, COUNT = 100;

// Each leaf adds one: the tree has as many leaves as Fibonacci's number says.
__global__ void branch(int *leaves, int depth)
{
    if (depth < 2) {
        atomicAdd(leaves, 1);
        return;
    }
    branch<<<1, 1>>>(leaves, depth - 1);
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    branch<<<1, 1, 0, other>>>(leaves, depth - 2);
    cudaStreamDestroy(other);
}

__global__ void add(int *values, int count, int what)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count)
        values[index] += what + index;
}

__global__ void sum(const int *values, int count, int *total)
{
    for (int index = 0; index < count; index++)
        *total += values[index];
}

__global__ void parent(int *values, int count, int *total)
{
    if (threadIdx.x > 0)
        return;
    sum<<<1, 1, 0, cudaStreamTailLaunch>>>(values, count, total);
    for (int round = 0; round < 3; round++)
        add<<<(count + 31) / 32, 32>>>(values, count, 10 * round);
}

int main()
{
    int *leaves, *values, *total, found[2], fibonacci = 0;
    CHECK(cudaMalloc(&leaves, sizeof(int)));
    CHECK(cudaMalloc(&values, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemset(leaves, 0, sizeof(int)));
    CHECK(cudaMemset(values, 0, COUNT * sizeof(int)));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    branch<<<1, 1>>>(leaves, DEPTH);
    parent<<<1, 32>>>(values, COUNT, total);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&found[0], leaves, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&found[1], total, sizeof(int), cudaMemcpyDeviceToHost));
    for (int one = 1, step = 0; step < DEPTH; step++) {
        int next = one + fibonacci;
        fibonacci = one;
        one = next;
        if (step == DEPTH - 1)
            fibonacci = one;
    }
    int wanted = 30 * COUNT + 3 * COUNT * (COUNT - 1) / 2;
    printf("%d leaves, %d is right; sum %d, %d is right\n", found[0], fibonacci, found[1], wanted);
    return found[0] != fibonacci || found[1] != wanted;
}
