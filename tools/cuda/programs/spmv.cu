// A sparse matrix of a file in compressed rows, times a vector: a row per thread, and a row per warp with shuffles.
// Arguments: spmv.txt 150

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                 \
    do {                                                                            \
        const cudaError_t status = call;                                            \
        if (status != cudaSuccess) {                                                \
            std::printf("%s: %s\n", #call, cudaGetErrorString(status));             \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

// A matrix as kernels take it, by value.
struct Matrix {
    int rows;
    const int *starts;
    const int *columns;
    const double *values;
};

__global__ void by_thread(Matrix m, const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m.rows)
        return;
    double sum = 0.0;
    for (int i = m.starts[row]; i < m.starts[row + 1]; ++i)
        sum += m.values[i] * x[m.columns[i]];
    y[row] = sum;
}

__global__ void by_warp(Matrix m, const double *x, double *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= m.rows)
        return;
    double sum = 0.0;
    for (int i = m.starts[row] + lane; i < m.starts[row + 1]; i += 32)
        sum += m.values[i] * x[m.columns[i]];
    for (int distance = 16; distance > 0; distance >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane == 0)
        y[row] = sum;
}

template <typename T> T *to_device(const std::vector<T> &data)
{
    T *copy = nullptr;
    CHECK(cudaMalloc(&copy, data.size() * sizeof(T)));
    CHECK(cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return copy;
}

int main(int argc, char **argv)
{
    std::ifstream file(argc > 1 ? argv[1] : "spmv.txt");
    const int rows = argc > 2 ? std::atoi(argv[2]) : 150;
    // Each line of the file is a diagonal: its offset, its value, and at every how many rows it has one.
    std::vector<std::vector<std::pair<int, double>>> lines(rows);
    int offset, every;
    double value;
    while (file >> offset >> value >> every)
        for (int row = 0; row < rows; row += every)
            if (row + offset >= 0 && row + offset < rows)
                lines[row].push_back({row + offset, value / (1.0 + row % 7)});
    std::vector<int> starts{0}, columns;
    std::vector<double> values;
    for (const auto &line : lines) {
        for (const auto &entry : line) {
            columns.push_back(entry.first);
            values.push_back(entry.second);
        }
        starts.push_back(static_cast<int>(columns.size()));
    }
    if (columns.empty()) {
        std::puts("no input");
        return 1;
    }
    std::vector<double> x(rows), wanted(rows, 0.0);
    std::iota(x.begin(), x.end(), 1.0);
    for (int row = 0; row < rows; ++row)
        for (int i = starts[row]; i < starts[row + 1]; ++i)
            wanted[row] += values[i] * x[columns[i]];

    int *device_starts = to_device(starts), *device_columns = to_device(columns);
    double *device_values = to_device(values), *device_x = to_device(x);
    double *y = to_device(std::vector<double>(rows, -1.0));
    Matrix m{rows, device_starts, device_columns, device_values};
    int errors = 0;
    for (int variant = 0; variant < 2; ++variant) {
        if (variant == 0)
            by_thread<<<(rows + 63) / 64, 64>>>(m, device_x, y);
        else
            by_warp<<<(rows * 32 + 127) / 128, 128>>>(m, device_x, y);
        CHECK(cudaGetLastError());
        std::vector<double> got(rows);
        CHECK(cudaMemcpy(got.data(), y, rows * sizeof(double), cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(y, 0, rows * sizeof(double)));
        for (int row = 0; row < rows; ++row)
            errors += !(std::fabs(got[row] - wanted[row]) <= 1e-9 * (1.0 + std::fabs(wanted[row])));
    }
    for (void *memory : {(void *)device_starts, (void *)device_columns, (void *)device_values, (void *)device_x, (void *)y})
        CHECK(cudaFree(memory));
    std::printf("%d rows, %zu values: %s\n", rows, values.size(), errors ? "FAILED" : "PASSED");
    return errors != 0;
}
