// Numbers of the normal distribution, after the CUDA SDK's MersenneTwister: every thread has a small Mersenne Twister of its
// own and draws evenly spread numbers; a second kernel makes normal ones of two of them by the transform of Box and Muller.
#include "../cuda.h"

#define THREADS 128

// A state of 18 words and 31 bits of another, 607 in all, with a matrix for which the period is 2^607 - 1.
#define STATE 19
#define MIDDLE 9
#define UPPER 0xfffffffeu
#define LOWER 0x00000001u
#define MATRIX 0xc52ca600u

// Number k of all twisters lies side by side. A twister draws `count` numbers and leaves out `skipped` before: states that
// differ in few bits need that long to part.
extern "C" __global__ void twist(const unsigned *seeds, float *numbers, int skipped, int count) {
    // A column a thread, so that neither banks nor barriers matter.
    __shared__ unsigned states[STATE * THREADS];
    unsigned *state = &states[threadIdx.x];
    const int twisters = gridDim.x * THREADS;
    const int twister = blockIdx.x * THREADS + threadIdx.x;
    unsigned word = seeds[twister];
    state[0] = word;
    for (int i = 1; i < STATE; i++) {
        word = 1812433253u * (word ^ (word >> 30)) + i;
        state[i * THREADS] = word;
    }
    int here = 0, middle = MIDDLE;
    unsigned oldest = state[0];
    for (int k = -skipped; k < count; k++) {
        const int next = here + 1 < STATE ? here + 1 : 0;
        const unsigned second = state[next * THREADS];
        const unsigned both = (oldest & UPPER) | (second & LOWER);
        unsigned drawn = state[middle * THREADS] ^ (both >> 1) ^ ((both & 1) ? MATRIX : 0);
        state[here * THREADS] = drawn;
        here = next;
        middle = middle + 1 < STATE ? middle + 1 : 0;
        oldest = second;
        if (k < 0) continue;
        drawn ^= drawn >> 12;
        drawn ^= (drawn << 7) & 0x9d2c5680u;
        drawn ^= (drawn << 15) & 0xefc60000u;
        drawn ^= drawn >> 18;
        // More than 0, as the logarithm wants it, and at most 1.
        numbers[k * twisters + twister] = ((float)drawn + 1.0f) * (1.0f / 4294967296.0f);
    }
}

// The natural logarithm: that of the power of two, and that of what lies round 1 as twice the area tangent of (m - 1)/(m + 1).
static __device__ float logarithm(float x) {
    const int bits = __float_as_int(x);
    const int power = (bits - 0x3f3504f3) >> 23;
    const float beyond = __int_as_float(bits - (power << 23)) - 1.0f;
    const float s = beyond / (2.0f + beyond);
    const float square = s * s;
    const float series = 1.0f + square * (1.0f / 3 + square * (1.0f / 5 + square * (1.0f / 7 + square * (1.0f / 9))));
    return (float)power * 0.69314718055994531f + 2.0f * s * series;
}

// Cosine and sine of a share of the full circle: the nearest quarter of it, and the Taylor series of the rest.
static __device__ void circle(float share, float *cosine, float *sine) {
    const float quarters = 4.0f * share;
    const int quarter = (int)(quarters + 0.5f);
    const float angle = (quarters - (float)quarter) * 1.5707963267948966f;
    const float square = angle * angle;
    const float c = 1.0f - square * (1.0f / 2 - square * (1.0f / 24 - square * (1.0f / 720 - square * (1.0f / 40320))));
    const float s = angle * (1.0f - square * (1.0f / 6 - square * (1.0f / 120 - square * (1.0f / 5040))));
    const float x = (quarter & 1) ? -s : c, y = (quarter & 1) ? c : s;
    *cosine = (quarter & 2) ? -x : x;
    *sine = (quarter & 2) ? -y : y;
}

// In place; `count` is even.
extern "C" __global__ void box_muller(float *numbers, int count) {
    const int twisters = gridDim.x * THREADS;
    const int twister = blockIdx.x * THREADS + threadIdx.x;
    for (int k = 0; k < count; k += 2) {
        float *first = &numbers[k * twisters + twister];
        float *second = first + twisters;
        const float radius = sqrtf(-2.0f * logarithm(*first));
        float cosine, sine;
        circle(*second, &cosine, &sine);
        *first = radius * cosine;
        *second = radius * sine;
    }
}
