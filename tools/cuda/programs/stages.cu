// Images from a file through two kernels, each image on one of two streams: smoothed, then their edges. The edges go to a file.
// Arguments: stages.raw 6 96 96

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define TILE 16
#define REACH 2

__constant__ int weights[2 * REACH + 1];

static void check(cudaError_t status, const char *doing)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(status));
        exit(1);
    }
}

__host__ __device__ inline int inside(int at, int size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

// A pixel is the mean of its neighbours, weighted in both directions.
__global__ void smooth(const unsigned char *from, unsigned char *to, int rows, int columns)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    int sum = 0;
    for (int dy = -REACH; dy <= REACH; ++dy)
        for (int dx = -REACH; dx <= REACH; ++dx)
            sum += weights[dy + REACH] * weights[dx + REACH] * from[inside(y + dy, rows) * columns + inside(x + dx, columns)];
    to[y * columns + x] = (sum + 128) / 256;
}

// An edge is where brightness changes by more than a threshold to the right or down.
__global__ void edges(const unsigned char *from, unsigned char *to, int rows, int columns, int threshold)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    int here = from[y * columns + x];
    int right = from[y * columns + inside(x + 1, columns)], down = from[inside(y + 1, rows) * columns + x];
    int change = abs(here - right) + abs(here - down);
    to[y * columns + x] = change > threshold ? 255 : 4 * change;
}

static void on_the_host(const unsigned char *from, unsigned char *to, int rows, int columns, const int *weights, int threshold)
{
    std::vector<int> smoothed(rows * columns);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) {
            int sum = 0;
            for (int i = -REACH; i <= REACH; ++i)
                for (int j = -REACH; j <= REACH; ++j)
                    sum += weights[i + REACH] * weights[j + REACH] * from[inside(y + i, rows) * columns + inside(x + j, columns)];
            smoothed[y * columns + x] = (sum + 128) / 256;
        }
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) {
            int here = smoothed[y * columns + x];
            int change = abs(here - smoothed[y * columns + inside(x + 1, columns)]) +
                         abs(here - smoothed[inside(y + 1, rows) * columns + x]);
            to[y * columns + x] = change > threshold ? 255 : 4 * change;
        }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "stages.raw";
    int images = argc > 2 ? atoi(argv[2]) : 6;
    int rows = argc > 3 ? atoi(argv[3]) : 96, columns = argc > 4 ? atoi(argv[4]) : 96;
    const int threshold = 40, host_weights[2 * REACH + 1] = {1, 4, 6, 4, 1};
    size_t pixels = static_cast<size_t>(rows) * columns, bytes = images * pixels;

    std::vector<unsigned char> input(bytes), output(bytes), wanted(bytes);
    FILE *file = fopen(name, "rb");
    if (!file || fread(input.data(), 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: cannot be read\n", name);
        return 1;
    }
    fclose(file);

    unsigned char *from, *smoothed, *to;
    check(cudaMalloc(&from, bytes), "cudaMalloc");
    check(cudaMalloc(&smoothed, bytes), "cudaMalloc");
    check(cudaMalloc(&to, bytes), "cudaMalloc");
    check(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights), "cudaMemcpyToSymbol");
    check(cudaMemcpy(from, input.data(), bytes, cudaMemcpyHostToDevice), "copy of the images");
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams)
        check(cudaStreamCreate(&stream), "cudaStreamCreate");
    dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    for (int i = 0; i < images; ++i) {
        smooth<<<grid, block, 0, streams[i % 2]>>>(from + i * pixels, smoothed + i * pixels, rows, columns);
        edges<<<grid, block, 0, streams[i % 2]>>>(smoothed + i * pixels, to + i * pixels, rows, columns, threshold);
    }
    check(cudaDeviceSynchronize(), "kernels");
    check(cudaMemcpy(output.data(), to, bytes, cudaMemcpyDeviceToHost), "copy of the edges");

    file = argc > 5 ? fopen(argv[5], "wb") : tmpfile();
    if (!file || fwrite(output.data(), 1, bytes, file) != bytes) {
        fprintf(stderr, "the edges cannot be written\n");
        return 1;
    }
    fclose(file);

    for (int i = 0; i < images; ++i)
        on_the_host(&input[i * pixels], &wanted[i * pixels], rows, columns, host_weights, threshold);
    size_t wrong = 0, bright = 0;
    for (size_t i = 0; i < bytes; ++i) {
        wrong += output[i] != wanted[i];
        bright += output[i] == 255;
    }
    printf("%zu of %zu pixels are edges, %zu are wrong\n", bright, bytes, wrong);
    printf("%s\n", wrong == 0 && bright > 0 ? "PASSED" : "FAILED");
    return wrong == 0 && bright > 0 ? 0 : 1;
}
