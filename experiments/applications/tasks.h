// Narrow tasks: a body is written once, as a struct whose fields are the kernel's parameters in their order, and runs in two
// places. In an ordinary launch it is the kernel; in a kernel that stays on the device and hands warps their work it is a
// function of this module, found in a table. Where it runs tells it who its thread is.
#pragma once

// Dynamic shared memory of an ordinary launch.
extern __shared__ __attribute__((aligned(32))) char counterpoint_task_memory[];

// A thread of an ordinary launch of blocks in x.
struct Plain {
    // The thread in the task, and how many the task has.
    __device__ unsigned getTid() const { return blockIdx.x * blockDim.x + threadIdx.x; }
    __device__ unsigned threads() const { return gridDim.x * blockDim.x; }
    // The thread in its block, how many a block has, and which block it is.
    __device__ unsigned blockThread() const { return threadIdx.x; }
    __device__ unsigned blockThreads() const { return blockDim.x; }
    __device__ unsigned block() const { return blockIdx.x; }
    __device__ unsigned taskBlocks() const { return gridDim.x; }
    // All threads of the block meet.
    __device__ void syncBlock() const { __syncthreads(); }
    // The block's shared memory, at a multiple of 32 bytes.
    __device__ char *getSMPtr() const { return counterpoint_task_memory; }
};

// A thread that was handed its work: threads are counted through the blocks of the task, each of whole warps.
struct Narrow {
    unsigned thread;
    unsigned block_threads;
    unsigned blocks;
    unsigned barrier;
    char *shared;

    __device__ unsigned getTid() const { return thread; }
    __device__ unsigned threads() const { return block_threads * blocks; }
    __device__ unsigned blockThread() const { return thread % block_threads; }
    __device__ unsigned blockThreads() const { return block_threads; }
    __device__ unsigned block() const { return thread / block_threads; }
    __device__ unsigned taskBlocks() const { return blocks; }
    // A barrier of the block's own among those of the multiprocessor's block; a barrier counts whole warps.
    __device__ void syncBlock() const {
        asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"((block_threads + 31) & ~31u) : "memory");
    }
    __device__ char *getSMPtr() const { return shared; }
};

// The thread of the task, the threads of a block, the blocks, the barrier of this block, its shared memory (an address of any
// space), and the kernel's parameters as bytes.
typedef void (*TaskFunction)(unsigned thread, unsigned block_threads, unsigned blocks, unsigned barrier, char *shared,
                             const char *arguments);

// The function that runs a body for a thread that was handed it. Its arguments are copied first: behind each store they would be read
// from memory again, which might have been written.
#define TASK(Body, name)                                                                                              \
    extern "C" __device__ __noinline__ void name##_task(                                                              \
        unsigned thread, unsigned block_threads, unsigned blocks, unsigned barrier, char *shared,                     \
        const char *arguments) {                                                                                      \
        const Narrow here = {thread, block_threads, blocks, barrier, shared};                                         \
        const Body task = *(const Body *)arguments;                                                                   \
        task.run(here);                                                                                               \
    }

// The table of a module's task functions.
extern "C" __device__ TaskFunction task_functions[];
#define TASK_FUNCTIONS(...) __device__ TaskFunction task_functions[] = {__VA_ARGS__};
