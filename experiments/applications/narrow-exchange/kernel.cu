// The smallest task with all that a task can have: the threads of a block hand numbers round in shared memory, with a barrier
// before and behind each round. Without rounds it is the smallest task with nothing.
#include "../cuda.h"
#include "../tasks.h"

struct Exchange {
    const unsigned *in;
    unsigned *out;
    unsigned rounds;

    template <class Where> __device__ void run(const Where &here) const {
        volatile unsigned *shared = (volatile unsigned *)here.getSMPtr();
        const unsigned place = here.blockThread();
        unsigned value = in[here.getTid()];
        for (unsigned round = 0; round < rounds; round++) {
            shared[place] = value;
            here.syncBlock();
            value = value * 3 + shared[(place + 1 + round) % here.blockThreads()];
            here.syncBlock();
        }
        out[here.getTid()] = value + 1;
    }
};

extern "C" __global__ void exchange(const unsigned *in, unsigned *out, unsigned rounds) {
    const Exchange task = {in, out, rounds};
    task.run(Plain());
}
TASK(Exchange, exchange)

TASK_FUNCTIONS(exchange_task)
