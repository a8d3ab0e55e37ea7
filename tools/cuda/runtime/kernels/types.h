// Types of elements: how each is loaded, what it is computed with, and how it is stored.
#pragma once
#include "../../../../experiments/applications/cuda.h"

typedef unsigned long long word;

#define FUNCTION static __device__ __forceinline__

// A number with two parts.
template <typename R>
struct complex {
    R re, im;
};

typedef complex<float> complex32;
typedef complex<double> complex64;

FUNCTION float zero(float) { return 0; }
FUNCTION double zero(double) { return 0; }
FUNCTION int zero(int) { return 0; }
template <typename R>
FUNCTION complex<R> zero(complex<R>) { return {0, 0}; }

FUNCTION float multiply(float a, float b) { return a * b; }
FUNCTION double multiply(double a, double b) { return a * b; }
FUNCTION int multiply(int a, int b) { return a * b; }
template <typename R>
FUNCTION complex<R> multiply(complex<R> a, complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

FUNCTION float add(float a, float b) { return a + b; }
FUNCTION double add(double a, double b) { return a + b; }
FUNCTION int add(int a, int b) { return a + b; }
template <typename R>
FUNCTION complex<R> add(complex<R> a, complex<R> b) { return {a.re + b.re, a.im + b.im}; }

FUNCTION bool is_zero(float a) { return a == 0; }
FUNCTION bool is_zero(double a) { return a == 0; }
FUNCTION bool is_zero(int a) { return a == 0; }
template <typename R>
FUNCTION bool is_zero(complex<R> a) { return a.re == 0 && a.im == 0; }

template <typename T>
FUNCTION T conjugate(T a, bool) { return a; }
template <typename R>
FUNCTION complex<R> conjugate(complex<R> a, bool wanted) { return {a.re, wanted ? -a.im : a.im}; }

// Numbers with a fraction of 16 bits, as bits.
struct half {
    unsigned short bits;
};
struct bfloat {
    unsigned short bits;
};

FUNCTION float load(float a) { return a; }
FUNCTION double load(double a) { return a; }
FUNCTION int load(int a) { return a; }
FUNCTION int load(signed char a) { return a; }
template <typename R>
FUNCTION complex<R> load(complex<R> a) { return a; }
FUNCTION float load(half a) {
    float value;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(a.bits));
    return value;
}
FUNCTION float load(bfloat a) {
    union { unsigned bits; float value; } both;
    both.bits = (unsigned)a.bits << 16;
    return both.value;
}

FUNCTION void store(float *place, float value) { *place = value; }
FUNCTION void store(double *place, double value) { *place = value; }
FUNCTION void store(int *place, int value) { *place = value; }
template <typename R>
FUNCTION void store(complex<R> *place, complex<R> value) { *place = value; }
FUNCTION void store(half *place, float value) {
    unsigned short bits;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    place->bits = bits;
}
// To the nearest, and to even where two are as near.
FUNCTION void store(bfloat *place, float value) {
    union { unsigned bits; float value; } both;
    both.value = value;
    bool is_nan = value != value;
    unsigned rounded = both.bits + 0x7fff + (both.bits >> 16 & 1);
    place->bits = (unsigned short)(is_nan ? 0x7fff : rounded >> 16);
}

// A factor: its value, or the address where it is, in the type of the result or as half of that.
struct factor {
    double re, im;
    word address;
    word is_half;
};

FUNCTION float read(const float *place) { return __nvvm_ldg_f(place); }
FUNCTION double read(const double *place) { return __nvvm_ldg_d(place); }

FUNCTION float value(const factor &it, float) {
    if (it.address == 0) return (float)it.re;
    return it.is_half ? load(*(const half *)it.address) : read((const float *)it.address);
}
FUNCTION double value(const factor &it, double) { return it.address ? read((const double *)it.address) : it.re; }
FUNCTION int value(const factor &it, int) { return it.address ? *(const int *)it.address : (int)it.re; }
template <typename R>
FUNCTION complex<R> value(const factor &it, complex<R>) {
    if (it.address == 0) return {(R)it.re, (R)it.im};
    const R *parts = (const R *)it.address;
    return {read(parts), read(parts + 1)};
}
