// Steps of an LU decomposition without pivots on square blocks of a matrix whose rows lie `pitch` apart. Each has a column, a
// row or an element of a block for each thread; the first one, where columns need those before them, has barriers and one block
// of threads.

// The factors of a block on the diagonal.
struct Factor {
    float *diagonal;
    int size;
    int pitch;

    template <class Where> __device__ void run(const Where &here) const {
        const int first = here.getTid(), stride = here.threads();
        for (int k = 0; k < size - 1; k++) {
            const int rest = size - k - 1;
            const float *pivots = diagonal + k * pitch;
            for (int row = k + 1 + first; row < size; row += stride) diagonal[row * pitch + k] /= pivots[k];
            here.syncBlock();
            for (int place = first; place < rest * rest; place += stride) {
                const int row = k + 1 + place / rest, column = k + 1 + place % rest;
                diagonal[row * pitch + column] -= diagonal[row * pitch + k] * pivots[column];
            }
            here.syncBlock();
        }
    }
};

// A block right of the diagonal: each of its columns by the lower factor.
struct Forward {
    const float *diagonal;
    float *block;
    int size;
    int pitch;

    template <class Where> __device__ void run(const Where &here) const {
        for (int column = here.getTid(); column < size; column += here.threads()) {
            for (int k = 0; k < size; k++) {
                const float value = block[k * pitch + column];
                for (int row = k + 1; row < size; row++) {
                    block[row * pitch + column] -= diagonal[row * pitch + k] * value;
                }
            }
        }
    }
};

// A block below the diagonal: each of its rows by the upper factor.
struct Divide {
    const float *diagonal;
    float *block;
    int size;
    int pitch;

    template <class Where> __device__ void run(const Where &here) const {
        for (int row = here.getTid(); row < size; row += here.threads()) {
            float *const line = block + row * pitch;
            for (int k = 0; k < size; k++) {
                const float value = line[k] / diagonal[k * pitch + k];
                line[k] = value;
                for (int column = k + 1; column < size; column++) line[column] -= value * diagonal[k * pitch + column];
            }
        }
    }
};

// A block below and right of the diagonal: less the product of the block left of it and the one above it.
struct Modify {
    const float *left;
    const float *above;
    float *block;
    int size;
    int pitch;

    template <class Where> __device__ void run(const Where &here) const {
        for (int place = here.getTid(); place < size * size; place += here.threads()) {
            const int row = place / size, column = place % size;
            float value = block[row * pitch + column];
            for (int k = 0; k < size; k++) value -= left[row * pitch + k] * above[k * pitch + column];
            block[row * pitch + column] = value;
        }
    }
};

extern "C" __global__ void factor(float *diagonal, int size, int pitch) {
    const Factor task = {diagonal, size, pitch};
    task.run(Plain());
}
TASK(Factor, factor)

extern "C" __global__ void forward(const float *diagonal, float *block, int size, int pitch) {
    const Forward task = {diagonal, block, size, pitch};
    task.run(Plain());
}
TASK(Forward, forward)

extern "C" __global__ void divide(const float *diagonal, float *block, int size, int pitch) {
    const Divide task = {diagonal, block, size, pitch};
    task.run(Plain());
}
TASK(Divide, divide)

extern "C" __global__ void modify(const float *left, const float *above, float *block, int size, int pitch) {
    const Modify task = {left, above, block, size, pitch};
    task.run(Plain());
}
TASK(Modify, modify)
