// Kernels of the library that programs load as cuBLAS. Matrices are stored by columns.
#include "types.h"

#define TILE 32
#define DEPTH 16
#define SIDE 16
// Threads of a block that works on vectors.
#define BLOCK 128

enum { LISTS = 1, CONJUGATE_A = 2, CONJUGATE_B = 4 };
enum { BIAS = 1, RELU = 2, GELU = 4, KEEP = 8 };

// d = alpha a b + beta c, for each z of the grid. Steps are in elements: between rows and columns of the matrices as they are multiplied.
struct product {
    word a, b, c, d;
    long long between_a, between_b, between_c, between_d;
    long long a_row, a_column, b_row, b_column, c_column, d_column;
    long long m, n, k;
    factor alpha, beta;
    word flags;
    // What is done with a result: a number for each row is added, and a function applied whose argument may be kept.
    word finish, bias, kept;
    long long kept_column, between_kept;
};

template <typename T>
FUNCTION T *matrix(word address, long long between, word flags) {
    if (flags & LISTS) return ((T *const *)address)[blockIdx.z];
    return (T *)address + between * (long long)blockIdx.z;
}

FUNCTION float gelu(float x) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    float e = __nvvm_ex2_approx_f(-2.8853900818f * fabsf(inner));
    float t = (1 - e) / (1 + e);
    return 0.5f * x * (1 + (inner < 0 ? -t : t));
}

template <typename In>
FUNCTION auto element(const In *from, long long row_step, long long column_step, long long row, long long column, bool there, bool conjugated)
    -> decltype(load(*from)) {
    typedef decltype(load(*from)) T;
    return there ? conjugate(load(from[row * row_step + column * column_step]), conjugated) : zero(T());
}

// Two neighbours, which are loaded at once, as are both parts of a number.
template <typename T>
struct neighbours {
    T first, second;
};

template <typename T>
FUNCTION neighbours<T> two(const T *from) {
    typedef T both __attribute__((ext_vector_type(2)));
    both it = *(const both *)from;
    return {it.x, it.y};
}
template <typename R>
FUNCTION neighbours<complex<R>> two(const complex<R> *from) {
    neighbours<R> first = two((const R *)from), second = two((const R *)(from + 1));
    return {{first.first, first.second}, {second.first, second.second}};
}

// Each thread has four results of a tile, whose operands come through shared memory. `finish` is for kernels of one kind alone.
template <typename In, typename Out, bool FINISH>
FUNCTION void multiply_tiles(const product &p) {
    typedef decltype(load(In())) T;
    __shared__ __align__(2 * sizeof(T)) T a_tile[DEPTH][TILE + 2], b_tile[DEPTH][TILE + 2];
    const In *a = matrix<const In>(p.a, p.between_a, p.flags), *b = matrix<const In>(p.b, p.between_b, p.flags);
    long long row = (long long)blockIdx.x * TILE, column = (long long)blockIdx.y * TILE;
    int x = 2 * (threadIdx.x % SIDE), y = 2 * (threadIdx.x / SIDE);
    T sums[2][2] = {{zero(T()), zero(T())}, {zero(T()), zero(T())}};
    for (long long k = 0; k < p.k; k += DEPTH) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            // Neighbours in a warp load neighbours in memory.
            int at = threadIdx.x + part * SIDE * SIDE;
            int i = p.a_row == 1 ? at % TILE : at / DEPTH, l = p.a_row == 1 ? at / TILE : at % DEPTH;
            a_tile[l][i] = element(a, p.a_row, p.a_column, row + i, k + l, row + i < p.m && k + l < p.k, p.flags & CONJUGATE_A);
            int j = p.b_row == 1 ? at / DEPTH : at % TILE;
            l = p.b_row == 1 ? at % DEPTH : at / TILE;
            b_tile[l][j] = element(b, p.b_row, p.b_column, k + l, column + j, k + l < p.k && column + j < p.n, p.flags & CONJUGATE_B);
        }
        __syncthreads();
