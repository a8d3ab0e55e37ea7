// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70
// A softmax of each row by a warp, with shuffles.

__device__ float most_of(float value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, distance));
    return value;
}

__device__ float sum_of(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

extern "C" __global__ void softmax(const float *__restrict__ x, float *__restrict__ y, int rows, int columns) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += row * columns;
    y += row * columns;
    float most = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < columns; i += 32) most = fmaxf(most, x[i]);
    most = most_of(most);
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) sum += expf(x[i] - most);
    sum = sum_of(sum);
    for (int i = threadIdx.x; i < columns; i += 32) y[i] = expf(x[i] - most) / sum;
}
