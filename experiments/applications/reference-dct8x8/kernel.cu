// Cosine transform of 8 x 8 pixels, coefficients in constant memory. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

// By place, the eight waves.
__constant__ float C8[64] = {
    0.3535534f, 0.4903926f, 0.4619398f, 0.4157348f, 0.3535534f, 0.2777851f, 0.1913417f, 0.0975452f,
    0.3535534f, 0.4157348f, 0.1913417f, -0.0975452f, -0.3535534f, -0.4903926f, -0.4619398f, -0.2777851f,
    0.3535534f, 0.2777851f, -0.1913417f, -0.4903926f, -0.3535534f, 0.0975452f, 0.4619398f, 0.4157348f,
    0.3535534f, 0.0975452f, -0.4619398f, -0.2777851f, 0.3535534f, 0.4157348f, -0.1913417f, -0.4903926f,
    0.3535534f, -0.0975452f, -0.4619398f, 0.2777851f, 0.3535534f, -0.4157348f, -0.1913417f, 0.4903926f,
    0.3535534f, -0.2777851f, -0.1913417f, 0.4903926f, -0.3535534f, -0.0975452f, 0.4619398f, -0.4157348f,
    0.3535534f, -0.4157348f, 0.1913417f, 0.0975452f, -0.3535534f, 0.4903926f, -0.4619398f, 0.2777851f,
    0.3535534f, -0.4903926f, 0.4619398f, -0.4157348f, 0.3535534f, -0.2777851f, 0.1913417f, -0.0975452f,
};
extern "C" __global__ void dct8x8(const float *in, float *out, int w) {
    __shared__ float a[64], b[64];
    int x = threadIdx.x, y = threadIdx.y, i = (blockIdx.y * 8 + y) * w + blockIdx.x * 8 + x;
    a[y * 8 + x] = in[i] - 128.0f;
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 8; k++) s += C8[k * 8 + y] * a[k * 8 + x];
    b[y * 8 + x] = s;
    __syncthreads();
    s = 0;
    for (int k = 0; k < 8; k++) s += b[y * 8 + k] * C8[k * 8 + x];
    out[i] = s;
}
