// Bodies under gravity in managed memory that the host reads and changes between launches; the parameters are a struct by value.
// Arguments: --bodies 128 --steps 4

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

struct Parameters {
    int bodies;
    float time_step;
    float softening;
    double3 push;
};

#define TILE 64

#define CHECK(call)                                                                               \
    do {                                                                                          \
        cudaError_t status = (call);                                                              \
        if (status != cudaSuccess) {                                                              \
            fprintf(stderr, "nbody.cu:%d: %s\n", __LINE__, cudaGetErrorString(status));           \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

__host__ __device__ inline void attract(float3 &a, float4 from, float4 to, float softening)
{
    float dx = to.x - from.x, dy = to.y - from.y, dz = to.z - from.z;
    float square = dx * dx + dy * dy + dz * dz + softening;
    float inverse = 1.0f / sqrtf(square);
    float strength = to.w * inverse * inverse * inverse;
    a.x += dx * strength;
    a.y += dy * strength;
    a.z += dz * strength;
}

__global__ void accelerate(const float4 *positions, float4 *velocities, Parameters p)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 own = i < p.bodies ? positions[i] : make_float4(0, 0, 0, 0);
    float3 a = make_float3(0, 0, 0);
    for (int begin = 0; begin < p.bodies; begin += TILE) {
        int other = begin + threadIdx.x;
        tile[threadIdx.x] = other < p.bodies ? positions[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int j = 0; j < TILE; ++j)
            attract(a, own, tile[j], p.softening);
        __syncthreads();
    }
    if (i < p.bodies) {
        velocities[i].x += (a.x + (float)p.push.x) * p.time_step;
        velocities[i].y += (a.y + (float)p.push.y) * p.time_step;
        velocities[i].z += (a.z + (float)p.push.z) * p.time_step;
    }
}

__global__ void move(float4 *positions, const float4 *velocities, Parameters p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.bodies) {
        positions[i].x += velocities[i].x * p.time_step;
        positions[i].y += velocities[i].y * p.time_step;
        positions[i].z += velocities[i].z * p.time_step;
    }
}

int main(int argc, char **argv)
{
    int steps = 4;
    Parameters p = {128, 0.01f, 0.05f, {0.0, -0.125, 0.0}};
    for (int i = 1; i + 1 < argc; i += 2)
        (strcmp(argv[i], "--steps") == 0 ? steps : p.bodies) = atoi(argv[i + 1]);

    float4 *positions, *velocities;
    CHECK(cudaMallocManaged(&positions, p.bodies * sizeof(float4)));
    CHECK(cudaMallocManaged(&velocities, p.bodies * sizeof(float4)));
    for (int i = 0; i < p.bodies; ++i) {
        float angle = 0.7f * i, radius = 1.0f + 0.02f * i;
        positions[i] = make_float4(radius * cosf(angle), radius * sinf(angle), 0.1f * (i % 9), 0.5f + 0.01f * (i % 5));
        velocities[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    std::vector<float4> want_positions(positions, positions + p.bodies), want_velocities(velocities, velocities + p.bodies);

    int blocks = (p.bodies + TILE - 1) / TILE;
    float worst = 0.0f;
    for (int step = 0; step < steps; ++step) {
        p.push.x = 0.25 * step;
        accelerate<<<blocks, TILE>>>(positions, velocities, p);
        move<<<blocks, TILE>>>(positions, velocities, p);
        for (int i = 0; i < p.bodies; ++i) {
            float3 a = make_float3(0, 0, 0);
            for (int j = 0; j < p.bodies; ++j)
                attract(a, want_positions[i], want_positions[j], p.softening);
            want_velocities[i].x += (a.x + (float)p.push.x) * p.time_step;
            want_velocities[i].y += (a.y + (float)p.push.y) * p.time_step;
            want_velocities[i].z += (a.z + (float)p.push.z) * p.time_step;
        }
        for (int i = 0; i < p.bodies; ++i) {
            want_positions[i].x += want_velocities[i].x * p.time_step;
            want_positions[i].y += want_velocities[i].y * p.time_step;
            want_positions[i].z += want_velocities[i].z * p.time_step;
        }
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < p.bodies; ++i) {
            float difference = fabsf(positions[i].x - want_positions[i].x) + fabsf(positions[i].y - want_positions[i].y) +
                               fabsf(positions[i].z - want_positions[i].z);
            worst = difference > worst || difference != difference ? difference : worst;
        }
        // The host gives one body a kick and another mass.
        int kicked = step * 11 % p.bodies;
        velocities[kicked].z = want_velocities[kicked].z = 1.0f;
        positions[kicked].w = want_positions[kicked].w = 2.0f;
    }
    bool right = worst < 1e-3f;
    printf("%d bodies, %d steps, worst difference %g: %s\n", p.bodies, steps, worst, right ? "PASSED" : "FAILED");
    CHECK(cudaFree(positions));
    CHECK(cudaFree(velocities));
    return right ? 0 : 1;
}
