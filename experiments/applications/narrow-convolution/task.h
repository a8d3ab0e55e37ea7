// An image behind a square filter; beyond its edges it is black. Of the filter in constant memory, as the SDK has its, or of any.

// How fast brightness falls from left to right (Sobel's operator of order 5, over 64).
__constant__ float falls[25] = {0.015625f, 0.03125f, 0.0f, -0.03125f, -0.015625f,
                                0.0625f,   0.125f,   0.0f, -0.125f,   -0.0625f,
                                0.09375f,  0.1875f,  0.0f, -0.1875f,  -0.09375f,
                                0.0625f,   0.125f,   0.0f, -0.125f,   -0.0625f,
                                0.015625f, 0.03125f, 0.0f, -0.03125f, -0.015625f};

template <class Where>
__device__ __forceinline__ void filter(const Where &here, const float *image, const float *taps, float *result, int n,
                                       int radius) {
    const int width = 2 * radius + 1;
    for (int pixel = here.getTid(); pixel < n * n; pixel += here.threads()) {
        const int row = pixel / n - radius, column = pixel % n - radius;
        float sum = 0.0f;
        for (int y = 0; y < width; y++) {
            for (int x = 0; x < width; x++) {
                const int from = row + y, at = column + x;
                if (from >= 0 && from < n && at >= 0 && at < n) sum += image[from * n + at] * taps[y * width + x];
            }
        }
        result[pixel] = sum;
    }
}

struct Convolve {
    const float *image;
    float *result;
    int n;
    int radius; // 2

    template <class Where> __device__ void run(const Where &here) const {
        filter(here, image, falls, result, n, radius);
    }
};

struct ConvolveGlobal {
    const float *image;
    const float *taps;
    float *result;
    int n;
    int radius;

    template <class Where> __device__ void run(const Where &here) const {
        filter(here, image, taps, result, n, radius);
    }
};

extern "C" __global__ void convolve(const float *image, float *result, int n, int radius) {
    const Convolve task = {image, result, n, radius};
    task.run(Plain());
}
TASK(Convolve, convolve)

extern "C" __global__ void convolve_global(const float *image, const float *taps, float *result, int n, int radius) {
    const ConvolveGlobal task = {image, taps, result, n, radius};
    task.run(Plain());
}
TASK(ConvolveGlobal, convolve_global)
