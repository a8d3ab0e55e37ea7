// The matrix Q of a magnetic resonance image, after Parboil's MRI-Q: for each voxel a sum over samples of k-space, two a round as there.
// Samples lie in constant memory and are made up. Parboil adds what a launch sums up to what earlier ones have; here each writes its own.
#include "../../../../applications/cuda.h"

#define SAMPLES 1024
#define TURN 6.2831853071795864769f

// A place in x, y and z and a magnitude, which f32 has exactly.
#define SAMPLE(i)                                                                                            \
    {((i) * 37 % 64 - 32) * 0.25f, ((i) * 53 / 8 % 64 - 32) * 0.25f, ((i) * 101 / 64 % 64 - 32) * 0.25f, \
     (1 + (i) % 13) * 0.0625f}
#define SAMPLES_4(i) SAMPLE(i), SAMPLE((i) + 1), SAMPLE((i) + 2), SAMPLE((i) + 3)
#define SAMPLES_16(i) SAMPLES_4(i), SAMPLES_4((i) + 4), SAMPLES_4((i) + 8), SAMPLES_4((i) + 12)
#define SAMPLES_64(i) SAMPLES_16(i), SAMPLES_16((i) + 16), SAMPLES_16((i) + 32), SAMPLES_16((i) + 48)
#define SAMPLES_256(i) SAMPLES_64(i), SAMPLES_64((i) + 64), SAMPLES_64((i) + 128), SAMPLES_64((i) + 192)

struct sample {
    float x, y, z, magnitude;
};

__constant__ sample space[SAMPLES] = {SAMPLES_256(0), SAMPLES_256(256), SAMPLES_256(512), SAMPLES_256(768)};

static __device__ float sine(float x) {
    float y;
    asm("sin.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ float cosine(float x) {
    float y;
    asm("cos.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// `samples` is even and at most `SAMPLES`.
extern "C" __global__ void voxel(const float *xs, const float *ys, const float *zs, float *real, float *imaginary, int samples) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = xs[i];
    const float y = ys[i];
    const float z = zs[i];
    float a = 0;
    float b = 0;
#pragma unroll 1
    for (int k = 0; k < samples; k += 2) {
        const sample first = space[k];
        const float first_angle = TURN * (first.x * x + first.y * y + first.z * z);
        a += first.magnitude * cosine(first_angle);
        b += first.magnitude * sine(first_angle);
        const sample second = space[k + 1];
        const float second_angle = TURN * (second.x * x + second.y * y + second.z * z);
        a += second.magnitude * cosine(second_angle);
        b += second.magnitude * sine(second_angle);
    }
    real[i] = a;
    imaginary[i] = b;
}
