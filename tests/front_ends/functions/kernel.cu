// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70
// Functions of mathematics in both precisions.

extern "C" __global__ void functions(const float *x, float *single, double *twice, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i];
    float results[9] = {sinf(a), cosf(a), expf(a), logf(a), powf(a, 1.7f), tanhf(a), erff(a), rsqrtf(a), atanf(a)};
    for (int k = 0; k < 9; k++) single[k * n + i] = results[k];
    double d = a;
    twice[i] = sin(d);
    twice[n + i] = exp(-d) / sqrt(d);
    twice[2 * n + i] = log(d);
}