#pragma unroll 4
        for (int l = 0; l < DEPTH; ++l) {
            neighbours<T> left = two(&a_tile[l][x]), right = two(&b_tile[l][y]);
            sums[0][0] = add(sums[0][0], multiply(left.first, right.first));
            sums[0][1] = add(sums[0][1], multiply(left.first, right.second));
            sums[1][0] = add(sums[1][0], multiply(left.second, right.first));
            sums[1][1] = add(sums[1][1], multiply(left.second, right.second));
        }
        __syncthreads();
    }
    const Out *c = matrix<const Out>(p.c, p.between_c, p.flags);
    Out *d = matrix<Out>(p.d, p.between_d, p.flags);
    T alpha = value(p.alpha, T()), beta = value(p.beta, T());
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            long long r = row + x + i, s = column + y + j;
            if (r >= p.m || s >= p.n) continue;
            T result = multiply(alpha, sums[i][j]);
            // What is multiplied by zero is not read.
            if (!is_zero(beta)) result = add(result, multiply(beta, load(c[r + s * p.c_column])));
            if constexpr (FINISH) {
                if (p.finish & BIAS) result += load(((const Out *)p.bias)[r]);
                if (p.finish & KEEP) store((Out *)p.kept + p.between_kept * (long long)blockIdx.z + r + s * p.kept_column, result);
                if (p.finish & RELU) result = result > 0 ? result : 0;
                if (p.finish & GELU) result = gelu(result);
            }
            store(&d[r + s * p.d_column], result);
        }
}

#define PRODUCT(name, In, Out, FINISH) \
    extern "C" __global__ void __launch_bounds__(SIDE *SIDE) name(product p) { multiply_tiles<In, Out, FINISH>(p); }

PRODUCT(gemm_f32, float, float, true)
PRODUCT(gemm_f64, double, double, false)
PRODUCT(gemm_c32, complex32, complex32, false)
PRODUCT(gemm_c64, complex64, complex64, false)
PRODUCT(gemm_f16, half, half, true)
PRODUCT(gemm_f16_f32, half, float, true)
PRODUCT(gemm_bf16, bfloat, bfloat, true)
PRODUCT(gemm_bf16_f32, bfloat, float, true)
PRODUCT(gemm_i8_i32, signed char, int, false)

// Vectors, whose elements are steps apart: a negative step begins at the end.
struct vectors {
    word x, y, result;
    long long x_step, y_step, n;
    factor alpha;
    word conjugated;
};

template <typename T>
FUNCTION T *first(word address, long long step, long long n) {
    return (T *)address + (step < 0 ? (1 - n) * step : 0);
}

template <typename T>
FUNCTION T sum_of_block(T own) {
    __shared__ T sums[BLOCK];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] = add(sums[threadIdx.x], sums[threadIdx.x + half]);
        __syncthreads();
    }
    return sums[0];
}

#define INDEX (blockIdx.x * (long long)BLOCK + threadIdx.x)

template <typename T>
FUNCTION void axpy(const vectors &v) {
    if (INDEX >= v.n) return;
    T *y = first<T>(v.y, v.y_step, v.n) + INDEX * v.y_step;
    *y = add(*y, multiply(value(v.alpha, T()), first<const T>(v.x, v.x_step, v.n)[INDEX * v.x_step]));
}

template <typename T>
FUNCTION void scal(const vectors &v) {
    if (INDEX >= v.n) return;
    T *x = (T *)v.x + INDEX * v.x_step;
    *x = multiply(value(v.alpha, T()), *x);
}

template <typename T>
FUNCTION void copy(const vectors &v) {
    if (INDEX < v.n) first<T>(v.y, v.y_step, v.n)[INDEX * v.y_step] = first<const T>(v.x, v.x_step, v.n)[INDEX * v.x_step];
}

template <typename T>
FUNCTION void swap(const vectors &v) {
    if (INDEX >= v.n) return;
    T *x = first<T>(v.x, v.x_step, v.n) + INDEX * v.x_step, *y = first<T>(v.y, v.y_step, v.n) + INDEX * v.y_step;
    T from_x = *x, from_y = *y;
    *x = from_y;
    *y = from_x;
}

template <typename T>
FUNCTION void dot(const vectors &v) {
    const T *x = first<const T>(v.x, v.x_step, v.n), *y = first<const T>(v.y, v.y_step, v.n);
    T sum = zero(T());
    for (long long i = threadIdx.x; i < v.n; i += BLOCK) sum = add(sum, multiply(conjugate(x[i * v.x_step], v.conjugated), y[i * v.y_step]));
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *(T *)v.result = sum;
}

FUNCTION double size(double a) { return a < 0 ? -a : a; }

