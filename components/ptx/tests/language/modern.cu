// Source of the PTX beside it: what CUDA offers from sm_80 on, and intrinsics of bits and of rounding (NVRTC only).
//   NVRTC: compile the text with --gpu-architecture=compute_90 (12.9)
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void bits(const int *in, u64 *out) {
    int t = threadIdx.x, v = in[t];
    u32 u = v * 2654435761u;
    u32 low = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) * 3 + __reduce_min_sync(~0u, u) * 5;
    low ^= __reduce_xor_sync(~0u, u) + __reduce_and_sync(~0u, v | 1) + __reduce_or_sync(~0u, v);
    u32 high = __funnelshift_l(u, v, t) ^ __funnelshift_rc(v, u, t + 20);
    high += __byte_perm(u, v, 0x5140 + t) ^ __brev(u);
    high += __mulhi((int)u, v * 1000) + __umulhi(u, u) + __mul24(v, t) + __usad(u, v, t) + __sad(v, t, 7);
    high += __popc(u) + __clz(v) + __ffs(u) + __popcll((u64)u << 20) + __clzll(u) + __hadd(v, t);
    out[t] = (u64)high << 32 | low;
}

extern "C" __global__ void rounding(const int *in, u64 *out) {
    int t = threadIdx.x;
    float x = in[t] + 0.1f, y = t + 0.7f;
    double a = in[t] + 0.1, b = t + 0.7;
    u32 low = __float_as_uint(__fadd_rz(x, y)) ^ __float_as_uint(__fmul_ru(x, y)) * 3;
    low ^= __float_as_uint(__fmaf_rd(x, y, -x)) + __float_as_uint(__fdiv_ru(x, y)) + __float_as_uint(__frcp_rd(y));
    low += __float2int_rn(x * 10.0f) + __float2uint_ru(y) + __float_as_uint(__saturatef(x - 50.0f));
    u64 high = __double_as_longlong(__dadd_ru(a, b)) ^ __double_as_longlong(__dmul_rd(a, b));
    high += __double_as_longlong(__fma_rz(a, b, -a)) ^ __double_as_longlong(__ddiv_rd(a, b));
    high += __double2ll_rd(a * -1e6) + __float_as_uint(__double2float_ru(a)) + __double2hiint(__ll2double_rz(~0ll / (t + 1)));
    out[t] = high * 31 + low;
}
