// The Mandelbrot set in float and double over pitched rows (cudaMallocPitch, cudaMemset2D, cudaMemcpy2D); a picture into a temporary file.
// Arguments: --width 50 --height 30 --limit 60

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

struct View {
    double left, top, step;
    int width, height, limit;
};

template <typename Real> __host__ __device__ int iterations(Real cx, Real cy, int limit)
{
    Real x = 0, y = 0;
    int i = 0;
    for (; i < limit && x * x + y * y <= Real(4); ++i) {
        Real t = x * x - y * y + cx;
        y = Real(2) * x * y + cy;
        x = t;
    }
    return i;
}

template <typename Real> __global__ void draw(unsigned char *picture, size_t pitch, View view)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < view.width && y < view.height)
        picture[y * pitch + x] =
            (unsigned char)iterations<Real>(Real(view.left + x * view.step), Real(view.top + y * view.step), view.limit);
}

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t e = (call);                                                           \
        if (e != cudaSuccess) {                                                           \
            fprintf(stderr, "error: %s in %s\n", cudaGetErrorString(e), #call);           \
            return false;                                                                 \
        }                                                                                 \
    } while (0)

template <typename Real> bool picture(const View &view, const char *name)
{
    unsigned char *device;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&device, &pitch, view.width, view.height));
    CHECK(cudaMemset2D(device, pitch, 255, view.width, view.height));
    dim3 block(16, 4), grid((view.width + 15) / 16, (view.height + 3) / 4);
    draw<Real><<<grid, block>>>(device, pitch, view);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned char> got(view.width * view.height);
    CHECK(cudaMemcpy2D(got.data(), view.width, device, pitch, view.width, view.height, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));

    // Rounding may move points close to the edge of the set.
    int different = 0;
    long inside = 0;
    for (int y = 0; y < view.height; ++y)
        for (int x = 0; x < view.width; ++x) {
            int i = got[y * view.width + x];
            inside += i == view.limit;
            different += i != iterations<Real>(Real(view.left + x * view.step), Real(view.top + y * view.step), view.limit);
        }
    FILE *file = tmpfile();
    bool written = file && fprintf(file, "P5\n%d %d\n255\n", view.width, view.height) > 0 &&
                   fwrite(got.data(), 1, got.size(), file) == got.size();
    if (file)
        fclose(file);
    bool right = written && inside > 0 && different * 200 <= view.width * view.height;
    printf("%s: %ld points inside, %d different: %s\n", name, inside, different, right ? "right" : "wrong");
    return right;
}

int main(int argc, char **argv)
{
    View view = {-2.0, -1.05, 0.0, 50, 30, 60};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--width"))
            view.width = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--height"))
            view.height = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--limit"))
            view.limit = atoi(argv[i + 1]);
        else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (view.limit > 254)
        view.limit = 254;
    view.step = 2.6 / view.width;
    bool right = picture<float>(view, "float");
    right = picture<double>(view, "double") && right;
    printf("%s\n", right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
