// The MasterKernel of Pagoda (Yeh et al., PPoPP 2017): a kernel that never lets go of the GPU and runs narrow tasks from a table.
//
// It is a module of its own. The application's module, which it is linked with, has the tasks and the table of their functions
// (`tasks.h`), through which warps call them.
//
// Each block (MTB) has a column of the table. Its warp 0 schedules, its other warps, 31 of a block of 1024 threads, execute. What is
// paper and what is not has a note where it stands; src/model/pagoda has the pure twins of the structures.
#include "../../../../applications/cuda.h"
#include "../../../../applications/tasks.h"

// An entry of the TaskTable, one line of memory. The CPU writes it as a whole while its own copy says that it is free.
struct TaskEntry {
    // The two fields of the state lie in eight bytes, so that one access reads or writes both: with an access each, a warp could
    // see that a task may be scheduled, run it to its end and free the entry before the other field is written.
    int ready;
    int sched;
    int barrier;    // the sync flag
    int shared;     // bytes of a block
    int threads;    // of a block, whole warps
    int blocks;
    int function;   // position in task_functions: the CPU does not know addresses of functions
    int unused;
    char arguments[96];
};

#define PAGODA_ROWS 32          // of the table at most
#define PAGODA_LEAF 512         // bytes of the smallest piece of memory
#define PAGODA_NODES 128        // of the tree at most, the unused one with number 0 included
#define PAGODA_NOBODY 0x7fffffff
#define PAGODA_DEVICE static __device__ __forceinline__

// What a block of the MasterKernel knows, in shared memory.
struct MasterBlock {
    // The WarpTable: what each executor warp does. `exec` is 0 when it is free, and 2 when it shall end.
    volatile int exec[32];
    volatile int warp[32];        // number of the warp in its task
    volatile int row[32];         // eNum: the row of the task
    volatile int node[32];        // SMindex: the memory of its block, as a node of the tree; 0 if it has none
    volatile int barrier[32];     // barId
    volatile int counter[32];     // the counter of its block, or -1
    // By row, the warps that are to be placed and those that have not ended.
    int ctr[PAGODA_ROWS];
    int doneCtr[PAGODA_ROWS];
    // Warps of a block that have not ended: the paper calls lastWarpInBlock() and does not show how it knows. Only blocks with
    // memory or a barrier need one; 31 warps and the block that is being placed are of 32 blocks at most.
    int block[32];
    unsigned free_counters;
    unsigned free_barriers;
    // Nodes that executors have given back and the scheduler has not freed.
    unsigned returned[PAGODA_NODES / 32];
    volatile unsigned char tree[PAGODA_NODES];
    // What lane 0 tells the others.
    volatile unsigned told;
    int lowest;
};

// A vote among the lanes of a warp, which meet here. Since threads of a warp have program counters of their own, a vote names who
// takes part.
#if __CUDA_ARCH__ >= 700
#define PAGODA_VOTE(mode, operands) "vote.sync." mode " " operands ", 0xffffffff;"
#else
#define PAGODA_VOTE(mode, operands) "vote." mode " " operands ";"
#endif

// Whether it is so in all lanes: __all(). A barrier of the block would wait for the other warps.
PAGODA_DEVICE int pagoda_all(int is_so) {
    int all;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; " PAGODA_VOTE("all.pred", "q, p") " selp.s32 %0, 1, 0, q; }"
                 : "=r"(all) : "r"(is_so) : "memory");
    return all;
}

// The lanes in which it is so: __ballot().
PAGODA_DEVICE unsigned pagoda_which(int is_so) {
    unsigned which;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; " PAGODA_VOTE("ballot.b32", "%0, p") " }"
                 : "=r"(which) : "r"(is_so) : "memory");
    return which;
}

// The lanes of a warp meet, and each sees what the others have written.
PAGODA_DEVICE void pagoda_meet() { pagoda_all(1); }

// The number of the highest bit.
PAGODA_DEVICE int pagoda_log(unsigned value) {
    int bit;
    asm("bfind.u32 %0, %1;" : "=r"(bit) : "r"(value));
    return bit;
}

