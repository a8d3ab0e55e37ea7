// Kernels of the library that programs load as cuRAND: four generators, and the distributions that are made of their numbers.
#include "../../../../experiments/applications/cuda.h"

typedef unsigned long long word;
#define FUNCTION static __device__ __forceinline__
#define MEMBER __device__ __forceinline__

// Threads of a block.
#define BLOCK 128

enum { BITS, UNIFORM, NORMAL, LOG_NORMAL };

struct request {
    word values, states;
    // Values, or pairs of them, that are wanted, the sequence that gives the first one, and the sequences that there are.
    word count, first, sequences;
    // Of Philox: the key, the position of the counter, and how many values are left out in front.
    word key, position, skipped;
    // Of a normal distribution.
    double mean, deviation;
};

FUNCTION float from_bits(unsigned bits) {
    union { unsigned bits; float value; } both = {bits};
    return both.value;
}
FUNCTION double from_bits(word bits) {
    union { word bits; double value; } both = {bits};
    return both.value;
}
FUNCTION unsigned bits_of(float value) {
    union { float value; unsigned bits; } both = {value};
    return both.bits;
}
FUNCTION word bits_of(double value) {
    union { double value; word bits; } both = {value};
    return both.bits;
}

// The logarithm of a normal number: that of its power of two, and of the rest between the roots of a half and of two.
FUNCTION double logarithm(double x) {
    word bits = bits_of(x);
    int power = (int)(bits >> 52) - 1023;
    double rest = from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    if (rest > 1.4142135623730951) rest *= 0.5, power += 1;
    double z = (rest - 1) / (rest + 1), square = z * z, sum = 0;
    for (int i = 21; i > 0; i -= 2) sum = sum * square + 1.0 / i;
    return power * 0.6931471805599453 + 2 * z * sum;
}
FUNCTION float logarithm(float x) {
    int bits = bits_of(x), power = (bits >> 23) - 127;
    float rest = from_bits((unsigned)((bits & 0x7fffff) | 0x3f800000));
    if (rest > 1.41421356f) rest *= 0.5f, power += 1;
    float z = (rest - 1) / (rest + 1), square = z * z;
    float sum = ((square * (1 / 9.0f) + 1 / 7.0f) * square + 0.2f) * square + 1 / 3.0f;
    return power * 0.69314718f + 2 * (z + z * square * sum);
}

// Sine and cosine of a part of a turn: an eighth of a turn at most, and what the eighth that it is in changes.
template <typename T>
FUNCTION void circle(T turns, T *sine, T *cosine) {
    int quarter = (int)(turns * 4 + (T)0.5);
    T angle = (turns - quarter * (T)0.25) * (T)6.283185307179586, square = angle * angle;
    T s = 0, c = 0;
    for (int i = 17; i > 1; i -= 2) s = (s + 1) * -square / (T)(i * (i - 1));
    for (int i = 18; i > 0; i -= 2) c = (c + 1) * -square / (T)(i * (i - 1));
    s = (s + 1) * angle;
    c = c + 1;
    T turned_s = quarter & 1 ? c : s, turned_c = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -turned_s : turned_s;
    *cosine = (quarter + 1) & 2 ? -turned_c : turned_c;
}

FUNCTION float root(float x) { return __nvvm_sqrt_rn_f(x); }
FUNCTION double root(double x) { return __nvvm_sqrt_rn_d(x); }

FUNCTION double power(double x) {
    if (x > 709.7) return from_bits(0x7ff0000000000000ull);
    if (x < -708) return 0;
    int exponent = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    double rest = x - exponent * 0.6931471805599453, sum = 1;
    for (int i = 14; i > 0; --i) sum = 1 + rest * sum / i;
    double half = from_bits((word)(exponent / 2 + 1023) << 52), other = from_bits((word)(exponent - exponent / 2 + 1023) << 52);
    return sum * half * other;
}

