// Modules: nvcc-sm_89 clang-sm_70
// Bodies as structs that are read and written by vectors, and constants of the module.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

struct __align__(16) Body {
    float x, y, z;
    unsigned short kind;
    signed char charge, spare;
};

struct World {
    double energy;
    float step;
    short count;
    bool mirrored;
};

__constant__ float masses[4] = {1, 0.5f, 4, 0.25f};

__device__ Body moved(Body body, float x, float y, float z) {
    body.x += x / masses[body.kind];
    body.y += y / masses[body.kind];
    body.z += z / masses[body.kind];
    body.spare = body.charge * 3;
    return body;
}

extern "C" __global__ void structs(Body *bodies, const World *worlds) {
    World world = *worlds;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= world.count) return;
    Body body = bodies[i];
    float step = world.mirrored ? -world.step : world.step;
    bodies[i] = moved(body, step * body.charge, (float)(world.energy * step), -step);
}
