// Modules: nvcc-sm_75 nvcc-sm_80 nvcc-sm_90 nvrtc-sm_70
// D = A B + C by CUDA's fragments, 16 rows by 16 columns a warp; tiles go through shared memory.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void tensor_product(const __half *a, const __half *b, const float *c, float *d, int k) {
    __shared__ __align__(32) __half tile[16 * 16];
    int warp = threadIdx.x / 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, c + 16 * warp, 32, wmma::mem_row_major);
    for (int start = 0; start < k; start += 16) {
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = a[i / 16 * k + start + i % 16];
        __syncthreads();
        wmma::load_matrix_sync(left, tile, 16);
        wmma::load_matrix_sync(right, b + 16 * warp * k + start, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 0.5f;
    wmma::store_matrix_sync(d + 16 * warp, sum, 32, wmma::mem_row_major);
}