// Two numbers of a normal distribution (Box and Muller), from a number above 0 and a part of a turn.
template <int KIND, typename T>
FUNCTION void put_pair(const request &r, T *place, T uniform, T turns) {
    T length = root(-2 * logarithm(uniform)), sine, cosine;
    circle(turns, &sine, &cosine);
    T pair[2] = {sine * length * (T)r.deviation + (T)r.mean, cosine * length * (T)r.deviation + (T)r.mean};
#pragma unroll
    for (int i = 0; i < 2; ++i) place[i] = KIND == LOG_NORMAL ? (T)power(pair[i]) : pair[i];
}

// Uniform numbers of random bits: above 0, and 1 at most.
FUNCTION float uniform(unsigned x) { return x * 2.3283064e-10f + 2.3283064e-10f / 2; }
FUNCTION double uniform(unsigned x, unsigned y) { return ((word)x ^ (word)y << 21) * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2; }

struct xorwow {
    unsigned v[5], d;
    MEMBER unsigned next() {
        unsigned t = v[0] ^ v[0] >> 2;
        v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
        v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
        d += 362437;
        return v[4] + d;
    }
    MEMBER unsigned bits() { return next(); }
    MEMBER void single(float *x) { *x = uniform(next()); }
    MEMBER void single(double *x) {
        unsigned low = next();
        *x = uniform(low, next());
    }
};

// L'Ecuyer's combined generator MRG32k3a.
struct mrg {
    unsigned a[3], b[3];
    MEMBER unsigned next() {
        word p = (1403580ull * a[1] + 810728ull * (4294967087u - a[0])) % 4294967087u;
        word q = (527612ull * b[2] + 1370589ull * (4294944443u - b[0])) % 4294944443u;
        a[0] = a[1], a[1] = a[2], a[2] = (unsigned)p;
        b[0] = b[1], b[1] = b[2], b[2] = (unsigned)q;
        return (unsigned)(p > q ? p - q : p + 4294967087u - q);
    }
    MEMBER unsigned bits() { return (unsigned)(next() * 1.000000048662); }
    MEMBER void single(float *x) { *x = (float)(next() * 2.3283065498378288e-10); }
    MEMBER void single(double *x) { *x = next() * 2.3283065498378288e-10; }
};

// A thread for each sequence that gives numbers: value i is of sequence (first + i) modulo their number.
template <typename G, int KIND, typename T>
FUNCTION void of_sequences(const request &r) {
    word thread = blockIdx.x * (word)BLOCK + threadIdx.x;
    if (thread >= r.count || thread >= r.sequences) return;
    G *place = (G *)r.states + (r.first + thread) % r.sequences, state = *place;
    for (word i = thread; i < r.count; i += r.sequences) {
        if constexpr (KIND == BITS) {
            ((unsigned *)r.values)[i] = state.bits();
        } else if constexpr (KIND == UNIFORM) {
            state.single((T *)r.values + i);
        } else {
            T above, turns;
            state.single(&above);
            state.single(&turns);
            put_pair<KIND>(r, (T *)r.values + 2 * i, above, turns);
        }
    }
    *place = state;
}

struct four {
    unsigned x, y, z, w;
};

// Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
FUNCTION four philox(word position, word sequence, word key) {
    four c = {(unsigned)position, (unsigned)(position >> 32), (unsigned)sequence, (unsigned)(sequence >> 32)};
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        word p = 0xD2511F53ull * c.x, q = 0xCD9E8D57ull * c.z;
        c = {(unsigned)(q >> 32) ^ c.y ^ k0, (unsigned)q, (unsigned)(p >> 32) ^ c.w ^ k1, (unsigned)p};
        k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    return c;
}

#define SEQUENCES 65536

