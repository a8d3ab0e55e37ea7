// The product of two square matrices, from global memory or through shared memory.

struct Multiply {
    const float *a;
    const float *b;
    float *c;
    int n;

    template <class Where> __device__ void run(const Where &here) const {
        for (int place = here.getTid(); place < n * n; place += here.threads()) {
            const int row = place / n, column = place % n;
            float sum = 0.0f;
            for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
            c[place] = sum;
        }
    }
};

// A block makes squares of the product one after another. Each place of a square is one thread's alone, however many threads
// there are; what it has summed so far lies in shared memory with the squares of the factors: 3 KiB.
struct MultiplyTiled {
    enum { SIDE = 16, SQUARE = SIDE * SIDE };

    const float *a;
    const float *b;
    float *c;
    int n;

    template <class Where> __device__ void run(const Where &here) const {
        float *const left = (float *)here.getSMPtr();
        float *const right = left + SQUARE;
        float *const sums = right + SQUARE;
        const int first = here.blockThread(), stride = here.blockThreads(), across = n / SIDE;
        for (int square = here.block(); square < across * across; square += here.taskBlocks()) {
            const int top = square / across * SIDE, side = square % across * SIDE;
            for (int place = first; place < SQUARE; place += stride) sums[place] = 0.0f;
            for (int step = 0; step < n; step += SIDE) {
                for (int place = first; place < SQUARE; place += stride) {
                    const int row = place / SIDE, column = place % SIDE;
                    left[place] = a[(top + row) * n + step + column];
                    right[place] = b[(step + row) * n + side + column];
                }
                here.syncBlock();
                for (int place = first; place < SQUARE; place += stride) {
                    const int row = place / SIDE, column = place % SIDE;
                    float sum = sums[place];
                    for (int k = 0; k < SIDE; k++) sum += left[row * SIDE + k] * right[k * SIDE + column];
                    sums[place] = sum;
                }
                here.syncBlock();
            }
            for (int place = first; place < SQUARE; place += stride) {
                c[(top + place / SIDE) * n + side + place % SIDE] = sums[place];
            }
        }
    }
};

extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
    const Multiply task = {a, b, c, n};
    task.run(Plain());
}
TASK(Multiply, multiply)

extern "C" __global__ void multiply_tiled(const float *a, const float *b, float *c, int n) {
    const MultiplyTiled task = {a, b, c, n};
    task.run(Plain());
}
TASK(MultiplyTiled, multiply_tiled)
