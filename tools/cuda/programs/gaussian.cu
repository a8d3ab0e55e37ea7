// Gaussian elimination with two launches a column, so hundreds of small launches with growing arguments; the host solves the triangle.
// Arguments: -s 64

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

static void checkCUDAError(const char *message)
{
    cudaError_t err = cudaGetLastError();
    if (cudaSuccess != err) {
        fprintf(stderr, "Cuda error: %s: %s.\n", message, cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}

// Factors of the rows below row t.
__global__ void factors(float *m, const float *a, int size, int t)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= size - 1 - t)
        return;
    m[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / a[size * t + t];
}

// Takes row t, with its factor, from each row below it.
__global__ void eliminate(const float *m, float *a, float *b, int size, int rows, int t)
{
    int row = threadIdx.y + blockIdx.y * blockDim.y, column = threadIdx.x + blockIdx.x * blockDim.x;
    if (row >= rows || column >= size - t)
        return;
    float factor = m[size * (row + 1 + t) + t];
    a[size * (row + 1 + t) + column + t] -= factor * a[size * t + column + t];
    if (column == 0)
        b[row + 1 + t] -= factor * b[t];
}

int main(int argc, char *argv[])
{
    int size = 64;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
            size = atoi(argv[++i]);

    size_t bytes = sizeof(float) * size * size;
    float *a = (float *)malloc(bytes), *original = (float *)malloc(bytes);
    float *b = (float *)malloc(sizeof(float) * size), *right = (float *)malloc(sizeof(float) * size);
    double *x = (double *)malloc(sizeof(double) * size);
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++)
            a[i * size + j] = 10.0f * expf(-0.1f * (float)abs(i - j));
        b[i] = 1.0f + (float)(i % 3);
    }
    memcpy(original, a, bytes);
    memcpy(right, b, sizeof(float) * size);

    float *m_cuda, *a_cuda, *b_cuda;
    cudaMalloc((void **)&m_cuda, bytes);
    cudaMalloc((void **)&a_cuda, bytes);
    cudaMalloc((void **)&b_cuda, sizeof(float) * size);
    cudaMemset(m_cuda, 0, bytes);
    cudaMemcpy(a_cuda, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b_cuda, b, sizeof(float) * size, cudaMemcpyHostToDevice);
    checkCUDAError("set-up");

    dim3 threads(16, 8);
    for (int t = 0; t < size - 1; t++) {
        int rows = size - 1 - t, columns = size - t;
        factors<<<(rows + 63) / 64, 64>>>(m_cuda, a_cuda, size, t);
        dim3 blocks((columns + 15) / 16, (rows + 7) / 8);
        eliminate<<<blocks, threads>>>(m_cuda, a_cuda, b_cuda, size, rows, t);
        checkCUDAError("elimination");
    }
    cudaDeviceSynchronize();
    cudaMemcpy(a, a_cuda, bytes, cudaMemcpyDeviceToHost);
    cudaMemcpy(b, b_cuda, sizeof(float) * size, cudaMemcpyDeviceToHost);
    checkCUDAError("results");

    for (int i = size - 1; i >= 0; i--) {
        double sum = b[i];
        for (int j = i + 1; j < size; j++)
            sum -= a[i * size + j] * x[j];
        x[i] = sum / a[i * size + i];
    }
    double worst = 0.0;
    for (int i = 0; i < size; i++) {
        double sum = 0.0;
        for (int j = 0; j < size; j++)
            sum += original[i * size + j] * x[j];
        worst = fmax(worst, fabs(sum - right[i]));
    }
    int failed = !(worst < 1e-3);
    printf("size %d, %d launches, residual %g\n%s\n", size, 2 * (size - 1), worst, failed ? "FAILED" : "PASSED");
    cudaFree(m_cuda);
    cudaFree(a_cuda);
    cudaFree(b_cuda);
    free(a);
    free(original);
    free(b);
    free(right);
    free(x);
    return failed;
}
