// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70
// Sum and greatest of some numbers: warps, blocks, and the block that comes last, found by an ordered atomic.
#include <cuda/atomic>

extern "C" __global__ void reduction(const unsigned *x, unsigned n, unsigned *partial, unsigned *ticket, unsigned *result) {
    __shared__ unsigned sums[4], greatest[4];
    __shared__ bool last;
    unsigned sum = 0, most = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i];
        most = max(most, x[i]);
    }
#if __CUDA_ARCH__ >= 800
    sum = __reduce_add_sync(0xffffffff, sum);
    most = __reduce_max_sync(0xffffffff, most);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
        most = max(most, __shfl_down_sync(0xffffffff, most, distance));
    }
#endif
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
        greatest[threadIdx.x / 32] = most;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x / 32; i++) {
            sum += sums[i];
            most = max(most, greatest[i]);
        }
        partial[blockIdx.x] = sum;
        atomicMax(result + 1, most);
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> blocks(*ticket);
        last = blocks.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) atomicAdd(result, partial[threadIdx.x]);
}
