// Which shift and which gain lay each template of a library best over a test profile, after HPEC's pattern match: the least
// weighted square error over all shifts, and then, at that shift, over all gains. Profiles are in decibels, so that a gain is
// added. A warp takes a template; 16 of them make a CTA. No operation is contracted, so that every compiler finds the same.
#include "../cuda.h"

#define POINTS 128
#define LANES 32
#define TEMPLATES 16
// Shifts that a lane tries, and half of their range; what is shifted in lies at 0 dB.
#define TRIES 3
#define REACH (TRIES * LANES / 2)
#define PITCH (REACH + POINTS + REACH)
#define GAIN_STEP 0.125f

static __device__ float weighted(float weight, float difference) {
    return __fmul_rn(weight, __fmul_rn(difference, difference));
}

// The profile and the weights, for all threads of the CTA.
static __device__ void load(const float *test, const float *weights, float *profile, float *weight) {
    for (int k = threadIdx.y * LANES + threadIdx.x; k < POINTS; k += TEMPLATES * LANES) {
        profile[k] = test[k];
        weight[k] = weights[k];
    }
}

// Leaves the least of a warp's errors, and its choice, the smaller of equals, with its first lane.
static __device__ void least(float error, int choice, float *errors, int *choices) {
    const int lane = threadIdx.x;
    errors += threadIdx.y * LANES;
    choices += threadIdx.y * LANES;
    errors[lane] = error;
    choices[lane] = choice;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (lane < half) {
            const float other = errors[lane + half];
            const int its = choices[lane + half];
            if (other < errors[lane] || (other == errors[lane] && its < choices[lane])) {
                errors[lane] = other;
                choices[lane] = its;
            }
        }
        __syncthreads();
    }
}

// Shift s lays point k + s - REACH of the template over point k of the profile.
extern "C" __global__ void shift(const float *test, const float *weights, const float *library, int *shifts) {
    __shared__ float profile[POINTS], weight[POINTS], templates[TEMPLATES * PITCH];
    __shared__ float errors[TEMPLATES * LANES];
    __shared__ int choices[TEMPLATES * LANES];
    const int lane = threadIdx.x, own = blockIdx.x * TEMPLATES + threadIdx.y;
    float *row = &templates[threadIdx.y * PITCH];
    load(test, weights, profile, weight);
    for (int k = lane; k < PITCH; k += LANES) {
        const int point = k - REACH;
        row[k] = 0 <= point && point < POINTS ? library[own * POINTS + point] : 0.0f;
    }
    __syncthreads();
    float sums[TRIES] = {};
    for (int k = 0; k < POINTS; k++) {
        for (int i = 0; i < TRIES; i++) {
            sums[i] = __fadd_rn(sums[i], weighted(weight[k], profile[k] - row[k + i * LANES + lane]));
        }
    }
    float error = sums[0];
    int choice = lane;
    for (int i = 1; i < TRIES; i++) {
        if (sums[i] < error) {
            error = sums[i];
            choice = i * LANES + lane;
        }
    }
    least(error, choice, errors, choices);
    if (lane == 0) shifts[own] = choices[threadIdx.y * LANES];
}

// A lane tries one gain, from -16 to 15 steps.
extern "C" __global__ void gain(const float *test, const float *weights, const float *library, const int *shifts,
                                float *least_errors, int *gains) {
    __shared__ float profile[POINTS], weight[POINTS], templates[TEMPLATES * POINTS];
    __shared__ float errors[TEMPLATES * LANES];
    __shared__ int choices[TEMPLATES * LANES];
    const int lane = threadIdx.x, own = blockIdx.x * TEMPLATES + threadIdx.y;
    float *row = &templates[threadIdx.y * POINTS];
    load(test, weights, profile, weight);
    const int by = shifts[own] - REACH;
    for (int k = lane; k < POINTS; k += LANES) {
        const int place = k + by;
        row[k] = 0 <= place && place < POINTS ? library[own * POINTS + place] : 0.0f;
    }
    __syncthreads();
    const float decibels = (float)(lane - LANES / 2) * GAIN_STEP;
    float error = 0.0f;
    for (int k = 0; k < POINTS; k++) {
        error = __fadd_rn(error, weighted(weight[k], profile[k] - row[k] - decibels));
    }
    least(error, lane, errors, choices);
    if (lane == 0) {
        least_errors[own] = errors[threadIdx.y * LANES];
        gains[own] = choices[threadIdx.y * LANES];
    }
}
