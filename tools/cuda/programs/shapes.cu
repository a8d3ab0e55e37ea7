// Objects with virtual functions that a kernel makes and others use, a table of function pointers, votes of warps and barriers that count.
// Arguments: 96

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "shapes:%d: %s\n", __LINE__, cudaGetErrorString(e));        \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
};

struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};

struct Rectangle : Shape {
    int width, height;
    __device__ Rectangle(int w, int h) : width(w), height(h) {}
    __device__ int area() const override { return width * height; }
};

using Change = int (*)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int negative(int x) { return -x; }
__device__ int next(int x) { return x + 1; }
__device__ Change changes[3] = {twice, negative, next};

__global__ void make(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % 3 == 0)
            shapes[i] = new Square(i);
        else
            shapes[i] = new Rectangle(i, i % 3);
        assert(shapes[i] != nullptr);
    }
}

__global__ void measure(Shape *const *shapes, int n, int *areas, unsigned int *votes, int *large)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int area = i < n ? shapes[i]->area() : 0;
    if (i < n)
        areas[i] = changes[i % 3](area);
    unsigned int vote = __ballot_sync(0xffffffffu, area % 2 == 1);
    if (threadIdx.x % 32 == 0)
        votes[i / 32] = vote;
    int count = __syncthreads_count(area > 100);
    if (threadIdx.x == 0)
        large[blockIdx.x] = count;
}

__global__ void destroy(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        delete shapes[i];
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 96, threads = 64, blocks = (n + threads - 1) / threads;
    Shape **shapes;
    int *d_areas, *d_large;
    unsigned int *d_votes;
    CHECK(cudaMalloc(&shapes, n * sizeof(Shape *)));
    CHECK(cudaMalloc(&d_areas, n * sizeof(int)));
    CHECK(cudaMalloc(&d_votes, blocks * 2 * sizeof(unsigned int)));
    CHECK(cudaMalloc(&d_large, blocks * sizeof(int)));
    make<<<blocks, threads>>>(shapes, n);
    measure<<<blocks, threads>>>(shapes, n, d_areas, d_votes, d_large);
    destroy<<<blocks, threads>>>(shapes, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<int> areas(n), large(blocks), want_large(blocks, 0);
    std::vector<unsigned int> votes(blocks * 2), want_votes(blocks * 2, 0);
    CHECK(cudaMemcpy(areas.data(), d_areas, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(votes.data(), d_votes, votes.size() * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(large.data(), d_large, blocks * sizeof(int), cudaMemcpyDeviceToHost));

    int errors = 0;
    for (int i = 0; i < n; ++i) {
        int area = i % 3 == 0 ? i * i : i * (i % 3);
        errors += areas[i] != (i % 3 == 0 ? 2 * area : i % 3 == 1 ? -area : area + 1);
        want_votes[i / 32] |= (area % 2 == 1 ? 1u : 0u) << (i % 32);
        want_large[i / threads] += area > 100;
    }
    errors += votes != want_votes;
    errors += large != want_large;
    CHECK(cudaFree(shapes));
    CHECK(cudaFree(d_areas));
    CHECK(cudaFree(d_votes));
    CHECK(cudaFree(d_large));
    printf("%d shapes, %d errors: %s\n", n, errors, errors ? "FAILED" : "PASSED");
    return errors ? 1 : 0;
}