PAGODA_DEVICE void pagoda_write_state(TaskEntry *entry, int ready, int sched) {
    *(volatile unsigned long long *)&entry->ready = (unsigned)ready | (unsigned long long)(unsigned)sched << 32;
}

// Whether one of two nodes of the tree contains the other.
PAGODA_DEVICE bool pagoda_overlap(unsigned a, unsigned b) {
    const unsigned low = a < b ? a : b;
    const unsigned high = a < b ? b : a;
    return high >> (pagoda_log(high) - pagoda_log(low)) == low;
}

// Takes the lowest of the resources whose bits are set, and waits while none is: the printed algorithm takes a barrier id as if there
// always were one.
PAGODA_DEVICE int pagoda_take(MasterBlock &own, unsigned *resources, int lane) {
    if (lane == 0) {
        unsigned free;
        while ((free = *(volatile unsigned *)resources) == 0) {}
        const int lowest = pagoda_log(free & (0u - free));
        atomicAnd(resources, ~(1u << lowest));
        own.told = lowest;
    }
    pagoda_meet();
    const int taken = own.told;
    pagoda_meet();
    return taken;
}

// Frees what executors have given back (deallocMarkedSM).
PAGODA_DEVICE void pagoda_free_returned(MasterBlock &own, int nodes, int lane) {
    for (int word = 0; word * 32 < nodes; word++) {
        if (lane == 0) own.told = atomicExch(&own.returned[word], 0u);
        pagoda_meet();
        unsigned returned = own.told;
        pagoda_meet();
        while (returned != 0) {
            const unsigned bit = returned & (0u - returned);
            const int node = word * 32 + pagoda_log(bit);
            returned ^= bit;
            for (int other = lane; other < nodes; other += 32) {
                if (other >= node && pagoda_overlap(node, other)) own.tree[other] = 0;
            }
            pagoda_meet();
            if (lane == 0) {
                for (int at = node; at > 1 && !own.tree[at ^ 1];) {
                    at /= 2;
                    own.tree[at] = 0;
                }
            }
            pagoda_meet();
        }
    }
}

// Takes the lowest free node of the smallest size that holds so many bytes (allocSM); gives 0 if there is none.
PAGODA_DEVICE int pagoda_allocate(MasterBlock &own, int nodes, int bytes, int lane) {
    int first = nodes / 2;
    for (int size = PAGODA_LEAF; size < bytes; size *= 2) first /= 2;
    if (lane == 0) own.lowest = PAGODA_NOBODY;
    pagoda_meet();
    for (int node = first + lane; node < 2 * first; node += 32) {
        if (!own.tree[node]) atomicMin(&own.lowest, node);
    }
    pagoda_meet();
    const int found = *(volatile int *)&own.lowest;
    if (found == PAGODA_NOBODY) return 0;
    for (int node = lane; node < nodes; node += 32) {
        if (node > 0 && pagoda_overlap(found, node)) own.tree[node] = 1;
    }
    pagoda_meet();
    return found;
}

// Places warps on free executors, warp by warp (pSched). The printed version bounds the search by the rows of the table instead of
// the executors, tests one slot and writes another, and lets its unsigned atomicDec wrap.
PAGODA_DEVICE void pagoda_place(MasterBlock &own, int warps, int base, int row, int node, int barrier, int counter, int lane) {
    const int slots = blockDim.x / 32 - 1;
    if (lane == 0) *(volatile int *)&own.ctr[row] = warps;
    pagoda_meet();
    int placed;
    do {
        if (lane < slots && !own.exec[lane]) {
            const int number = atomicSub(&own.ctr[row], 1) - 1;
            if (number >= 0) {
                own.warp[lane] = base + number;
                own.row[lane] = row;
                own.node[lane] = node;
                own.barrier[lane] = barrier;
                own.counter[lane] = counter;
                __threadfence_block();
                own.exec[lane] = 1;
            }
        }
        placed = *(volatile int *)&own.ctr[row] <= 0;
    } while (!pagoda_all(placed));
}

