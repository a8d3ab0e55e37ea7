// The cosine transform of an image's blocks of 8 x 8 pixels: of rows, then of columns, a strip of the image at a time.

// Half the cosines of multiples of pi / 16.
#define DCT_C1 0.49039264f
#define DCT_C2 0.46193977f
#define DCT_C3 0.41573481f
#define DCT_C4 0.35355339f
#define DCT_C5 0.27778512f
#define DCT_C6 0.19134172f
#define DCT_C7 0.097545161f

// The transform of eight values, `stride` apart from each other, in their place.
static inline __device__ void dct_of_eight(float *values, int stride) {
    const float v0 = values[0], v1 = values[stride], v2 = values[2 * stride], v3 = values[3 * stride];
    const float v4 = values[4 * stride], v5 = values[5 * stride], v6 = values[6 * stride], v7 = values[7 * stride];
    const float s0 = v0 + v7, s1 = v1 + v6, s2 = v2 + v5, s3 = v3 + v4;
    const float d0 = v0 - v7, d1 = v1 - v6, d2 = v2 - v5, d3 = v3 - v4;
    values[0] = DCT_C4 * (s0 + s1 + s2 + s3);
    values[stride] = DCT_C1 * d0 + DCT_C3 * d1 + DCT_C5 * d2 + DCT_C7 * d3;
    values[2 * stride] = DCT_C2 * (s0 - s3) + DCT_C6 * (s1 - s2);
    values[3 * stride] = DCT_C3 * d0 - DCT_C7 * d1 - DCT_C1 * d2 - DCT_C5 * d3;
    values[4 * stride] = DCT_C4 * (s0 - s1 - s2 + s3);
    values[5 * stride] = DCT_C5 * d0 - DCT_C1 * d1 + DCT_C7 * d2 + DCT_C3 * d3;
    values[6 * stride] = DCT_C6 * (s0 - s3) - DCT_C2 * (s1 - s2);
    values[7 * stride] = DCT_C7 * d0 - DCT_C5 * d1 + DCT_C3 * d2 - DCT_C1 * d3;
}

// A strip goes through `place`, where its rows lie one behind the other: shared memory, or the result itself.
template <class Where>
static inline __device__ void dct_of_strip(const Where &here, const float *image, float *place, float *result, int n,
                                           int rows) {
    const int first = here.blockThread(), stride = here.blockThreads();
    for (int pixel = first; pixel < n * rows; pixel += stride) place[pixel] = image[pixel];
    here.syncBlock();
    for (int eight = first; eight < n * rows / 8; eight += stride) dct_of_eight(place + 8 * eight, 1);
    here.syncBlock();
    for (int eight = first; eight < n * rows / 8; eight += stride) {
        dct_of_eight(place + eight / n * 8 * n + eight % n, n);
    }
    here.syncBlock();
    if (place != result) {
        // A thread overwrites only what it has read itself: the next strip needs no barrier before it.
        for (int pixel = first; pixel < n * rows; pixel += stride) result[pixel] = place[pixel];
    }
}

// Strips of so many rows go through shared memory, 4 n rows bytes.
struct DctShared {
    const float *image;
    float *result;
    int n;
    int rows;

    template <class Where> __device__ void run(const Where &here) const {
        for (int top = here.block() * rows; top < n; top += here.taskBlocks() * rows) {
            dct_of_strip(here, image + top * n, (float *)here.getSMPtr(), result + top * n, n, rows);
        }
    }
};

struct DctGlobal {
    const float *image;
    float *result;
    int n;
    int rows;

    template <class Where> __device__ void run(const Where &here) const {
        for (int top = here.block() * rows; top < n; top += here.taskBlocks() * rows) {
            dct_of_strip(here, image + top * n, result + top * n, result + top * n, n, rows);
        }
    }
};

extern "C" __global__ void dct_shared(const float *image, float *result, int n, int rows) {
    const DctShared task = {image, result, n, rows};
    task.run(Plain());
}
TASK(DctShared, dct_shared)

extern "C" __global__ void dct_global(const float *image, float *result, int n, int rows) {
    const DctGlobal task = {image, result, n, rows};
    task.run(Plain());
}
TASK(DctGlobal, dct_global)
