// The SuperKernel of GeMTC (Krieder et al., HPDC 2014): blocks that take tasks from one queue, which a lock guards, until it is
// empty. It is the version that Pagoda was compared with (Yeh et al., PPoPP 2017, section 6.1): a task is a block, where
// GeMTC's own is a warp. There is no shared memory for tasks.
//
// It is a module of its own, like `pagoda`, and linked with the application's.
#include "../../../../applications/cuda.h"
#include "../../../../applications/tasks.h"
#include "../queued.h"

#define GEMTC_DEVICE static __device__ __forceinline__

// What all blocks share, and the host fills for each batch.
struct TaskQueue {
    int lock;
    int front;      // the next task to take
    int rear;       // how many there are
    int done;       // how many results there are
    int unused[28];
};

// The one lock. The lock and what it guards are in device memory, past every L1.
GEMTC_DEVICE void gemtc_lock(TaskQueue *queue) {
    while (atomicCAS(&queue->lock, 0, 1) != 0) {}
    __threadfence();
}

GEMTC_DEVICE void gemtc_unlock(TaskQueue *queue) {
    __threadfence();
    atomicExch(&queue->lock, 0);
}

// `done` has room for the number of each task. The blocks are as many as the GPU holds, with as many threads as a task has at most.
extern "C" __global__ void super_kernel(TaskQueue *queue, const QueuedTask *tasks, int *done) {
    __shared__ int taken;
    // The address of the table stays in a register: without this the compiler makes it again for each task.
    const TaskFunction *functions = task_functions;
    asm volatile("" : "+l"(functions));
    while (true) {
        if (threadIdx.x == 0) {
            gemtc_lock(queue);
            const int front = *(volatile int *)&queue->front;
            const bool is_left = front < *(volatile int *)&queue->rear;
            if (is_left) *(volatile int *)&queue->front = front + 1;
            gemtc_unlock(queue);
            taken = is_left ? front : -1;
        }
        __syncthreads();
        const int number = taken;
        if (number < 0) return;
        const QueuedTask *task = tasks + number;
        for (int block = 0; block < task->blocks; block++) {
            // Barrier 0 is that of the whole block, which has threads beyond the task's.
            if (threadIdx.x < task->threads) {
                functions[task->function](block * task->threads + threadIdx.x, task->threads, task->blocks, 1, 0,
                                          task->arguments);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            gemtc_lock(queue);
            const int place = *(volatile int *)&queue->done;
            *(volatile int *)&done[place] = number;
            *(volatile int *)&queue->done = place + 1;
            gemtc_unlock(queue);
        }
    }
}