template <typename T>
FUNCTION void nrm2(const vectors &v) {
    double sum = 0;
    for (long long i = threadIdx.x; i < v.n; i += BLOCK) {
        double x = ((const T *)v.x)[i * v.x_step];
        sum += x * x;
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *(T *)v.result = (T)__nvvm_sqrt_rn_d(sum);
}

template <typename T>
FUNCTION void asum(const vectors &v) {
    double sum = 0;
    for (long long i = threadIdx.x; i < v.n; i += BLOCK) sum += size(((const T *)v.x)[i * v.x_step]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *(T *)v.result = (T)sum;
}

// The first of the largest elements, counted from 1; of the smallest where `conjugated` is set.
template <typename T>
FUNCTION void amax(const vectors &v) {
    __shared__ double sizes[BLOCK];
    __shared__ long long places[BLOCK];
    double sign = v.conjugated ? -1 : 1, best = 0;
    long long place = 0;
    for (long long i = threadIdx.x; i < v.n; i += BLOCK) {
        double here = sign * size(((const T *)v.x)[i * v.x_step]);
        if (place == 0 || here > best) best = here, place = i + 1;
    }
    sizes[threadIdx.x] = best;
    places[threadIdx.x] = place;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        int other = threadIdx.x + half;
        if (threadIdx.x < half && places[other] != 0) {
            bool is_better = places[threadIdx.x] == 0 || sizes[other] > sizes[threadIdx.x] ||
                             (sizes[other] == sizes[threadIdx.x] && places[other] < places[threadIdx.x]);
            if (is_better) sizes[threadIdx.x] = sizes[other], places[threadIdx.x] = places[other];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) *(int *)v.result = (int)places[0];
}

#define VECTORS(name, call) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name(vectors v) { call(v); }
#define TWO(name)                    \
    VECTORS(name##_f32, name<float>) \
    VECTORS(name##_f64, name<double>)
#define FOUR(name)                       \
    TWO(name)                            \
    VECTORS(name##_c32, name<complex32>) \
    VECTORS(name##_c64, name<complex64>)

FOUR(axpy)
FOUR(scal)
FOUR(copy)
FOUR(swap)
FOUR(dot)
TWO(amax)
TWO(nrm2)
TWO(asum)

// y = alpha op(a) x + beta y, or with `ger` a = alpha x y + a.
struct plane {
    word a, x, y;
    long long a_column, x_step, y_step, m, n;
    factor alpha, beta;
    word conjugated;
};

template <typename T>
FUNCTION void finish_row(const plane &p, T *y, T sum) {
    T beta = value(p.beta, T()), result = multiply(value(p.alpha, T()), sum);
    *y = is_zero(beta) ? result : add(result, multiply(beta, *y));
}

// A thread for each row.
template <typename T>
FUNCTION void gemv_n(const plane &p) {
    if (INDEX >= p.m) return;
    const T *a = (const T *)p.a + INDEX, *x = first<const T>(p.x, p.x_step, p.n);
    T sum = zero(T());
    for (long long j = 0; j < p.n; ++j) sum = add(sum, multiply(a[j * p.a_column], x[j * p.x_step]));
    finish_row(p, first<T>(p.y, p.y_step, p.m) + INDEX * p.y_step, sum);
}

// A block for each column.
template <typename T>
FUNCTION void gemv_t(const plane &p) {
    long long j = blockIdx.x;
    const T *a = (const T *)p.a + j * p.a_column, *x = first<const T>(p.x, p.x_step, p.m);
    T sum = zero(T());
    for (long long i = threadIdx.x; i < p.m; i += BLOCK) sum = add(sum, multiply(conjugate(a[i], p.conjugated), x[i * p.x_step]));
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) finish_row(p, first<T>(p.y, p.y_step, p.n) + j * p.y_step, sum);
}

template <typename T>
FUNCTION void ger(const plane &p) {
    if (INDEX >= p.m * p.n) return;
    long long i = INDEX % p.m, j = INDEX / p.m;
    T x = first<const T>(p.x, p.x_step, p.m)[i * p.x_step], y = first<const T>(p.y, p.y_step, p.n)[j * p.y_step];
    T *a = (T *)p.a + i + j * p.a_column;
    *a = add(*a, multiply(multiply(value(p.alpha, T()), x), conjugate(y, p.conjugated)));
}

#define PLANE(name, call) \
    extern "C" __global__ void __launch_bounds__(BLOCK) name(plane p) { call(p); }
#define PLANES(name)                   \
    PLANE(name##_f32, name<float>)     \
    PLANE(name##_f64, name<double>)    \
    PLANE(name##_c32, name<complex32>) \
    PLANE(name##_c64, name<complex64>)

PLANES(gemv_n)
PLANES(gemv_t)
PLANE(ger_f32, ger<float>)
PLANE(ger_f64, ger<double>)
