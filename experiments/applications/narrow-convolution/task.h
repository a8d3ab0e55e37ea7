// An image behind a square filter; beyond its edges it is black.

struct Convolve {
    const float *image;
    const float *taps;
    float *result;
    int n;
    int radius;

    template <class Where> __device__ void run(const Where &here) const {
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
};

extern "C" __global__ void convolve(const float *image, const float *taps, float *result, int n, int radius) {
    const Convolve task = {image, taps, result, n, radius};
    task.run(Plain());
}
TASK(Convolve, convolve)
