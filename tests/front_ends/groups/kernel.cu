// Modules: nvcc-sm_75 nvcc-sm_80
// Groups of lanes that come by chance: those on one path, those with one label; votes, and shuffles of 64 bits.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(const int *x, int *out, unsigned long long *pairs) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
    int result = 0;
    if (value % 3 == 0) {
        auto active = cg::coalesced_threads();
        // The sum of those before in the group.
        for (int k = 0; k < active.size(); k++) {
            int other = active.shfl(value, k);
            if (k < active.thread_rank()) result += other;
        }
        result += 1000 * active.size();
    } else {
        auto active = cg::coalesced_threads();
        result = active.any(value > 90) + 2 * active.all(value > 5) + 4 * __popc(active.ballot(value % 2));
    }
    auto alike = cg::labeled_partition(warp, value % 5);
    result = 100000 * alike.size() + result;
    out[i] = result;
    unsigned long long wide = (unsigned long long)value << 40 | i;
    pairs[i] = warp.shfl_xor(wide, 5) + warp.shfl(wide, warp.thread_rank() / 2);
}