// Schedules the task of a row. Until all of it is placed, no other row is looked at.
PAGODA_DEVICE void pagoda_schedule(MasterBlock &own, TaskEntry *entry, int row, int nodes, int lane) {
    volatile TaskEntry *task = entry;
    const int warps = task->threads / 32;
    const int blocks = task->blocks;
    const int shared = task->shared;
    const int barrier = task->barrier;
    // The printed algorithm sets this counter to the warps of a block where blocks are scheduled one by one.
    if (lane == 0) *(volatile int *)&own.doneCtr[row] = warps * blocks;
    if (shared == 0 && !barrier) {
        pagoda_place(own, warps * blocks, 0, row, 0, 0, -1, lane);
        return;
    }
    for (int block = 0; block < blocks; block++) {
        const int id = barrier ? pagoda_take(own, &own.free_barriers, lane) : 0;
        int node = 0;
        while (shared > 0 && node == 0) {
            pagoda_free_returned(own, nodes, lane);
            node = pagoda_allocate(own, nodes, shared, lane);
        }
        const int counter = pagoda_take(own, &own.free_counters, lane);
        if (lane == 0) *(volatile int *)&own.block[counter] = warps;
        pagoda_place(own, warps, warps * block, row, node, id, counter, lane);
    }
}

// The scheduler warp of a block (Algorithm 1, lines 2 to 28).
PAGODA_DEVICE void pagoda_scheduler(MasterBlock &own, TaskEntry *table, int rows, const int *stop, int nodes, int lane) {
    TaskEntry *column = table + blockIdx.x;
    while (*(volatile const int *)stop == 0) {
        for (int row = 0; row < rows; row++) {
            TaskEntry *entry = column + row * gridDim.x;
            const unsigned long long state = *(volatile unsigned long long *)&entry->ready;
            const int ready = (int)(unsigned)state;
            // The paper prints `> 0`, which a task that runs would fulfil: its ready field is 1.
            if (ready > 1) {
                // Ids count from 2. That the entry before is at -1 says that its parameters are there.
                TaskEntry *before = table + (ready - 2);
                const int is_present = *(volatile int *)&before->ready == -1;
                if (pagoda_all(is_present)) {
                    if (lane == 0) {
                        pagoda_write_state(before, 1, 1);
                        // The text says so, the printed algorithm forgets it; without it the chain stops after a link.
                        pagoda_write_state(entry, -1, 0);
                    }
                }
                __threadfence();
                continue;
            }
            if (state >> 32 != 0) {
                if (lane == 0) *(volatile int *)&entry->sched = 0;
                pagoda_schedule(own, entry, row, nodes, lane);
            }
        }
    }
}

// A scheduler warp that the paper does not have: each lane looks at a row, all at once. What it costs to look at one after another can be
// seen beside it.
PAGODA_DEVICE void pagoda_scheduler_by_lanes(MasterBlock &own, TaskEntry *table, int rows, const int *stop, int nodes, int lane) {
    TaskEntry *column = table + blockIdx.x;
    TaskEntry *entry = column + lane * gridDim.x;
    while (*(volatile const int *)stop == 0) {
        const unsigned long long state = lane < rows ? *(volatile unsigned long long *)&entry->ready : 0;
        const int ready = (int)(unsigned)state;
        if (ready > 1) {
            TaskEntry *before = table + (ready - 2);
            if (*(volatile int *)&before->ready == -1) {
                pagoda_write_state(before, 1, 1);
                pagoda_write_state(entry, -1, 0);
            }
        }
        __threadfence();
        for (unsigned found = pagoda_which(state >> 32 != 0); found != 0; found &= found - 1) {
            const int row = pagoda_log(found & (0u - found));
            TaskEntry *task = column + row * gridDim.x;
            if (lane == 0) *(volatile int *)&task->sched = 0;
            pagoda_schedule(own, task, row, nodes, lane);
        }
    }
}

// The host has no more tasks and all have ended: executors end when they are free. The paper's never do.
PAGODA_DEVICE void pagoda_end_executors(MasterBlock &own, int lane) {
    const int slots = blockDim.x / 32 - 1;
    int ends;
    do {
        if (lane < slots && own.exec[lane] == 0) own.exec[lane] = 2;
        ends = lane >= slots || own.exec[lane] == 2;
    } while (!pagoda_all(ends));
}

