// Source of the PTX beside it: calls, recursion, tables of functions, printf, local memory, constants,
// atomics, and what the lanes of a warp do together. No header is needed.
//
//   clang-14 -x cuda --cuda-device-only --cuda-gpu-arch=sm_35 -nocudainc -nocudalib -O1 -S \
//     -o kernel.clang-sm_35.ptx kernel.cu
//   clang-19, with -O2 -ffp-contract=fast and sm_90, for kernel.clang-sm_90.ptx
//   NVRTC: compile the text with --gpu-architecture=compute_70 (12.9) or compute_35 (11.8)
#ifdef __clang__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define threadIdx_x __nvvm_read_ptx_sreg_tid_x()
#else
#define threadIdx_x threadIdx.x
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ float scale = 2.5f;
__device__ int *where;

__device__ __attribute__((noinline)) int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

__device__ __attribute__((noinline)) u64 fibonacci(u32 n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

struct wide { double x; int n; char c; };

__device__ __attribute__((noinline)) wide widen(wide w, int by) {
    w.x *= by;
    w.n += by;
    w.c = (char)(w.c + 1);
    return w;
}

typedef int (*operation)(int, int);
__device__ __attribute__((noinline)) int plus(int a, int b) { return a + b; }
__device__ __attribute__((noinline)) int times(int a, int b) { return a * b; }
__device__ __attribute__((noinline)) int minus(int a, int b) { return a - b; }
__device__ operation table[3] = {plus, times, minus};

extern "C" __global__ void calls(const int *in, u64 *out) {
    int t = threadIdx_x, v = in[t];
    u64 sum = (u64)gcd(v, 36);
    if (t & 1) sum += fibonacci(t & 7) << 8;
    wide w = {1.5, v, 'a'};
    w = widen(w, t);
    sum += (u64)(w.x * 2.0) << 24 | (u64)(unsigned char)w.c << 40;
    sum += (u64)(unsigned short)table[v % 3](t, 7) << 48;
    out[t] = sum;
}

extern "C" __device__ int vprintf(const char *, void *);

extern "C" __global__ void prints(const int *in, u64 *out) {
    int t = threadIdx_x;
    struct { int t; int pad; double half; const char *name; } values = {t, 0, t * 0.5, t & 1 ? "odd" : "even"};
    if (t < 3) out[t] = vprintf("thread %d: %.2f %s\n", &values);
}

extern "C" __global__ void memory(const int *in, u64 *out) {
    int t = threadIdx_x, stack[16];
    for (int i = 0; i < 16; i++) stack[i] = in[t] * primes[i & 7] + i;
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += stack[(i * in[t]) & 15] * i;
    out[t] = (u64)(u32)sum + ((u64)(u32)(scale * t) << 32);
}