// A thread for each counter, whose four words are four values, or two of 64 bits. The first and the last one may be wanted in part.
template <int KIND, typename T>
FUNCTION void of_counters(const request &r) {
    word group = blockIdx.x * (word)BLOCK + threadIdx.x;
    const bool wide = sizeof(T) == 8;
    // Two counters of a sequence follow each other where values have 64 bits.
    word of_all = r.first + group, unit = wide ? of_all / 2 : of_all;
    word position = r.position + (wide ? 2 * (unit / SEQUENCES) + of_all % 2 : unit / SEQUENCES);
    const int width = wide ? 2 : 4;
    long long begin = (long long)(group * width) - (long long)r.skipped;
    if (begin >= (long long)r.count) return;
    four c = philox(position, unit % SEQUENCES, r.key);
    T made[4];
    if constexpr (KIND == BITS) {
        made[0] = c.x, made[1] = c.y, made[2] = c.z, made[3] = c.w;
    } else if constexpr (KIND == UNIFORM) {
        if constexpr (wide) {
            made[0] = (T)uniform(c.x, c.y), made[1] = (T)uniform(c.z, c.w);
        } else {
            made[0] = (T)uniform(c.x), made[1] = (T)uniform(c.y), made[2] = (T)uniform(c.z), made[3] = (T)uniform(c.w);
        }
    } else if constexpr (wide) {
        put_pair<KIND>(r, made, (T)uniform(c.x, c.y), (T)uniform(c.z, c.w));
    } else {
        put_pair<KIND>(r, made, (T)uniform(c.x), (T)uniform(c.y));
        put_pair<KIND>(r, made + 2, (T)uniform(c.z), (T)uniform(c.w));
    }
#pragma unroll
    for (int i = 0; i < width; ++i)
        if (begin + i >= 0 && begin + i < (long long)r.count) ((T *)r.values)[begin + i] = made[i];
}

// Sobol sequences, one dimension behind another: points of Antonov and Saleev's order, of which value i is number (first + i) of its dimension.
template <int KIND, typename T>
FUNCTION void of_dimensions(const request &r) {
    word i = blockIdx.x * (word)BLOCK + threadIdx.x;
    if (i >= r.count * r.sequences) return;
    const unsigned *vectors = (const unsigned *)r.states + 32 * (i / r.count);
    unsigned point = (unsigned)(r.first + i % r.count), gray = point ^ point >> 1, x = 0;
    for (int bit = 0; bit < 32; ++bit) x ^= gray >> bit & 1 ? vectors[bit] : 0;
    if constexpr (KIND == BITS) {
        ((unsigned *)r.values)[i] = x;
    } else if constexpr (sizeof(T) == 8) {
        ((double *)r.values)[i] = x * 2.3283064365386963e-10 + 2.3283064365386963e-10;
    } else {
        ((float *)r.values)[i] = uniform(x);
    }
}

#define KERNEL(name, call) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name(request r) { call(r); }
#define STATES(name)                                                        \
    KERNEL(name##_bits, (of_sequences<name, BITS, unsigned>))               \
    KERNEL(name##_uniform_f32, (of_sequences<name, UNIFORM, float>))        \
    KERNEL(name##_uniform_f64, (of_sequences<name, UNIFORM, double>))       \
    KERNEL(name##_normal_f32, (of_sequences<name, NORMAL, float>))          \
    KERNEL(name##_normal_f64, (of_sequences<name, NORMAL, double>))         \
    KERNEL(name##_log_normal_f32, (of_sequences<name, LOG_NORMAL, float>))  \
    KERNEL(name##_log_normal_f64, (of_sequences<name, LOG_NORMAL, double>))

STATES(xorwow)
STATES(mrg)
KERNEL(sobol_bits, (of_dimensions<BITS, unsigned>))
KERNEL(sobol_uniform_f32, (of_dimensions<UNIFORM, float>))
KERNEL(sobol_uniform_f64, (of_dimensions<UNIFORM, double>))
KERNEL(philox_bits, (of_counters<BITS, unsigned>))
KERNEL(philox_uniform_f32, (of_counters<UNIFORM, float>))
KERNEL(philox_uniform_f64, (of_counters<UNIFORM, double>))
KERNEL(philox_normal_f32, (of_counters<NORMAL, float>))
KERNEL(philox_normal_f64, (of_counters<NORMAL, double>))
KERNEL(philox_log_normal_f32, (of_counters<LOG_NORMAL, float>))
KERNEL(philox_log_normal_f64, (of_counters<LOG_NORMAL, double>))
