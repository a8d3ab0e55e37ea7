// A class in managed memory with its own operator new: the host builds a tree, a kernel fills in sums, the host reads and changes it.
// Arguments: 100

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t e = (call);                                                              \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "managed_tree:%d: %s\n", __LINE__, cudaGetErrorString(e));       \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

class Managed {
public:
    void *operator new(size_t bytes)
    {
        void *memory = nullptr;
        if (cudaMallocManaged(&memory, bytes) != cudaSuccess)
            throw std::bad_alloc();
        return memory;
    }
    void operator delete(void *memory)
    {
        cudaDeviceSynchronize();
        cudaFree(memory);
    }
};

struct Item : Managed {
    int value = 0;
    long long sum = 0;
    Item *children[2] = {nullptr, nullptr};

    void insert(int v)
    {
        Item *at = this;
        while (Item *child = at->children[v > at->value])
            at = child;
        at->children[v > at->value] = new Item;
        at->children[v > at->value]->value = v;
    }
    long long add() const
    {
        return value + (children[0] ? children[0]->add() : 0) + (children[1] ? children[1]->add() : 0);
    }
    ~Item()
    {
        delete children[0];
        delete children[1];
    }
};

// Each thread adds up the tree below one item, with a stack of its own.
__global__ void add_below(Item **items, int n, int *visited)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Item *stack[64];
    int depth = 0;
    long long sum = 0;
    stack[depth++] = items[i];
    while (depth > 0) {
        const Item *item = stack[--depth];
        sum += item->value;
        atomicAdd(visited, 1);
        for (int side = 0; side < 2; ++side)
            if (item->children[side])
                stack[depth++] = item->children[side];
    }
    items[i]->sum = sum;
}

static void collect(Item *item, std::vector<Item *> &into)
{
    if (!item)
        return;
    into.push_back(item);
    collect(item->children[0], into);
    collect(item->children[1], into);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    int managed = 0;
    CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
    if (!managed) {
        printf("FAILED: no managed memory\n");
        return 1;
    }
    Item *root = new Item;
    root->value = 500;
    for (int i = 1; i < n; ++i)
        root->insert(i * 7919 % 1009);
    std::vector<Item *> items;
    collect(root, items);
    Item **managed_items;
    int *visited;
    CHECK(cudaMallocManaged(&managed_items, items.size() * sizeof(Item *)));
    CHECK(cudaMallocManaged(&visited, sizeof(int), cudaMemAttachGlobal));
    for (size_t i = 0; i < items.size(); ++i)
        managed_items[i] = items[i];
    *visited = 0;

    int errors = 0, first_visits = 0;
    for (int round = 0; round < 3; ++round) {
        add_below<<<(n + 31) / 32, 32>>>(managed_items, n, visited);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        for (Item *item : items)
            errors += item->sum != item->add();
        if (round == 0)
            first_visits = *visited;
        errors += *visited != first_visits * (round + 1);
        // The host changes values in the middle of the tree for the next round.
        for (size_t i = 3; i < items.size(); i += 9)
            items[i]->value += 10 + round;
    }
    printf("%zu items, %d visits, %d errors: %s\n", items.size(), *visited, errors, errors ? "FAILED" : "PASSED");
    CHECK(cudaFree(managed_items));
    CHECK(cudaFree(visited));
    delete root;
    return errors ? 1 : 0;
}
