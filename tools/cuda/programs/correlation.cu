// A correlation matrix as benchmark suites have it: means, deviations, normalization and products in four kernels over double data.
// Arguments: 32 24

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

typedef double DATA_TYPE;
#define EPSILON 0.005
#define AT(matrix, row, column) matrix[(row) * m + (column)]

#define CHECK(call)                                                                  \
    if ((call) != cudaSuccess) {                                                     \
        fprintf(stderr, "error in line %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); \
        exit(1);                                                                     \
    }

__global__ void mean_kernel(DATA_TYPE *mean, const DATA_TYPE *data, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            mean[j] += AT(data, i, j);
        mean[j] /= (DATA_TYPE)n;
    }
}

__global__ void deviation_kernel(const DATA_TYPE *mean, DATA_TYPE *deviation, const DATA_TYPE *data, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) {
        DATA_TYPE sum = 0.0;
        for (int i = 0; i < n; i++)
            sum += (AT(data, i, j) - mean[j]) * (AT(data, i, j) - mean[j]);
        sum = sqrt(sum / n);
        deviation[j] = sum <= EPSILON ? 1.0 : sum;
    }
}

__global__ void normalize_kernel(const DATA_TYPE *mean, const DATA_TYPE *deviation, DATA_TYPE *data, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m)
        AT(data, i, j) = (AT(data, i, j) - mean[j]) / (sqrt((DATA_TYPE)n) * deviation[j]);
}

__global__ void correlation_kernel(DATA_TYPE *correlation, const DATA_TYPE *data, int n, int m)
{
    int one = blockIdx.x * blockDim.x + threadIdx.x;
    if (one < m) {
        AT(correlation, one, one) = 1.0;
        for (int two = one + 1; two < m; two++) {
            DATA_TYPE sum = 0.0;
            for (int i = 0; i < n; i++)
                sum += AT(data, i, one) * AT(data, i, two);
            AT(correlation, one, two) = AT(correlation, two, one) = sum;
        }
    }
}

static void on_host(DATA_TYPE *data, DATA_TYPE *correlation, int n, int m)
{
    for (int j = 0; j < m; j++) {
        DATA_TYPE mean = 0.0, deviation = 0.0;
        for (int i = 0; i < n; i++)
            mean += AT(data, i, j) / n;
        for (int i = 0; i < n; i++)
            deviation += pow(AT(data, i, j) - mean, 2.0);
        deviation = sqrt(deviation / n);
        for (int i = 0; i < n; i++)
            AT(data, i, j) = (AT(data, i, j) - mean) / (sqrt((DATA_TYPE)n) * (deviation <= EPSILON ? 1.0 : deviation));
    }
    for (int one = 0; one < m; one++)
        for (int two = 0; two < m; two++) {
            DATA_TYPE sum = 0.0;
            for (int i = 0; i < n; i++)
                sum += AT(data, i, one) * AT(data, i, two);
            AT(correlation, one, two) = one == two ? 1.0 : sum;
        }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 32, m = argc > 2 ? atoi(argv[2]) : 24;
    size_t bytes = sizeof(DATA_TYPE) * n * m, square = sizeof(DATA_TYPE) * m * m;
    DATA_TYPE *data = (DATA_TYPE *)malloc(bytes), *wanted = (DATA_TYPE *)malloc(square), *got = (DATA_TYPE *)malloc(square);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            AT(data, i, j) = j == 5 ? 2.0 : (DATA_TYPE)((i * j + 3 * i + j * j) % 19) / m;

    DATA_TYPE *d_data, *d_mean, *d_deviation, *d_correlation;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc((void **)&d_data, bytes));
    CHECK(cudaMalloc((void **)&d_mean, sizeof(DATA_TYPE) * m));
    CHECK(cudaMalloc((void **)&d_deviation, sizeof(DATA_TYPE) * m));
    CHECK(cudaMalloc((void **)&d_correlation, square));
    CHECK(cudaMemcpy(d_data, data, bytes, cudaMemcpyHostToDevice));

    dim3 line(32), plane(16, 8);
    int blocks = (m + 31) / 32;
    mean_kernel<<<blocks, line>>>(d_mean, d_data, n, m);
    deviation_kernel<<<blocks, line>>>(d_mean, d_deviation, d_data, n, m);
    normalize_kernel<<<dim3((m + 15) / 16, (n + 7) / 8), plane>>>(d_mean, d_deviation, d_data, n, m);
    correlation_kernel<<<blocks, line>>>(d_correlation, d_data, n, m);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, d_correlation, square, cudaMemcpyDeviceToHost));

    on_host(data, wanted, n, m);
    int errors = 0;
    for (int i = 0; i < m * m; i++)
        errors += !(fabs(got[i] - wanted[i]) < 1e-9);
    printf("%d by %d, non-matching outputs: %d, %s\n", n, m, errors, errors ? "FAILED" : "PASSED");
    cudaFree(d_data);
    cudaFree(d_mean);
    cudaFree(d_deviation);
    cudaFree(d_correlation);
    free(data);
    free(wanted);
    free(got);
    return errors ? 1 : 0;
}
