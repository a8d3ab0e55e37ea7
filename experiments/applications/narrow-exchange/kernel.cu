// The smallest task with all that a task can have: the threads of a block hand numbers round in shared memory, with a barrier
// before and behind each round. Without rounds it is the smallest task with nothing.
#include "../cuda.h"

typedef void (*TaskFunction)(unsigned thread, unsigned block_threads, unsigned blocks, unsigned barrier, char *shared,
                             const char *arguments);

struct Exchange {
    const unsigned *in;
    unsigned *out;
    unsigned rounds;

    __device__ __forceinline__ void run(unsigned thread, unsigned threads, unsigned barrier, char *memory) const {
        volatile unsigned *shared = (volatile unsigned *)memory;
        const unsigned place = thread % threads;
        unsigned value = in[thread];
        for (unsigned round = 0; round < rounds; round++) {
            shared[place] = value;
            asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
            value = value * 3 + shared[(place + 1 + round) % threads];
            asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
        }
        out[thread] = value + 1;
    }
};

extern "C" __global__ void exchange(const unsigned *in, unsigned *out, unsigned rounds) {
    extern __shared__ char exchanged[];
    const Exchange task = {in, out, rounds};
    task.run(blockIdx.x * blockDim.x + threadIdx.x, blockDim.x, 0, exchanged);
}

extern "C" __device__ __attribute__((noinline)) void exchange_task(unsigned thread, unsigned block_threads, unsigned,
                                                                   unsigned barrier, char *shared, const char *arguments) {
    ((const Exchange *)arguments)->run(thread, block_threads, barrier, shared);
}

extern "C" __device__ const TaskFunction task_functions[] = {exchange_task};

#include "../gemtc.h"
#include "../pagoda.h"
