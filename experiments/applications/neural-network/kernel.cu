// A network that reads handwritten digits, after the one of the ISPASS-2009 suite: two layers that fold their input with
// windows of 5 x 5 in steps of two, and two that are fully connected, each a kernel. A CTA has a feature map, or some
// neurons, for all images of a batch. Weights of a neuron begin with what is always added.
#include "../cuda.h"

#define WINDOW 5
#define AREA (WINDOW * WINDOW)
#define IMAGE_SIDE 29
#define IMAGE (IMAGE_SIDE * IMAGE_SIDE)
#define FIRST_MAPS 6
#define FIRST_SIDE 13
#define FIRST (FIRST_SIDE * FIRST_SIDE)
#define SECOND_MAPS 50
#define SECOND_SIDE 5
#define SECOND (SECOND_MAPS * SECOND_SIDE * SECOND_SIDE)
#define THIRD 100
#define FOURTH 10

#define WARP 32
#define WARPS 4
// Images for which the third layer uses a weight before it reads the next; their number is a multiple of it.
#define GROUP 3

// 1.7159 tanh(2 x / 3).
static __device__ float squash(float x) {
    return 1.7159f - 3.4318f / (__expf(1.33333333f * x) + 1.0f);
}

// What a window sees of a map, times its weights.
static __device__ float fold(const float *corner, int side, const float *weights) {
    float sum = 0.0f;
    for (int row = 0; row < WINDOW; row++) {
        for (int column = 0; column < WINDOW; column++) {
            sum += corner[row * side + column] * weights[row * WINDOW + column];
        }
    }
    return sum;
}

// 6 CTAs of 13 x 13 threads.
extern "C" __global__ void first(const float *__restrict__ images, const float *__restrict__ weights, float *maps,
                                 int count) {
    const float *own = weights + blockIdx.x * (1 + AREA);
    const int from = 2 * (threadIdx.y * IMAGE_SIDE + threadIdx.x);
    float *to = maps + blockIdx.x * FIRST + threadIdx.y * FIRST_SIDE + threadIdx.x;
    for (int image = 0; image < count; image++) {
        to[image * FIRST_MAPS * FIRST] = squash(own[0] + fold(images + image * IMAGE + from, IMAGE_SIDE, own + 1));
    }
}

// 50 CTAs of 5 x 5 threads.
extern "C" __global__ void second(const float *__restrict__ maps, const float *__restrict__ weights, float *results,
                                  int count) {
    const float *own = weights + blockIdx.x * (1 + FIRST_MAPS * AREA);
    const int from = 2 * (threadIdx.y * FIRST_SIDE + threadIdx.x);
    float *to = results + (blockIdx.x * SECOND_SIDE + threadIdx.y) * SECOND_SIDE + threadIdx.x;
    for (int image = 0; image < count; image++) {
        float sum = own[0];
        for (int map = 0; map < FIRST_MAPS; map++) {
            const float *corner = maps + (image * FIRST_MAPS + map) * FIRST + from;
            sum += fold(corner, FIRST_SIDE, own + 1 + map * AREA);
        }
        to[image * SECOND] = squash(sum);
    }
}

// 25 CTAs of four warps; a warp has a neuron.
extern "C" __global__ void third(const float *__restrict__ inputs, const float *__restrict__ weights, float *results,
                                 int count) {
    __shared__ float sums[GROUP][WARPS * WARP];
    const int lane = threadIdx.x, neuron = blockIdx.x * WARPS + threadIdx.y;
    const int first = threadIdx.y * WARP, place = first + lane;
    const float *own = weights + neuron * (1 + SECOND);
    for (int image = 0; image < count; image += GROUP) {
        float sum[GROUP] = {};
        for (int i = lane; i < SECOND; i += WARP) {
            const float weight = own[1 + i];
            for (int k = 0; k < GROUP; k++) sum[k] += inputs[(image + k) * SECOND + i] * weight;
        }
        for (int k = 0; k < GROUP; k++) sums[k][place] = sum[k];
        __syncthreads();
        for (int half = WARP / 2; half > 0; half /= 2) {
            if (lane < half) {
                for (int k = 0; k < GROUP; k++) sums[k][place] += sums[k][place + half];
            }
            __syncthreads();
        }
        if (lane < GROUP) results[(image + lane) * THIRD + neuron] = squash(own[0] + sums[lane][first]);
        __syncthreads();
    }
}

// 10 CTAs of one thread.
extern "C" __global__ void fourth(const float *__restrict__ inputs, const float *__restrict__ weights, float *results,
                                  int count) {
    const float *own = weights + blockIdx.x * (1 + THIRD);
    for (int image = 0; image < count; image++) {
        float sum = own[0];
        for (int i = 0; i < THIRD; i++) sum += inputs[image * THIRD + i] * own[1 + i];
        results[image * FOURTH + blockIdx.x] = squash(sum);
    }
}
