// Modules: nvcc-sm_80 nvcc-sm_90 nvrtc-sm_70
// Half of a block makes tiles, the other half uses them: barriers of CUDA's library, with copies that arrive at one of them.
#include <cuda/barrier>
// The barriers' constructor is not called: `init` takes its place.
#pragma nv_diag_suppress static_var_with_dynamic_init

using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void barriers(const int *x, int *sums, int tiles) {
    __shared__ alignas(16) int tile[2][64];
    __shared__ barrier ready[2], empty[2];
    int half = threadIdx.x / 64, lane = threadIdx.x % 64;
    if (threadIdx.x < 2) {
        init(&ready[threadIdx.x], 64);
        init(&empty[threadIdx.x], 64);
    }
    __syncthreads();
    int sum = 0;
    for (int t = 0; t < tiles; t++) {
        int place = t % 2;
        if (half == 0) {
            if (t >= 2) empty[place].wait_parity((t / 2 - 1) % 2);
            cuda::memcpy_async(&tile[place][lane], &x[t * 64 + lane], cuda::aligned_size_t<4>(4), ready[place]);
            (void)ready[place].arrive();
        } else {
            ready[place].wait_parity(t / 2 % 2);
            for (int i = 0; i <= lane; i++) sum += tile[place][i];
            (void)empty[place].arrive();
        }
    }
    if (half == 1) sums[lane] = sum;
}
