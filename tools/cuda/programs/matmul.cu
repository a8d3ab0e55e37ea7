// C = A * B in tiles of shared memory, once for every tile size of a template, timed with events.
// Arguments: 48 40 56

#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort)
            exit(code);
    }
}

template <int TILE>
__global__ void multiply(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int rows,
                         int inner, int columns)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int begin = 0; begin < inner; begin += TILE) {
        int ka = begin + threadIdx.x, kb = begin + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < rows && ka < inner ? a[row * inner + ka] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = kb < inner && column < columns ? b[kb * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[row * columns + column] = sum;
}

template <int TILE> void launch(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    dim3 block(TILE, TILE);
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    multiply<TILE><<<grid, block>>>(a, b, c, rows, inner, columns);
    gpuErrchk(cudaPeekAtLastError());
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 48;
    int inner = argc > 2 ? atoi(argv[2]) : 40;
    int columns = argc > 3 ? atoi(argv[3]) : 56;
    float *a = (float *)malloc(sizeof(float) * rows * inner);
    float *b = (float *)malloc(sizeof(float) * inner * columns);
    float *c = (float *)malloc(sizeof(float) * rows * columns);
    for (int i = 0; i < rows * inner; i++)
        a[i] = (float)((i * 37) % 23) / 23.0f;
    for (int i = 0; i < inner * columns; i++)
        b[i] = (float)((i * 53) % 29) / 29.0f - 0.5f;

    float *da, *db, *dc;
    gpuErrchk(cudaMalloc((void **)&da, sizeof(float) * rows * inner));
    gpuErrchk(cudaMalloc((void **)&db, sizeof(float) * inner * columns));
    gpuErrchk(cudaMalloc((void **)&dc, sizeof(float) * rows * columns));
    gpuErrchk(cudaMemcpy(da, a, sizeof(float) * rows * inner, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(db, b, sizeof(float) * inner * columns, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    gpuErrchk(cudaEventCreate(&start));
    gpuErrchk(cudaEventCreate(&stop));

    int errors = 0;
    for (int tile = 8; tile <= 16; tile *= 2) {
        gpuErrchk(cudaMemset(dc, 0xff, sizeof(float) * rows * columns));
        gpuErrchk(cudaEventRecord(start));
        if (tile == 8)
            launch<8>(da, db, dc, rows, inner, columns);
        else
            launch<16>(da, db, dc, rows, inner, columns);
        gpuErrchk(cudaEventRecord(stop));
        gpuErrchk(cudaEventSynchronize(stop));
        float ms = 0.0f;
        gpuErrchk(cudaEventElapsedTime(&ms, start, stop));
        gpuErrchk(cudaMemcpy(c, dc, sizeof(float) * rows * columns, cudaMemcpyDeviceToHost));
        for (int row = 0; row < rows; row++)
            for (int column = 0; column < columns; column++) {
                double sum = 0.0;
                for (int k = 0; k < inner; k++)
                    sum += (double)a[row * inner + k] * b[k * columns + column];
                if (!(fabs(c[row * columns + column] - sum) < 1e-4))
                    errors++;
            }
        double operations = 2.0 * rows * inner * columns;
        printf("tile %d: %.3f ms, %.2f GFLOP/s\n", tile, ms, ms > 0.0f ? operations / ms * 1e-6 : 0.0);
    }
    gpuErrchk(cudaEventDestroy(start));
    gpuErrchk(cudaEventDestroy(stop));
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    free(a);
    free(b);
    free(c);
    printf("%s\n", errors ? "Test FAILED" : "Test PASSED");
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
