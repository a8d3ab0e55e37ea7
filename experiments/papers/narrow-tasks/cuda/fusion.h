// Static fusion (Yeh et al., PPoPP 2017, section 6.3): the tasks of a batch are one kernel, of which each block is a task. The kernel
// ends, and its results are there, when all of them have ended.
//
// A kernel.cu includes this file behind its table of task functions, like pagoda.h.
#pragma once

// Block b runs what is at b of `tasks`. All blocks have as many threads, and as much dynamic shared memory, as the largest task.
extern "C" __global__ void fused_kernel(const QueuedTask *tasks) {
    // What the compiler does not know it cannot put in the place of the call: a table may have one function.
    const TaskFunction *functions = task_functions;
    asm volatile("" : "+l"(functions));
    const QueuedTask *task = tasks + blockIdx.x;
    // Barriers of a task are of its threads, not of the block's.
    if (threadIdx.x >= task->threads) return;
    functions[task->function](task->block * task->threads + threadIdx.x, task->threads, task->blocks, 0,
                              counterpoint_task_memory, task->arguments);
}
