// K-means until no point changes its cluster: float atomics, centers in constant memory, a counter that the host reads every round.
// Arguments: 600 5 40

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int MAX_CLUSTERS = 16;
constexpr int DIMENSIONS = 3;

__constant__ float centers[MAX_CLUSTERS * DIMENSIONS];

static void check(cudaError_t error, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "kmeans.cu:%d: %s\n", line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}
#define CHECK(call) check(call, __LINE__)

// Points lie dimension after dimension.
__global__ void assign(const float *points, int n, int clusters, int *membership, float *sums, int *counts, int *changed)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= n)
        return;
    int best = 0;
    float best_distance = FLT_MAX;
    for (int cluster = 0; cluster < clusters; ++cluster) {
        float distance = 0.0f;
        for (int d = 0; d < DIMENSIONS; ++d) {
            float difference = points[d * n + point] - centers[cluster * DIMENSIONS + d];
            distance += difference * difference;
        }
        if (distance < best_distance) {
            best_distance = distance;
            best = cluster;
        }
    }
    if (membership[point] != best) {
        membership[point] = best;
        atomicAdd(changed, 1);
    }
    for (int d = 0; d < DIMENSIONS; ++d)
        atomicAdd(&sums[best * DIMENSIONS + d], points[d * n + point]);
    atomicAdd(&counts[best], 1);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 600, clusters = argc > 2 ? atoi(argv[2]) : 5;
    const int limit = argc > 3 ? atoi(argv[3]) : 40;
    if (clusters < 1 || clusters > MAX_CLUSTERS) {
        fprintf(stderr, "1 to %d clusters\n", MAX_CLUSTERS);
        return 2;
    }
    // Points around as many corners as there are clusters, in steps that floats add without loss.
    std::vector<float> points(n * DIMENSIONS), host_centers(clusters * DIMENSIONS);
    unsigned seed = 12345;
    auto random = [&seed](unsigned range) { return (seed = seed * 1664525u + 1013904223u) / 65536u % range; };
    for (int i = 0; i < n; ++i)
        for (int d = 0; d < DIMENSIONS; ++d)
            points[d * n + i] = (float)((i % clusters * (d + 3)) % 7 * 24 + random(200)) / 8.0f;
    for (int c = 0; c < clusters; ++c)
        for (int d = 0; d < DIMENSIONS; ++d)
            host_centers[c * DIMENSIONS + d] = points[d * n + c];

    float *d_points, *d_sums;
    int *d_membership, *d_counts, *d_changed;
    CHECK(cudaMalloc(&d_points, points.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_sums, clusters * DIMENSIONS * sizeof(float)));
    CHECK(cudaMalloc(&d_membership, n * sizeof(int)));
    CHECK(cudaMalloc(&d_counts, clusters * sizeof(int)));
    CHECK(cudaMalloc(&d_changed, sizeof(int)));
    CHECK(cudaMemcpy(d_points, points.data(), points.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_membership, 0xff, n * sizeof(int)));

    int changed = n, rounds = 0;
    std::vector<float> sums(clusters * DIMENSIONS);
    std::vector<int> counts(clusters);
    while (changed > 0 && rounds < limit) {
        CHECK(cudaMemcpyToSymbol(centers, host_centers.data(), host_centers.size() * sizeof(float)));
        CHECK(cudaMemset(d_sums, 0, sums.size() * sizeof(float)));
        CHECK(cudaMemset(d_counts, 0, counts.size() * sizeof(int)));
        CHECK(cudaMemset(d_changed, 0, sizeof(int)));
        assign<<<(n + 95) / 96, 96>>>(d_points, n, clusters, d_membership, d_sums, d_counts, d_changed);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&changed, d_changed, sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(sums.data(), d_sums, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(counts.data(), d_counts, counts.size() * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < clusters * DIMENSIONS; ++i)
            if (counts[i / DIMENSIONS] > 0)
                host_centers[i] = sums[i] / (float)counts[i / DIMENSIONS];
        ++rounds;
    }
    std::vector<int> membership(n);
    CHECK(cudaMemcpy(membership.data(), d_membership, n * sizeof(int), cudaMemcpyDeviceToHost));

    // When nothing changes any more, every point is with its nearest center.
    int errors = changed != 0;
    for (int i = 0; i < n; ++i) {
        double own = 0.0, nearest = DBL_MAX;
        for (int c = 0; c < clusters; ++c) {
            double distance = 0.0;
            for (int d = 0; d < DIMENSIONS; ++d)
                distance += std::pow(points[d * n + i] - host_centers[c * DIMENSIONS + d], 2.0);
            nearest = std::fmin(nearest, distance);
            own = membership[i] == c ? distance : own;
        }
        errors += membership[i] < 0 || membership[i] >= clusters || own > nearest + 1e-4;
    }
    printf("%d points, %d clusters, %d rounds\n%s\n", n, clusters, rounds, errors ? "FAILED" : "PASSED");
    cudaFree(d_points), cudaFree(d_sums), cudaFree(d_membership), cudaFree(d_counts), cudaFree(d_changed);
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
