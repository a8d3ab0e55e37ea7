// Static fusion (Yeh et al., PPoPP 2017, section 6.3): the tasks of a batch are one kernel, of which each block is a task. The kernel
// ends, and its results are there, when all of them have ended.
//
// It is a module of its own, like `pagoda`, and linked with the application's.
#include "../../../../applications/cuda.h"
#include "../../../../applications/tasks.h"
#include "../queued.h"

// Block b runs what is at b of `tasks`. All blocks have as many threads, and as much dynamic shared memory, as the largest task.
extern "C" __global__ void fused_kernel(const QueuedTask *tasks) {
    const QueuedTask *task = tasks + blockIdx.x;
    // Barriers of a task are of its threads, not of the block's.
    if (threadIdx.x >= task->threads) return;
    task_functions[task->function](task->block * task->threads + threadIdx.x, task->threads, task->blocks, 0,
                                   counterpoint_task_memory, task->arguments);
}
