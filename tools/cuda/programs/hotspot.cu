// Heat that spreads over a chip, one launch a step between two buffers; power from a file, temperatures into a temporary file.
// Arguments: hotspot.txt 12

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define TILE 16

static void check(cudaError_t status, const char *doing)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(status));
        exit(1);
    }
}

__host__ __device__ inline float heat(float center, float north, float south, float west, float east, float power)
{
    return center + 0.1f * (north + south + west + east - 4.0f * center) + 0.05f * power + 0.01f * (25.0f - center);
}

__global__ void step(const float *from, const float *power, float *to, int rows, int columns)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    // The edge repeats its last value.
    int cx = min(x, columns - 1), cy = min(y, rows - 1);
    tile[ty][tx] = from[cy * columns + cx];
    if (threadIdx.x == 0)
        tile[ty][0] = from[cy * columns + max(cx - 1, 0)];
    if (threadIdx.x == TILE - 1)
        tile[ty][TILE + 1] = from[cy * columns + min(cx + 1, columns - 1)];
    if (threadIdx.y == 0)
        tile[0][tx] = from[max(cy - 1, 0) * columns + cx];
    if (threadIdx.y == TILE - 1)
        tile[TILE + 1][tx] = from[min(cy + 1, rows - 1) * columns + cx];
    __syncthreads();
    if (x < columns && y < rows)
        to[y * columns + x] = heat(tile[ty][tx], tile[ty - 1][tx], tile[ty + 1][tx], tile[ty][tx - 1], tile[ty][tx + 1],
                                   power[y * columns + x]);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "hotspot.txt";
    int steps = argc > 2 ? atoi(argv[2]) : 12;
    FILE *input = fopen(name, "r");
    int rows, columns, sources;
    if (!input || fscanf(input, "%d %d %d", &rows, &columns, &sources) != 3) {
        fprintf(stderr, "%s: cannot be read\n", name);
        return 1;
    }
    int cells = rows * columns;
    std::vector<float> power(cells, 0.0f), temperature(cells, 40.0f);
    for (int s = 0; s < sources; ++s) {
        int y, x, height, width;
        float watts;
        if (fscanf(input, "%d %d %d %d %f", &y, &x, &height, &width, &watts) != 5)
            return 1;
        for (int r = y; r < y + height; ++r)
            for (int c = x; c < x + width; ++c)
                power[r * columns + c] += watts;
    }
    fclose(input);

    float *buffers[2], *device_power;
    size_t bytes = cells * sizeof(float);
    check(cudaMalloc((void **)&buffers[0], bytes), "cudaMalloc");
    check(cudaMalloc((void **)&buffers[1], bytes), "cudaMalloc");
    check(cudaMalloc((void **)&device_power, bytes), "cudaMalloc");
    check(cudaMemcpy(buffers[0], temperature.data(), bytes, cudaMemcpyHostToDevice), "copy of temperatures");
    check(cudaMemcpy(device_power, power.data(), bytes, cudaMemcpyHostToDevice), "copy of power");
    dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    int now = 0;
    for (int s = 0; s < steps; ++s) {
        step<<<grid, block>>>(buffers[now], device_power, buffers[1 - now], rows, columns);
        check(cudaGetLastError(), "step");
        now = 1 - now;
    }
    std::vector<float> result(cells), next(cells);
    check(cudaMemcpy(result.data(), buffers[now], bytes, cudaMemcpyDeviceToHost), "copy of the result");

    for (int s = 0; s < steps; ++s) {
        for (int y = 0; y < rows; ++y)
            for (int x = 0; x < columns; ++x) {
                auto at = [&](int r, int c) {
                    r = r < 0 ? 0 : r >= rows ? rows - 1 : r;
                    c = c < 0 ? 0 : c >= columns ? columns - 1 : c;
                    return temperature[r * columns + c];
                };
                next[y * columns + x] =
                    heat(at(y, x), at(y - 1, x), at(y + 1, x), at(y, x - 1), at(y, x + 1), power[y * columns + x]);
            }
        std::swap(temperature, next);
    }
    float worst = 0.0f, hottest = 0.0f;
    FILE *output = tmpfile();
    for (int i = 0; i < cells; ++i) {
        worst = std::fmax(worst, std::fabs(result[i] - temperature[i]));
        hottest = std::fmax(hottest, result[i]);
        fprintf(output, "%d\t%g\n", i, result[i]);
    }
    fclose(output);
    for (float *buffer : {buffers[0], buffers[1], device_power})
        check(cudaFree(buffer), "cudaFree");
    printf("hottest %.3f degrees, worst difference %g\n", hottest, worst);
    printf("%s\n", worst < 1e-3f ? "PASSED" : "FAILED");
    return worst < 1e-3f ? 0 : 1;
}
