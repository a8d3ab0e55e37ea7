// Source of the PTX beside it: what the lanes of a warp do together, by CUDA's intrinsics (NVRTC only).
//   NVRTC: compile the text with --gpu-architecture=compute_70 (12.9) or compute_35 (11.8)
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ int warp_sum(int v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(~0u, v, offset);
    return __shfl_sync(~0u, v, 0);
}

extern "C" __global__ void together(const int *in, u64 *out) {
    __shared__ int sums[2];
    int t = threadIdx.x, lane = t & 31, v = in[t];
    int sum = warp_sum(v);
    u32 odd = __ballot_sync(~0u, v & 1);
    int prefix = v;
    for (int offset = 1; offset < 32; offset <<= 1) {
        int other = __shfl_up_sync(~0u, prefix, offset);
        if (lane >= offset) prefix += other;
    }
    if (lane == 0) sums[t >> 5] = sum;
    __syncwarp();
    if (lane < 8) sum += __popc(__activemask()) + __shfl_xor_sync(0xff, v, 1, 8);
    int any = __syncthreads_or(v > 230), all = __syncthreads_and(v > 2), count = __syncthreads_count(v & 1);
    atomicAdd(&sums[1], 1);
    __syncthreads();
    __threadfence();
    out[t] = (u32)(sum * 3 + prefix + __popc(odd) + (any ? 1 : 0) + (all ? 2 : 0) + count * 8)
             + ((u64)(u32)(sums[0] + sums[1]) << 32);
}
