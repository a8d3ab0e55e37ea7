// The discrete cosine transform of 8 x 8 blocks, quantisation, and the way back, after the CUDA SDK's dct8x8. A CTA of
// 8 x 8 threads transforms eight blocks that lie side by side: a thread takes a row of a block and then a column. Width
// and height are multiples of 64 and 8.
#include "../cuda.h"

#define SIDE 8
#define BLOCKS 8
// A column more than needed, so that the threads that walk down columns meet different banks.
#define PITCH (SIDE * BLOCKS + 1)

// cos(k pi / 16) / 2, and what the first coefficient has instead.
#define C1 0.49039264020161522f
#define C2 0.46193976625564337f
#define C3 0.41573480615127262f
#define C4 0.35355339059327373f
#define C5 0.27778511650980109f
#define C6 0.19134171618254492f
#define C7 0.09754516100806417f

static __device__ void forward(float *v, int stride) {
    const float s0 = v[0] + v[7 * stride], d0 = v[0] - v[7 * stride];
    const float s1 = v[stride] + v[6 * stride], d1 = v[stride] - v[6 * stride];
    const float s2 = v[2 * stride] + v[5 * stride], d2 = v[2 * stride] - v[5 * stride];
    const float s3 = v[3 * stride] + v[4 * stride], d3 = v[3 * stride] - v[4 * stride];
    const float even = s0 + s3, odd = s1 + s2, outer = s0 - s3, inner = s1 - s2;
    v[0] = C4 * (even + odd);
    v[4 * stride] = C4 * (even - odd);
    v[2 * stride] = C2 * outer + C6 * inner;
    v[6 * stride] = C6 * outer - C2 * inner;
    v[stride] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    v[3 * stride] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    v[5 * stride] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    v[7 * stride] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

static __device__ void backward(float *v, int stride) {
    const float even = C4 * (v[0] + v[4 * stride]), odd = C4 * (v[0] - v[4 * stride]);
    const float outer = C2 * v[2 * stride] + C6 * v[6 * stride];
    const float inner = C6 * v[2 * stride] - C2 * v[6 * stride];
    const float s0 = even + outer, s3 = even - outer, s1 = odd + inner, s2 = odd - inner;
    const float o1 = v[stride], o3 = v[3 * stride], o5 = v[5 * stride], o7 = v[7 * stride];
    const float d0 = C1 * o1 + C3 * o3 + C5 * o5 + C7 * o7;
    const float d1 = C3 * o1 - C7 * o3 - C1 * o5 - C5 * o7;
    const float d2 = C5 * o1 - C1 * o3 + C7 * o5 + C3 * o7;
    const float d3 = C7 * o1 - C5 * o3 + C3 * o5 - C1 * o7;
    v[0] = s0 + d0;
    v[7 * stride] = s0 - d0;
    v[stride] = s1 + d1;
    v[6 * stride] = s1 - d1;
    v[2 * stride] = s2 + d2;
    v[5 * stride] = s2 - d2;
    v[3 * stride] = s3 + d3;
    v[4 * stride] = s3 - d3;
}

// Rows of the tile that a thread moves between memory and shared memory.
#define EACH_ROW(row) for (int row = 0; row < SIDE; row++)

extern "C" __global__ void dct(const float *source, float *result, int width) {
    __shared__ float tile[SIDE * PITCH];
    const int line = threadIdx.y * SIDE + threadIdx.x;
    const int corner = blockIdx.y * SIDE * width + blockIdx.x * SIDE * BLOCKS + line;
    EACH_ROW(row) tile[row * PITCH + line] = source[corner + row * width];
    __syncthreads();
    forward(&tile[threadIdx.x * PITCH + threadIdx.y * SIDE], 1);
    __syncthreads();
    forward(&tile[line], PITCH);
    __syncthreads();
    EACH_ROW(row) result[corner + row * width] = tile[row * PITCH + line];
}

// To multiples of a step that grows with the frequency.
extern "C" __global__ void quantise(float *coefficients, int width, float step) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const float unit = step * (float)(1 + (x % SIDE) + (y % SIDE));
    const float share = coefficients[y * width + x] / unit;
    const float whole = (float)(int)(share + (share < 0.0f ? -0.5f : 0.5f));
    coefficients[y * width + x] = whole * unit;
}

extern "C" __global__ void idct(const float *source, float *result, int width) {
    __shared__ float tile[SIDE * PITCH];
    const int line = threadIdx.y * SIDE + threadIdx.x;
    const int corner = blockIdx.y * SIDE * width + blockIdx.x * SIDE * BLOCKS + line;
    EACH_ROW(row) tile[row * PITCH + line] = source[corner + row * width];
    __syncthreads();
    backward(&tile[line], PITCH);
    __syncthreads();
    backward(&tile[threadIdx.x * PITCH + threadIdx.y * SIDE], 1);
    __syncthreads();
    EACH_ROW(row) result[corner + row * width] = tile[row * PITCH + line];
}
