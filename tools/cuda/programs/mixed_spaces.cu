// Pointers that lead to another memory in each thread of a warp: loads, stores and atomics by functions that do not know which.
// Arguments: 3

#include <cstdio>
#include <cstdlib>
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

const int THREADS = 96;

// A place in one of the memories.
struct __align__(16) Record {
    int word;
    signed char byte;
    unsigned char other;
    short half;
    long long wide;
};

__device__ __noinline__ int load_word(const int *place)
{
    return *(volatile const int *)place;
}

__device__ __noinline__ int load_small(const Record *place)
{
    return place->byte + 1000 * place->other + place->half;
}

__device__ __noinline__ long long load_wide(const long long *place)
{
    return *place;
}

__device__ __noinline__ void store(Record *place, Record record)
{
    *place = record;
}

__device__ __noinline__ int add(int *place, int value)
{
    return atomicAdd(place, value);
}

__device__ __noinline__ void largest(int *place, int value)
{
    atomicMax(place, value);
}

__host__ __device__ Record record_of(int number)
{
    Record record;
    record.word = 7 * number + 1;
    record.byte = (signed char)(-(number % 100));
    record.other = (unsigned char)(number % 200);
    record.half = (short)(3 * number - 200);
    record.wide = 5000000000LL * number + 2;
    return record;
}

__host__ __device__ long long sum_of(const Record &record)
{
    return record.word + record.byte + 1000LL * record.other + record.half + record.wide;
}

// Thread t uses the memory (t + turn) % 3: its own local one, shared or global memory. Threads of some warps sit out.
__global__ void everywhere(Record *global, long long *sums, int turn)
{
    __shared__ Record shared[THREADS];
    Record local;
    int thread = threadIdx.x, place = blockIdx.x * blockDim.x + thread;
    local = shared[thread] = global[place] = record_of(0);
    int choice = (thread + turn) % 3;
    Record *mine = choice == 0 ? &local : choice == 1 ? &shared[thread] : &global[place];
    __syncthreads();
    long long sum = -1;
    if (thread % 32 != 5 && thread < 80) {
        store(mine, record_of(place));
        sum = load_word(&mine->word) + load_small(mine) + load_wide(&mine->wide);
    }
    __syncthreads();
    // What the memories hold now, each by its own name.
    long long kept = sum_of(local) + sum_of(shared[thread]) + sum_of(global[place]);
    sums[2 * place] = sum;
    sums[2 * place + 1] = kept;
}

// Even threads count in shared memory, the others in global memory, by the same instructions.
__global__ void counters(int *global, int *results)
{
    __shared__ int shared[2];
    int thread = threadIdx.x;
    if (thread < 2)
        shared[thread] = 0;
    __syncthreads();
    int *mine = thread % 2 == 0 ? shared : global + 2 * blockIdx.x;
    int before = add(mine, thread);
    largest(mine + 1, 1000 + thread);
    __syncthreads();
    // What each thread found lies between nothing and the sum.
    int *result = results + 5 * blockIdx.x;
    if (thread == 0) {
        result[0] = shared[0];
        result[1] = shared[1];
        result[2] = global[2 * blockIdx.x];
        result[3] = global[2 * blockIdx.x + 1];
    }
    if (before < 0 || before > THREADS * THREADS)
        atomicAdd(result + 4, 1);
}

int main(int argc, char **argv)
{
    const int blocks = argc > 1 ? atoi(argv[1]) : 3, threads = blocks * THREADS;
    int errors = 0;

    Record *d_records;
    long long *d_sums;
    CHECK(cudaMalloc(&d_records, threads * sizeof(Record)));
    CHECK(cudaMalloc(&d_sums, 2 * threads * sizeof(long long)));
    std::vector<long long> sums(2 * threads);
    const long long empty = sum_of(record_of(0));
    for (int turn = 0; turn < 3; ++turn) {
        everywhere<<<blocks, THREADS>>>(d_records, d_sums, turn);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(sums.data(), d_sums, sums.size() * sizeof(long long), cudaMemcpyDeviceToHost));
        for (int place = 0; place < threads; ++place) {
            int thread = place % THREADS;
            bool takes_part = thread % 32 != 5 && thread < 80;
            long long own = sum_of(record_of(place));
            errors += sums[2 * place] != (takes_part ? own : -1);
            errors += sums[2 * place + 1] != 2 * empty + (takes_part ? own : empty);
        }
    }

    int *d_counters, *d_results;
    std::vector<int> results(5 * blocks);
    CHECK(cudaMalloc(&d_counters, 2 * blocks * sizeof(int)));
    CHECK(cudaMalloc(&d_results, results.size() * sizeof(int)));
    CHECK(cudaMemset(d_counters, 0, 2 * blocks * sizeof(int)));
    CHECK(cudaMemset(d_results, 0, results.size() * sizeof(int)));
    counters<<<blocks, THREADS>>>(d_counters, d_results);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(results.data(), d_results, results.size() * sizeof(int), cudaMemcpyDeviceToHost));
    int even = 0, odd = 0;
    for (int thread = 0; thread < THREADS; ++thread)
        (thread % 2 == 0 ? even : odd) += thread;
    for (int block = 0; block < blocks; ++block) {
        const int *result = results.data() + 5 * block;
        errors += result[0] != even || result[1] != 1000 + THREADS - 2;
        errors += result[2] != odd || result[3] != 1000 + THREADS - 1;
        errors += result[4] != 0;
    }

    CHECK(cudaFree(d_records));
    CHECK(cudaFree(d_sums));
    CHECK(cudaFree(d_counters));
    CHECK(cudaFree(d_results));
    printf("%d threads, %d errors: %s\n", threads, errors, errors ? "FAILED" : "PASSED");
    return errors ? 1 : 0;
}
