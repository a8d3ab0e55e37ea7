// What batches of tasks have in memory, for `gemtc` and `fusion`.
#pragma once

// A task of a batch that the host leaves in memory: the fields of an entry of Pagoda's table that mean
// something there, in their places.
struct QueuedTask {
    int unused[4];
    int threads;    // of a block, whole warps
    int blocks;
    int function;   // position in task_functions
    int block;      // the one of the task's blocks, where each has a place of its own
    char arguments[96];
};
