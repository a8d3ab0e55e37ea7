// Needleman-Wunsch in blocks along the diagonals of the matrix, first growing and then shrinking; the path is traced on the host.
// Arguments: 96 10

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define BLOCK 16
#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t code = (call);                                                           \
        if (code != cudaSuccess) {                                                           \
            fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(code));   \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

__constant__ int scores[4][4];

__host__ __device__ inline int maximum(int a, int b, int c)
{
    int most = a > b ? a : b;
    return most > c ? most : c;
}

// Block (bx, by) of the diagonal needs those above it, left of it and between.
__global__ void diagonal_of_blocks(int *matrix, const char *one, const char *two, int columns, int penalty, int first_x,
                                   int diagonal)
{
    __shared__ int cells[BLOCK + 1][BLOCK + 1];
    int bx = first_x + blockIdx.x, by = diagonal - bx, t = threadIdx.x;
    int corner = by * BLOCK * columns + bx * BLOCK;
    if (t == 0)
        cells[0][0] = matrix[corner];
    cells[0][t + 1] = matrix[corner + t + 1];
    cells[t + 1][0] = matrix[corner + (t + 1) * columns];
    __syncthreads();
    for (int step = 0; step < 2 * BLOCK - 1; ++step) {
        int x = t + 1, y = step - t + 1;
        if (y >= 1 && y <= BLOCK)
            cells[y][x] = maximum(cells[y - 1][x - 1] + scores[one[by * BLOCK + y - 1]][two[bx * BLOCK + x - 1]],
                                  cells[y][x - 1] - penalty, cells[y - 1][x] - penalty);
        __syncthreads();
    }
    for (int y = 1; y <= BLOCK; ++y)
        matrix[corner + y * columns + t + 1] = cells[y][t + 1];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 96, penalty = argc > 2 ? atoi(argv[2]) : 10;
    if (n <= 0 || n % BLOCK != 0) {
        fprintf(stderr, "the length is a multiple of %d\n", BLOCK);
        return 2;
    }
    const int columns = n + 1, blocks = n / BLOCK;
    int host_scores[4][4];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            host_scores[i][j] = i == j ? 5 + i : -3 - (i + j) % 2;
    CHECK(cudaMemcpyToSymbol(scores, host_scores, sizeof(host_scores)));
    srand(7);
    std::vector<char> one(n), two(n);
    for (int i = 0; i < n; ++i) {
        one[i] = rand() % 4;
        two[i] = i > 8 && rand() % 3 ? one[i - 3] : rand() % 4;
    }
    std::vector<int> matrix(columns * columns, 0), wanted;
    for (int i = 1; i <= n; ++i)
        matrix[i] = matrix[i * columns] = -i * penalty;
    wanted = matrix;

    int *d_matrix;
    char *d_one, *d_two;
    CHECK(cudaMalloc(&d_matrix, matrix.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_one, n));
    CHECK(cudaMalloc(&d_two, n));
    CHECK(cudaMemcpy(d_matrix, matrix.data(), matrix.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_one, one.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_two, two.data(), n, cudaMemcpyHostToDevice));
    for (int diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
        int first = std::max(0, diagonal - blocks + 1), last = std::min(diagonal, blocks - 1);
        diagonal_of_blocks<<<last - first + 1, BLOCK>>>(d_matrix, d_one, d_two, columns, penalty, first, diagonal);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(matrix.data(), d_matrix, matrix.size() * sizeof(int), cudaMemcpyDeviceToHost));

    for (int y = 1; y <= n; ++y)
        for (int x = 1; x <= n; ++x)
            wanted[y * columns + x] = maximum(wanted[(y - 1) * columns + x - 1] + host_scores[(int)one[y - 1]][(int)two[x - 1]],
                                              wanted[y * columns + x - 1] - penalty, wanted[(y - 1) * columns + x] - penalty);
    std::string path;
    for (int y = n, x = n; y > 0 || x > 0;) {
        int here = matrix[y * columns + x];
        if (y > 0 && x > 0 && here == matrix[(y - 1) * columns + x - 1] + host_scores[(int)one[y - 1]][(int)two[x - 1]])
            path += one[--y] == two[--x] ? '|' : '.';
        else if (x > 0 && here == matrix[y * columns + x - 1] - penalty)
            path += '>', --x;
        else
            path += 'v', --y;
        if ((int)path.size() > 2 * n)
            break;
    }
    bool right = matrix == wanted && (int)path.size() <= 2 * n;
    printf("score %d, %zu steps\n%s\n", matrix.back(), path.size(), right ? "PASSED" : "FAILED");
    CHECK(cudaFree(d_matrix));
    CHECK(cudaFree(d_one));
    CHECK(cudaFree(d_two));
    return right ? 0 : 1;
}
