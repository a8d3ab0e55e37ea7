// Modules: nvcc-sm_80 nvcc-sm_90 nvrtc-sm_70
// Rounds of a smoothing in a ring, with a barrier of the grid between them.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(int *a, int *b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int n = grid.size(), i = grid.thread_rank();
    for (int round = 0; round < rounds; round++) {
        b[i] = a[(i + n - 1) % n] + 2 * a[i] + a[(i + 1) % n];
        grid.sync();
        int *other = a;
        a = b;
        b = other;
    }
}
