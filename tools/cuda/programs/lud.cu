// LU decomposition in blocks with three kernels a step: the diagonal, its row and column, and the rest; the product is checked.
// Arguments: 64

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define B 16

#define CHECK(call) checked((call), __LINE__)
static void checked(cudaError_t status, int line)
{
    if (status) {
        fprintf(stderr, "lud: line %d: %s\n", line, cudaGetErrorString(status));
        exit(1);
    }
}

__global__ void diagonal(float *m, int n, int offset)
{
    __shared__ float block[B][B];
    float *corner = m + offset * n + offset;
    for (int row = 0; row < B; row++)
        block[row][threadIdx.x] = corner[row * n + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < B - 1; i++) {
        if (threadIdx.x > i) {
            for (int j = 0; j < i; j++)
                block[threadIdx.x][i] -= block[threadIdx.x][j] * block[j][i];
            block[threadIdx.x][i] /= block[i][i];
        }
        __syncthreads();
        if (threadIdx.x > i)
            for (int j = 0; j < i + 1; j++)
                block[i + 1][threadIdx.x] -= block[i + 1][j] * block[j][threadIdx.x];
        __syncthreads();
    }
    for (int row = 1; row < B; row++)
        corner[row * n + threadIdx.x] = block[row][threadIdx.x];
}

// The first half of the threads works on a block of the row, the second on one of the column.
__global__ void perimeter(float *m, int n, int offset)
{
    __shared__ float of_diagonal[B][B], of_row[B][B], of_column[B][B + 1];
    int t = threadIdx.x % B, far = offset + (blockIdx.x + 1) * B;
    for (int row = threadIdx.x / B; row < B; row += 2) {
        of_diagonal[row][t] = m[(offset + row) * n + offset + t];
        of_row[row][t] = m[(offset + row) * n + far + t];
        of_column[row][t] = m[(far + row) * n + offset + t];
    }
    __syncthreads();
    if (threadIdx.x < B) {
        for (int i = 1; i < B; i++)
            for (int j = 0; j < i; j++)
                of_row[i][t] -= of_diagonal[i][j] * of_row[j][t];
    } else {
        for (int i = 0; i < B; i++) {
            for (int j = 0; j < i; j++)
                of_column[t][i] -= of_column[t][j] * of_diagonal[j][i];
            of_column[t][i] /= of_diagonal[i][i];
        }
    }
    __syncthreads();
    for (int row = threadIdx.x / B; row < B; row += 2) {
        m[(offset + row) * n + far + t] = of_row[row][t];
        m[(far + row) * n + offset + t] = of_column[row][t];
    }
}

__global__ void internal(float *m, int n, int offset)
{
    __shared__ float left[B][B], above[B][B];
    int row = offset + (blockIdx.y + 1) * B + threadIdx.y, column = offset + (blockIdx.x + 1) * B + threadIdx.x;
    left[threadIdx.y][threadIdx.x] = m[row * n + offset + threadIdx.x];
    above[threadIdx.y][threadIdx.x] = m[(offset + threadIdx.y) * n + column];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < B; i++)
        sum += left[threadIdx.y][i] * above[i][threadIdx.x];
    m[row * n + column] -= sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64;
    if (n < B || n % B) {
        fprintf(stderr, "usage: %s SIZE, a multiple of %d\n", argv[0], B);
        return 2;
    }
    std::vector<float> original(n * n), result(n * n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            original[i * n + j] = (i == j ? (float)n : 0.0f) + (float)((i * 13 + j * 7) % 11) * 0.25f;

    float *m;
    CHECK(cudaMalloc((void **)&m, n * n * sizeof(float)));
    CHECK(cudaMemcpy(m, original.data(), n * n * sizeof(float), cudaMemcpyHostToDevice));
    int offset = 0;
    for (; offset < n - B; offset += B) {
        int blocks = (n - offset) / B - 1;
        diagonal<<<1, B>>>(m, n, offset);
        perimeter<<<blocks, 2 * B>>>(m, n, offset);
        internal<<<dim3(blocks, blocks), dim3(B, B)>>>(m, n, offset);
    }
    diagonal<<<1, B>>>(m, n, offset);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), m, n * n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(m));

    double worst = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k <= (i < j ? i : j); k++)
                sum += (i == k ? 1.0 : (double)result[i * n + k]) * result[k * n + j];
            worst = std::fmax(worst, std::fabs(sum - original[i * n + j]));
        }
    bool right = worst < 1e-3;
    printf("size %d, worst difference %g: %s\n", n, worst, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
