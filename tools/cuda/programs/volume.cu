// A stencil in three dimensions over pitched memory: cudaMalloc3D, cudaMemcpy3D of a whole volume and of a part, cudaMemset3D.
// Arguments: 20 14 10 3

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t e = (call);                                                             \
        if (e != cudaSuccess) {                                                                   \
            std::fprintf(stderr, "%s:%d %s %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
            std::exit(1);                                                                         \
        }                                                                                         \
    } while (0)

__device__ __host__ inline float mix(float center, float sum)
{
    return 0.5f * center + sum * (1.0f / 12.0f);
}

__device__ inline float *row_of(cudaPitchedPtr volume, int y, int z)
{
    return (float *)((char *)volume.ptr + (z * volume.ysize + y) * volume.pitch);
}

// Points at the faces stay as they are.
__global__ void stencil(cudaPitchedPtr from, cudaPitchedPtr to, int3 size)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    float center = row_of(from, y, z)[x];
    if (x > 0 && x < size.x - 1 && y > 0 && y < size.y - 1 && z > 0 && z < size.z - 1) {
        float sum = row_of(from, y, z)[x - 1] + row_of(from, y, z)[x + 1] + row_of(from, y - 1, z)[x] +
                    row_of(from, y + 1, z)[x] + row_of(from, y, z - 1)[x] + row_of(from, y, z + 1)[x];
        center = mix(center, sum);
    }
    row_of(to, y, z)[x] = center;
}

int main(int argc, char **argv)
{
    int3 size = make_int3(argc > 1 ? atoi(argv[1]) : 20, argc > 2 ? atoi(argv[2]) : 14, argc > 3 ? atoi(argv[3]) : 10);
    int steps = argc > 4 ? atoi(argv[4]) : 3;
    auto at = [size](int x, int y, int z) { return (z * size.y + y) * size.x + x; };
    std::vector<float> host(size.x * size.y * size.z), result(host.size(), -1.0f);
    for (size_t i = 0; i < host.size(); ++i)
        host[i] = (float)((i * 31) % 17);

    cudaExtent extent = make_cudaExtent(size.x * sizeof(float), size.y, size.z);
    cudaPitchedPtr a, b;
    CHECK(cudaMalloc3D(&a, extent));
    CHECK(cudaMalloc3D(&b, extent));
    CHECK(cudaMemset3D(b, 0, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), size.x * sizeof(float), size.x, size.y);
    copy.dstPtr = a;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));

    dim3 block(8, 4, 4), grid((size.x + 7) / 8, (size.y + 3) / 4, (size.z + 3) / 4);
    for (int step = 0; step < steps; ++step) {
        stencil<<<grid, block>>>(a, b, size);
        CHECK(cudaGetLastError());
        cudaPitchedPtr swap = a;
        a = b;
        b = swap;
    }
    // The volume without its faces comes back; the faces are known.
    cudaMemcpy3DParms back = {};
    back.srcPtr = a;
    back.dstPtr = make_cudaPitchedPtr(result.data(), size.x * sizeof(float), size.x, size.y);
    back.srcPos = back.dstPos = make_cudaPos(sizeof(float), 1, 1);
    back.extent = make_cudaExtent((size.x - 2) * sizeof(float), size.y - 2, size.z - 2);
    back.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&back));

    std::vector<float> next(host);
    for (int step = 0; step < steps; ++step) {
        for (int z = 1; z < size.z - 1; ++z)
            for (int y = 1; y < size.y - 1; ++y)
                for (int x = 1; x < size.x - 1; ++x)
                    next[at(x, y, z)] = mix(host[at(x, y, z)], host[at(x - 1, y, z)] + host[at(x + 1, y, z)] +
                                                                   host[at(x, y - 1, z)] + host[at(x, y + 1, z)] +
                                                                   host[at(x, y, z - 1)] + host[at(x, y, z + 1)]);
        host = next;
    }
    int errors = 0;
    for (int z = 0; z < size.z; ++z)
        for (int y = 0; y < size.y; ++y)
            for (int x = 0; x < size.x; ++x) {
                bool face = x == 0 || y == 0 || z == 0 || x == size.x - 1 || y == size.y - 1 || z == size.z - 1;
                float wanted = face ? -1.0f : host[at(x, y, z)];
                errors += !(std::fabs(result[at(x, y, z)] - wanted) < 1e-4f);
            }
    CHECK(cudaFree(a.ptr));
    CHECK(cudaFree(b.ptr));
    std::printf("pitch %zu, %d errors: %s\n", a.pitch, errors, errors ? "FAILED" : "PASSED");
    return errors ? 1 : 0;
}
