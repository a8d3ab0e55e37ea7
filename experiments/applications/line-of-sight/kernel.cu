// What an observer sees of a terrain, after the CUDA SDK's lineOfSight: angles along rays, the steepest angle up to each
// point by an inclusive scan, and visible is what lies on it. An angle is told by its tangent, which has the same order
// and needs no more than a division.
#include "../cuda.h"

// A point of a ray for each thread. The rays reach cells on the rim of a square, `reach` cells away from the observer and
// `apart` from each other; blockIdx.z is the side, blockIdx.y the ray of it. A ray has a power of two of points; `share` is
// one by that, so that no position is rounded.
extern "C" __global__ void angles(const float *heights, const unsigned *observer, float *angles, int width, int reach,
                                  int apart, float share, float mast) {
    const int step = blockIdx.x * blockDim.x + threadIdx.x;
    const int ray = blockIdx.z * gridDim.y + blockIdx.y;
    const int along = apart * blockIdx.y - reach;
    int across, down;
    switch (blockIdx.z) {
    case 0: across = along, down = -reach; break;
    case 1: across = reach, down = along; break;
    case 2: across = -along, down = reach; break;
    default: across = -reach, down = -along; break;
    }
    const int x = observer[0], y = observer[1];
    const float part = (float)(step + 1) * share;
    const int column = (int)((float)x + part * (float)across + 0.5f);
    const int row = (int)((float)y + part * (float)down + 0.5f);
    const float distance = part * sqrtf((float)(across * across + down * down));
    const float eye = heights[y * width + x] + mast;
    angles[ray * gridDim.x * blockDim.x + step] = (heights[row * width + column] - eye) / distance;
}

// Neighbouring points of a ray, which a thread of `scan` takes at once.
struct __attribute__((aligned(16))) Run {
    float a, b, c, d;
};
// Runs of a ray at most.
#define LONGEST 256

static __device__ float larger(float a, float b) { return a > b ? a : b; }

// The largest of a ray's angles up to each point. A block takes a ray, a thread a run.
extern "C" __global__ void scan(const Run *angles, Run *largest) {
    __shared__ float ends[2][LONGEST];
    const int thread = threadIdx.x;
    Run run = angles[blockIdx.x * blockDim.x + thread];
    run.b = larger(run.a, run.b);
    run.c = larger(run.b, run.c);
    run.d = larger(run.c, run.d);
    ends[0][thread] = run.d;
    __syncthreads();
    int from = 0;
    for (int away = 1; away < blockDim.x; away *= 2) {
        const float own = ends[from][thread];
        ends[1 - from][thread] = thread >= away ? larger(own, ends[from][thread - away]) : own;
        from = 1 - from;
        __syncthreads();
    }
    if (thread > 0) {
        const float before = ends[from][thread - 1];
        run.a = larger(before, run.a);
        run.b = larger(before, run.b);
        run.c = larger(before, run.c);
        run.d = larger(before, run.d);
    }
    largest[blockIdx.x * blockDim.x + thread] = run;
}

// Visible is a point that nothing before it rises above.
extern "C" __global__ void visibilities(const float *angles, const float *largest, unsigned char *visible) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    visible[point] = largest[point] <= angles[point];
}