// An executor warp (Algorithm 1, lines 29 to 43).
PAGODA_DEVICE void pagoda_executor(MasterBlock &own, TaskEntry *table, char *memory, int pool, int slot, int lane) {
    // The address of the table stays in a register: without this the compiler makes it again for each task.
    const TaskFunction *functions = task_functions;
    asm volatile("" : "+l"(functions));
    while (true) {
        int state;
        while ((state = own.exec[slot]) == 0) {}
        if (state == 2) return;
        const int row = own.row[slot];
        const int node = own.node[slot];
        const int barrier = own.barrier[slot];
        TaskEntry *entry = table + row * gridDim.x + blockIdx.x;
        volatile TaskEntry *task = entry;
        const int depth = node > 0 ? pagoda_log(node) : 0;
        const int offset = node > 0 ? (node - (1 << depth)) * (pool >> depth) : 0;
        const int has_barrier = task->barrier;
        functions[task->function](own.warp[slot] * 32 + lane, task->threads, task->blocks, barrier, memory + offset,
                                  entry->arguments);
        pagoda_meet();
        // What the task has stored must be seen before its entry is free: the host copies the results then. The printed fence
        // is one for the block.
        __threadfence();
        pagoda_meet();
        if (lane == 0) {
            const int counter = own.counter[slot];
            if (counter >= 0 && atomicSub(&own.block[counter], 1) == 1) {
                // The tree is the scheduler's alone, so memory is only marked.
                if (node > 0) atomicOr(&own.returned[node / 32], 1u << node % 32);
                if (has_barrier) atomicOr(&own.free_barriers, 1u << barrier);
                atomicOr(&own.free_counters, 1u << counter);
            }
            __threadfence_block();
            if (atomicSub(&own.doneCtr[row], 1) == 1) *(volatile int *)&entry->ready = 0;
            own.exec[slot] = 0;
        }
        pagoda_meet();
    }
}

// A block of a MasterKernel: a scheduler warp, and executor warps.
PAGODA_DEVICE void pagoda_block(MasterBlock &own, char *memory, TaskEntry *table, int rows, const int *stop, int pool, bool by_lanes) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int nodes = 2 * (pool / PAGODA_LEAF);
    for (int i = threadIdx.x; i < PAGODA_NODES; i += blockDim.x) own.tree[i] = 0;
    if (threadIdx.x < 32) own.exec[threadIdx.x] = 0;
    if (threadIdx.x < PAGODA_NODES / 32) own.returned[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        own.free_counters = 0xffffffff;
        own.free_barriers = 0xffff;
    }
    // The last barrier of the whole block: from here on, number 0 is one of those of tasks.
    __syncthreads();
    if (warp == 0) {
        if (by_lanes) {
            pagoda_scheduler_by_lanes(own, table, rows, stop, nodes, lane);
        } else {
            pagoda_scheduler(own, table, rows, stop, nodes, lane);
        }
        pagoda_end_executors(own, lane);
    } else {
        pagoda_executor(own, table, memory, pool, warp - 1, lane);
    }
}

// `table` has a column for each block, of `rows` entries; those of a row lie one behind the other, so that few tasks are near each
// other and can be copied back together. A block has `pool` bytes of dynamic shared memory, a power of two of up to
// 32 KiB, for tasks. All blocks must be on the GPU at once. The kernel ends when `stop` is not 0, which the host writes when all
// tasks have ended.
extern "C" __global__ void __launch_bounds__(1024) master_kernel(TaskEntry *table, int rows, const int *stop, int pool) {
    extern __shared__ __align__(128) char pagoda_pool[];
    __shared__ MasterBlock own;
    pagoda_block(own, pagoda_pool, table, rows, stop, pool, false);
}

// The same with the scheduler warp that the paper does not have.
extern "C" __global__ void __launch_bounds__(1024) master_kernel_by_lanes(TaskEntry *table, int rows, const int *stop, int pool) {
    extern __shared__ __align__(128) char pagoda_pool[];
    __shared__ MasterBlock own;
    pagoda_block(own, pagoda_pool, table, rows, stop, pool, true);
}
