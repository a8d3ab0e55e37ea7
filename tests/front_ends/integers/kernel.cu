// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70
// Arithmetic that is made of many instructions, or has an instruction of its own: 12 results of each pair of numbers.

extern "C" __global__ void integers(const unsigned *x, const unsigned *y, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i];
    unsigned long long wide = (unsigned long long)a << 32 | b, other = (unsigned long long)b * b + 1;
    unsigned results[12] = {
        a / b,
        (unsigned)((int)a % (int)b),
        (unsigned)(wide / other),
        (unsigned)((long long)wide % (long long)other),
        __umulhi(a, b),
        (unsigned)(__umul64hi(wide, other) >> 7),
        (unsigned)(__popc(a) + 64 * __clz(b) + 4096 * __ffs((int)a)),
        __brev(a) ^ __byte_perm(a, b, 0x6240),
        __funnelshift_l(a, b, a % 40),
        (unsigned)__dp4a((int)a, (int)b, 7),
        __sad((int)a, (int)b, 5u),
        __vadd4(a, b) ^ __vmaxs2(a, b),
    };
    for (int k = 0; k < 12; k++) out[k * n + i] = results[k];
}
