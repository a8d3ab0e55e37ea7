// Pointers in device memory: an array of rows, a linked list and a search tree whose nodes the host builds with device addresses.
// Arguments: 90 37

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t result = (call);                                                 \
        if (result != cudaSuccess) {                                                 \
            printf("CUDA: %s (line %d)\n", cudaGetErrorString(result), __LINE__);    \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

struct Cell {
    int value;
    Cell *next;
};

struct TreeNode {
    int key;
    TreeNode *left;
    TreeNode *right;
};

struct Table {
    float **rows;
    int count;
    int width;
};

__global__ void scale_rows(const Table *table)
{
    for (int row = blockIdx.x; row < table->count; row += gridDim.x)
        for (int x = threadIdx.x; x < table->width; x += blockDim.x)
            table->rows[row][x] *= (float)(row + 1);
}

// Every thread walks its own list and turns it around.
__global__ void reverse(Cell **heads, int lists, long long *sums)
{
    int list = blockIdx.x * blockDim.x + threadIdx.x;
    if (list >= lists)
        return;
    Cell *done = nullptr, *rest = heads[list];
    long long sum = 0, place = 0;
    while (rest) {
        Cell *next = rest->next;
        rest->next = done;
        done = rest;
        sum += rest->value * ++place;
        rest = next;
    }
    heads[list] = done;
    sums[list] = sum;
}

__global__ void find(const TreeNode *root, int keys, int *found)
{
    int key = blockIdx.x * blockDim.x + threadIdx.x;
    if (key >= keys)
        return;
    const TreeNode *node = root;
    while (node && node->key != key)
        node = key < node->key ? node->left : node->right;
    found[key] = node ? (int)(node - root) : -1;
}

// Puts keys [begin, end) of a sorted list below one node; returns its place.
static int build(std::vector<TreeNode> &nodes, TreeNode *device, const std::vector<int> &keys, int begin, int end)
{
    if (begin == end)
        return -1;
    int middle = (begin + end) / 2, place = (int)nodes.size();
    nodes.push_back({keys[middle], nullptr, nullptr});
    int left = build(nodes, device, keys, begin, middle), right = build(nodes, device, keys, middle + 1, end);
    nodes[place].left = left < 0 ? nullptr : device + left;
    nodes[place].right = right < 0 ? nullptr : device + right;
    return place;
}

int main(int argc, char **argv)
{
    const int lists = argc > 1 ? atoi(argv[1]) : 90, width = argc > 2 ? atoi(argv[2]) : 37, rows = 6;
    int errors = 0;

    std::vector<float *> row_pointers(rows);
    std::vector<float> values(width);
    for (int row = 0; row < rows; ++row) {
        CHECK(cudaMalloc(&row_pointers[row], width * sizeof(float)));
        for (int x = 0; x < width; ++x)
            values[x] = (float)(x - row);
        CHECK(cudaMemcpy(row_pointers[row], values.data(), width * sizeof(float), cudaMemcpyHostToDevice));
    }
    Table table{nullptr, rows, width}, *d_table;
    CHECK(cudaMalloc(&table.rows, rows * sizeof(float *)));
    CHECK(cudaMemcpy(table.rows, row_pointers.data(), rows * sizeof(float *), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&d_table, sizeof(Table)));
    CHECK(cudaMemcpy(d_table, &table, sizeof(Table), cudaMemcpyHostToDevice));
    scale_rows<<<4, 32>>>(d_table);
    for (int row = 0; row < rows; ++row) {
        CHECK(cudaMemcpy(values.data(), row_pointers[row], width * sizeof(float), cudaMemcpyDeviceToHost));
        for (int x = 0; x < width; ++x)
            errors += values[x] != (float)((x - row) * (row + 1));
    }

    // List i has i % 9 cells, scattered over one pool.
    Cell *pool;
    const int cells = lists * 9;
    CHECK(cudaMalloc(&pool, cells * sizeof(Cell)));
    std::vector<Cell> host_pool(cells, Cell{-1, nullptr});
    std::vector<Cell *> heads(lists, nullptr);
    std::vector<long long> wanted(lists, 0), sums(lists);
    for (int list = 0; list < lists; ++list)
        for (int i = list % 9; i > 0; --i) {
            int place = (i * lists + list * 7) % cells;
            while (host_pool[place].value >= 0)
                place = (place + 1) % cells;
            host_pool[place] = Cell{list + i, heads[list]};
            heads[list] = pool + place;
            wanted[list] += (long long)(list + i) * i;
        }
    Cell **d_heads;
    long long *d_sums;
    CHECK(cudaMalloc(&d_heads, lists * sizeof(Cell *)));
    CHECK(cudaMalloc(&d_sums, lists * sizeof(long long)));
    CHECK(cudaMemcpy(pool, host_pool.data(), cells * sizeof(Cell), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_heads, heads.data(), lists * sizeof(Cell *), cudaMemcpyHostToDevice));
    reverse<<<(lists + 63) / 64, 64>>>(d_heads, lists, d_sums);
    CHECK(cudaMemcpy(sums.data(), d_sums, lists * sizeof(long long), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(heads.data(), d_heads, lists * sizeof(Cell *), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host_pool.data(), pool, cells * sizeof(Cell), cudaMemcpyDeviceToHost));
    for (int list = 0; list < lists; ++list) {
        errors += sums[list] != wanted[list];
        int i = list % 9;
        for (Cell *cell = heads[list]; cell; cell = host_pool[cell - pool].next)
            errors += host_pool[cell - pool].value != list + i--;
        errors += i != 0;
    }

    std::set<int> chosen;
    for (int i = 0; i < lists; ++i)
        chosen.insert(i * i % 211);
    std::vector<int> keys(chosen.begin(), chosen.end()), found(211);
    TreeNode *tree;
    std::vector<TreeNode> nodes;
    int *d_found;
    CHECK(cudaMalloc(&tree, keys.size() * sizeof(TreeNode)));
    CHECK(cudaMalloc(&d_found, found.size() * sizeof(int)));
    build(nodes, tree, keys, 0, (int)keys.size());
    CHECK(cudaMemcpy(tree, nodes.data(), nodes.size() * sizeof(TreeNode), cudaMemcpyHostToDevice));
    find<<<7, 32>>>(tree, (int)found.size(), d_found);
    CHECK(cudaMemcpy(found.data(), d_found, found.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int key = 0; key < (int)found.size(); ++key)
        errors += chosen.count(key) ? found[key] < 0 || nodes[found[key]].key != key : found[key] != -1;

    printf("%d rows, %d lists, %zu keys: %s\n", rows, lists, keys.size(), errors ? "FAILED" : "PASSED");
    CHECK(cudaDeviceReset());
    return errors ? 1 : 0;
}
