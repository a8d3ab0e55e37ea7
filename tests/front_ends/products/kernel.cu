// Modules: nvcc-sm_80 nvcc-sm_90
// The same by matrix instructions in assembly, 16 rows by 8 columns a warp; elements come from memory one by one.
#include <cuda_bf16.h>

__device__ unsigned pair(const __nv_bfloat16 *x, int step) {
    __nv_bfloat162 both = __halves2bfloat162(x[0], x[step]);
    return *reinterpret_cast<unsigned *>(&both);
}

__device__ unsigned quad(const signed char *x, int step) {
    unsigned word = 0;
    for (int n = 0; n < 4; n++) word |= (unsigned)(unsigned char)x[n * step] << 8 * n;
    return word;
}

__device__ unsigned rounded(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

extern "C" __global__ void products(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const float *s, const float *t,
                                    const signed char *i, const signed char *j, float *c, int *k) {
    const int size = 32;
    int group = threadIdx.x / 4, lane = threadIdx.x % 4;
    int row = 16 * threadIdx.y + group, column = 8 * blockIdx.x;
    float d[4] = {};
    int e[4] = {};
    for (int start = 0; start < size; start += 16) {
        const __nv_bfloat16 *left = a + row * size + start + 2 * lane, *right = b + (start + 2 * lane) * size + column + group;
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(pair(left, 1)), "r"(pair(left + 8 * size, 1)), "r"(pair(left + 8, 1)), "r"(pair(left + 8 * size + 8, 1)),
              "r"(pair(right, size)), "r"(pair(right + 8 * size, size)));
    }
    for (int start = 0; start < size; start += 8) {
        const float *left = s + row * size + start + lane, *right = t + (start + lane) * size + column + group;
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(rounded(left[0])), "r"(rounded(left[8 * size])), "r"(rounded(left[4])), "r"(rounded(left[8 * size + 4])),
              "r"(rounded(right[0])), "r"(rounded(right[4 * size])));
    }
    const signed char *left = i + row * size + 4 * lane, *right = j + 4 * lane * size + column + group;
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
        : "r"(quad(left, 1)), "r"(quad(left + 8 * size, 1)), "r"(quad(left + 16, 1)), "r"(quad(left + 8 * size + 16, 1)),
          "r"(quad(right, size)), "r"(quad(right + 16 * size, size)));
    for (int n = 0; n < 4; n++) {
        int place = (row + n / 2 * 8) * size + column + 2 * lane + n % 2;
        c[place] = d[n];
        k[place] = e[n];
    }
}
