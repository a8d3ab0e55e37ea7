/* Libraries above CUDA's runtime, against loops of the host: `libraries NAME SUBJECT`. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *any;
int cudaMalloc(any *, size_t);
int cudaMemcpy(any, const void *, size_t, int);
int cudaMemset(any, int, size_t);
int cudaGetLastError(void);
int cudaDeviceSynchronize(void);
int cudaStreamCreate(any *);

typedef struct { any handle; int a, b, m, n, k; } shape;
int cublasCreate_v2(any *);
int cublasDestroy_v2(any);
int cublasSetStream_v2(any, any);
int cublasGetStream_v2(any, any *);
int cublasSetPointerMode_v2(any, int);
int cublasSetMathMode(any, int);
int cublasGetVersion_v2(any, int *);
const char *cublasGetStatusName(int);
const char *cublasGetStatusString(int);
int cublasSetMatrix(int, int, int, const void *, int, any, int);
int cublasGetMatrix(int, int, int, const void *, int, any, int);
int cublasSetVector(int, int, const void *, int, any, int);
int cublasSgemm_v2(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasDgemm_v2(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasCgemm_v2(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasZgemm_v2(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasSgemmBatched(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int, int);
int cublasSgemmStridedBatched(any, int, int, int, int, int, const void *, any, int, int64_t, any, int, int64_t, const void *, any, int, int64_t, int);
int cublasGemmEx(any, int, int, int, int, int, const void *, any, int, int, any, int, int, const void *, any, int, int, int, int);
int cublasGemmStridedBatchedEx(any, int, int, int, int, int, const void *, any, int, int, int64_t, any, int, int, int64_t, const void *, any, int, int, int64_t, int, int, int);
int cublasSgemv_v2(any, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasZgemv_v2(any, int, int, int, const void *, any, int, any, int, const void *, any, int);
int cublasSger_v2(any, int, int, const void *, any, int, any, int, any, int);
int cublasSaxpy_v2(any, int, const void *, any, int, any, int);
int cublasSscal_v2(any, int, const void *, any, int);
int cublasSdot_v2(any, int, any, int, any, int, any);
int cublasCdotc_v2(any, int, any, int, any, int, any);
int cublasSnrm2_v2(any, int, any, int, any);
int cublasDasum_v2(any, int, any, int, any);
int cublasIsamax_v2(any, int, any, int, any);
int cublasIsamin_v2(any, int, any, int, any);
int cublasSswap_v2(any, int, any, int, any, int);
int cublasStrsm_v2(any, int, int, int, int, int, int, const void *, any, int, any, int);
int cublasLtCreate(any *);
int cublasLtMatrixLayoutCreate(any *, int, uint64_t, uint64_t, int64_t);
int cublasLtMatmulDescCreate(any *, int, int);
int cublasLtMatmulDescSetAttribute(any, int, const void *, size_t);
int cublasLtMatmulPreferenceCreate(any *);
int cublasLtMatmulAlgoGetHeuristic(any, any, any, any, any, any, any, int, any, int *);
int cublasLtMatmul(any, any, const void *, any, any, any, any, const void *, any, any, any, any, any, any, size_t, any);
int curandCreateGenerator(any *, int);
int curandCreateGeneratorHost(any *, int);
int curandSetPseudoRandomGeneratorSeed(any, unsigned long long);
int curandSetGeneratorOffset(any, unsigned long long);
int curandSetGeneratorOrdering(any, int);
int curandSetQuasiRandomGeneratorDimensions(any, unsigned);
int curandGenerate(any, any, size_t);
int curandGenerateUniform(any, any, size_t);
int curandGenerateUniformDouble(any, any, size_t);
int curandGenerateNormal(any, any, size_t, float, float);
int curandGenerateNormalDouble(any, any, size_t, double, double);
int curandGenerateLogNormal(any, any, size_t, float, float);
int curandGeneratePoisson(any, any, size_t, double);
int curandDestroyGenerator(any);
int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned, any *);
int nvmlDeviceGetHandleByUUID(const char *, any *);
int nvmlDeviceGetName(any, char *, unsigned);
int nvmlDeviceGetUUID(any, char *, unsigned);
int nvmlDeviceGetMemoryInfo(any, uint64_t *);
int nvmlDeviceGetClockInfo(any, int, unsigned *);
int nvmlDeviceGetTemperature(any, int, unsigned *);
int nvmlDeviceGetUtilizationRates(any, unsigned *);
int nvmlSystemGetCudaDriverVersion(int *);
const char *nvmlErrorString(int);
int cufftPlan1d(int *, int, int, int);
int cusparseCreate(any *);
int cusolverDnCreate(any *);
int cudnnCreate(any *);

static any handle;

/* Small numbers of which sums are exact. */
static double number(int seed, int i) { return (double)((seed * 31 + i * 17) % 23 - 11) / 4; }

static any on_device(const void *values, size_t bytes) {
    any place;
    if (cudaMalloc(&place, bytes) || cudaMemcpy(place, values, bytes, 1)) exit(90);
    return place;
}

static void back(any place, void *values, size_t bytes) {
    if (cudaMemcpy(values, place, bytes, 2)) exit(91);
}

static unsigned short to_half(double x) {
    _Float16 value = (_Float16)x;
    unsigned short bits;
    memcpy(&bits, &value, 2);
    return bits;
}
static double of_half(unsigned short bits) {
    _Float16 value;
    memcpy(&value, &bits, 2);
    return (double)value;
}
/* The numbers of these tests have few enough bits. */
static unsigned short to_bfloat(double x) {
    float value = (float)x;
    unsigned bits;
    memcpy(&bits, &value, 4);
    return (unsigned short)(bits >> 16);
}
static double of_bfloat(unsigned short bits) {
    unsigned all = (unsigned)bits << 16;
    float value;
    memcpy(&value, &all, 4);
    return value;
}

/* Types of elements as the library numbers them. */
enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BYTE = 3, COMPLEX = 4, ZOMPLEX = 5, INT = 10, BFLOAT = 14 };

static int bytes_of(int kind) { return kind == BYTE ? 1 : kind == HALF || kind == BFLOAT ? 2 : kind == FLOAT || kind == INT ? 4 : kind == ZOMPLEX ? 16 : 8; }

static void put(void *values, int i, int kind, double complex x) {
    switch (kind) {
        case FLOAT: ((float *)values)[i] = (float)creal(x); break;
        case DOUBLE: ((double *)values)[i] = creal(x); break;
        case HALF: ((unsigned short *)values)[i] = to_half(creal(x)); break;
        case BFLOAT: ((unsigned short *)values)[i] = to_bfloat(creal(x)); break;
        case BYTE: ((signed char *)values)[i] = (signed char)(creal(x) * 4); break;
        case INT: ((int *)values)[i] = (int)(creal(x) * 16); break;
        case COMPLEX: ((float complex *)values)[i] = (float complex)x; break;
        default: ((double complex *)values)[i] = x;
    }
}

static double complex get(const void *values, int i, int kind) {
    switch (kind) {
        case FLOAT: return ((const float *)values)[i];
        case DOUBLE: return ((const double *)values)[i];
        case HALF: return of_half(((const unsigned short *)values)[i]);
        case BFLOAT: return of_bfloat(((const unsigned short *)values)[i]);
        case BYTE: return ((const signed char *)values)[i] / 4.0;
        case INT: return ((const int *)values)[i] / 16.0;
        case COMPLEX: return ((const float complex *)values)[i];
        default: return ((const double complex *)values)[i];
    }
}

enum { ROOM = 60 * 60 };
static char a[3 * ROOM * 16], b[3 * ROOM * 16], c[3 * ROOM * 16], d[3 * ROOM * 16];

static void fill(void *values, int seed, int kind, int count) {
    int has_parts = kind == COMPLEX || kind == ZOMPLEX;
    for (int i = 0; i < count; ++i) put(values, i, kind, number(seed, i) + (has_parts ? number(seed + 7, i) * I : 0));
}

/* Element of an operand behind its operation. */
static double complex element(const void *values, int kind, int operation, int leading, int row, int column, int from) {
    double complex x = get(values, from + (operation ? column + row * leading : row + column * leading), kind);
    return operation == 2 ? conj(x) : x;
}

/* How many elements of c differ from alpha a b + beta c, which was in d. */
static int differ(int in, int out, shape s, int lda, int ldb, int ldc, double complex alpha, double complex beta, double tolerance, int from) {
    int wrong = 0;
    for (int j = 0; j < s.n; ++j)
        for (int i = 0; i < ldc; ++i) {
            double complex sum = 0, before = get(d, from + i + j * ldc, out), after = get(c, from + i + j * ldc, out);
            for (int l = 0; i < s.m && l < s.k; ++l) sum += element(a, in, s.a, lda, i, l, from) * element(b, in, s.b, ldb, l, j, from);
            double complex wanted = i < s.m ? alpha * sum + beta * before : before;
            wrong += !(cabs(after - wanted) <= tolerance * (1 + cabs(wanted)));
        }
    return wrong;
}

/* A product of two types, with factors in the type of the computation. */
static int product(int in, int out, int compute, shape s, double complex alpha, double complex beta, double tolerance, int count) {
    int lda = (s.a ? s.k : s.m) + 1, ldb = (s.b ? s.n : s.k) + 2, ldc = s.m + 3, between = ROOM;
    int scale = compute == 64 ? HALF : compute == 72 ? FLOAT : in == HALF || in == BFLOAT ? FLOAT : in;
    char factors[2][16];
    for (int i = 0; i < 2; ++i) put(factors[i], 0, scale, i ? beta : alpha);
    if (compute == 72) {
        int whole[2] = { (int)creal(alpha), (int)creal(beta) };
        for (int i = 0; i < 2; ++i) memcpy(factors[i], &whole[i], 4);
    }
    fill(a, 1, in, count * ROOM), fill(b, 2, in, count * ROOM), fill(c, 3, out, count * ROOM);
    memcpy(d, c, sizeof d);
    any on_a = on_device(a, count * ROOM * bytes_of(in)), on_b = on_device(b, count * ROOM * bytes_of(in));
    any on_c = on_device(c, count * ROOM * bytes_of(out));
    int status = 99;
    if (compute && count == 1)
        status = cublasGemmEx(handle, s.a, s.b, s.m, s.n, s.k, factors[0], on_a, in, lda, on_b, in, ldb, factors[1], on_c, out, ldc, compute, -1);
    else if (compute)
        status = cublasGemmStridedBatchedEx(handle, s.a, s.b, s.m, s.n, s.k, factors[0], on_a, in, lda, between, on_b, in, ldb, between, factors[1],
                                            on_c, out, ldc, between, count, compute, -1);
    else if (count > 1)
        status = cublasSgemmStridedBatched(handle, s.a, s.b, s.m, s.n, s.k, factors[0], on_a, lda, between, on_b, ldb, between, factors[1], on_c, ldc,
                                           between, count);
    else {
        int (*gemm)(any, int, int, int, int, int, const void *, any, int, any, int, const void *, any, int) =
            in == FLOAT ? cublasSgemm_v2 : in == DOUBLE ? cublasDgemm_v2 : in == COMPLEX ? cublasCgemm_v2 : cublasZgemm_v2;
        status = gemm(handle, s.a, s.b, s.m, s.n, s.k, factors[0], on_a, lda, on_b, ldb, factors[1], on_c, ldc);
    }
    if (status) return 1000 + status;
    back(on_c, c, count * ROOM * bytes_of(out));
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += differ(in, out, s, lda, ldb, ldc, alpha, beta, tolerance, i * between);
    if (wrong) fprintf(stderr, "types %d, %d, operations %d, %d: %d elements differ\n", in, out, s.a, s.b, wrong);
    return wrong;
}

static shape sized(int operation_a, int operation_b, int m, int n, int k) { return (shape){ handle, operation_a, operation_b, m, n, k }; }

static int gemm(void) {
    int wrong = 0;
    for (int i = 0; i < 9; ++i) wrong += product(FLOAT, FLOAT, 0, sized(i / 3, i % 3, 33 + i, 37 - i, 19 + i), 1.5, i % 2, 1e-5, 1);
    for (int i = 0; i < 4; ++i) wrong += product(DOUBLE, DOUBLE, 0, sized(i / 2, i % 2, 5, 40, 17), -2, 0.5, 1e-12, 1);
    for (int i = 0; i < 9; ++i) {
        wrong += product(COMPLEX, COMPLEX, 0, sized(i / 3, i % 3, 9, 35, 18), 1 + 2 * I, 0.5 - I, 1e-4, 1);
        wrong += product(ZOMPLEX, ZOMPLEX, 0, sized(i / 3, i % 3, 34, 3, 7), 1 + 2 * I, 0, 1e-12, 1);
    }
    /* Nothing is multiplied, and nothing of c is read where beta is zero. */
    wrong += product(FLOAT, FLOAT, 0, sized(0, 0, 8, 8, 0), 1, 3, 1e-6, 1) + product(FLOAT, FLOAT, 0, sized(0, 1, 0, 8, 4), 1, 3, 1e-6, 1);
    float one = 1, zero = 0, nan = NAN, unit = 2, result;
    any x = on_device(&unit, 4), y = on_device(&nan, 4);
    wrong += cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, x, 1, x, 1, &zero, y, 1) != 0;
    back(y, &result, 4);
    return wrong + (result != 4);
}

static int batched(void) {
    int wrong = product(FLOAT, FLOAT, 0, sized(1, 0, 20, 34, 21), 0.5, 2, 1e-5, 3);
    wrong += product(FLOAT, FLOAT, 77, sized(0, 1, 20, 34, 21), 0.5, 2, 1e-5, 3);
    float values[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 0, 0, 0, 0 } }, two = 2, zero = 0, out[2][4];
    any place[3], lists[3];
    for (int i = 0; i < 3; ++i) place[i] = on_device(values[i], 16);
    any more = on_device(values[2], 16), lefts[] = { place[0], place[1] }, rights[] = { place[1], place[0] }, results[] = { place[2], more };
    lists[0] = on_device(lefts, 16), lists[1] = on_device(rights, 16), lists[2] = on_device(results, 16);
    wrong += cublasSgemmBatched(handle, 0, 0, 2, 2, 2, &two, lists[0], 2, lists[1], 2, &zero, lists[2], 2, 2) != 0;
    back(place[2], out[0], 16), back(more, out[1], 16);
    float wanted[2][4] = { { 46, 68, 62, 92 }, { 38, 44, 86, 100 } };
    return wrong + (memcmp(out, wanted, sizeof out) != 0);
}

static int extended(void) {
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        wrong += product(HALF, HALF, 68, sized(i / 2, i % 2, 18, 20, 9), 1, 0.5, 1e-3, 1);
        wrong += product(HALF, FLOAT, 68, sized(i / 2, i % 2, 18, 20, 9), 1, 0.5, 1e-5, 1);
        wrong += product(BFLOAT, BFLOAT, 68, sized(i / 2, i % 2, 18, 20, 9), 1, 0.5, 5e-3, 1);
        wrong += product(BFLOAT, FLOAT, 77, sized(i / 2, i % 2, 18, 20, 9), 1, 0.5, 1e-5, 1);
        wrong += product(BYTE, INT, 72, sized(i / 2, i % 2, 18, 20, 9), 2, 3, 0, 1);
    }
    wrong += product(HALF, HALF, 64, sized(1, 0, 18, 20, 9), 1, 0.5, 1e-3, 1) + product(HALF, HALF, 68, sized(1, 0, 18, 20, 9), 1, 0, 1e-3, 3);
    wrong += product(BYTE, FLOAT, 68, sized(0, 0, 4, 4, 4), 1, 0, 0, 1) != 1015;
    return wrong;
}

static int vectors(void) {
    enum { N = 300 };
    static float x[3 * N], y[2 * N], out[2 * N];
    for (int i = 0; i < 3 * N; ++i) x[i] = (float)number(1, i);
    for (int i = 0; i < 2 * N; ++i) y[i] = (float)number(2, i);
    any on_x = on_device(x, sizeof x), on_y = on_device(y, sizeof y), on_result;
    float alpha = 1.5f, result = 0, wanted = 0, squares = 0;
    int wrong = cublasSdot_v2(handle, N, on_x, 3, on_y, -2, &result) != 0, place = 0, low = 0;
    for (int i = 0; i < N; ++i) wanted += x[3 * i] * y[2 * (N - 1 - i)], squares += x[3 * i] * x[3 * i];
    wrong += fabsf(result - wanted) > 1e-3f;
    wrong += cublasSnrm2_v2(handle, N, on_x, 3, &result) != 0 || fabsf(result - sqrtf(squares)) > 1e-4f;
    for (int i = 1; i < N; ++i) {
        if (fabsf(x[3 * i]) > fabsf(x[3 * place])) place = i;
        if (fabsf(x[3 * i]) < fabsf(x[3 * low])) low = i;
    }
    int found;
    wrong += cublasIsamax_v2(handle, N, on_x, 3, &found) != 0 || found != place + 1;
    wrong += cublasIsamin_v2(handle, N, on_x, 3, &found) != 0 || found != low + 1;
    wrong += cublasIsamax_v2(handle, 0, on_x, 1, &found) != 0 || found != 0 || cublasSdot_v2(handle, 0, on_x, 1, on_y, 1, &result) != 0 || result != 0;
    wrong += cublasSaxpy_v2(handle, N, &alpha, on_x, -3, on_y, 2) != 0;
    back(on_y, out, sizeof out);
    for (int i = 0; i < N; ++i) wrong += out[2 * i] != y[2 * i] + alpha * x[3 * (N - 1 - i)] || out[2 * i + 1] != y[2 * i + 1];
    /* Factors and results may be on the device. */
    float factors[2] = { 2, 0 };
    on_result = on_device(factors, 8);
    wrong += cublasSetPointerMode_v2(handle, 1) != 0 || cublasSscal_v2(handle, N, on_result, on_x, 2) != 0;
    wrong += cublasSdot_v2(handle, 2, on_x, 2, on_x, 2, (char *)on_result + 4) != 0 || cublasSetPointerMode_v2(handle, 0) != 0;
    back(on_result, factors, 8);
    wrong += fabsf(factors[1] - 4 * (x[0] * x[0] + x[2] * x[2])) > 1e-4f;
    wrong += cublasSswap_v2(handle, N, on_x, 1, on_y, 1) != 0;
    static float swapped[2 * N];
    back(on_x, swapped, sizeof swapped / 2);
    wrong += memcmp(swapped, out, sizeof swapped / 2) != 0;
    float complex z[3] = { 1 + 2 * I, -I, 3 }, w[3] = { 2, 1 + I, I }, sum;
    any on_z = on_device(z, sizeof z), on_w = on_device(w, sizeof w);
    wrong += cublasCdotc_v2(handle, 3, on_z, 1, on_w, 1, &sum) != 0 || cabsf(sum - (2 - 4 * I + I * (1 + I) + 3 * I)) > 1e-5f;
    double list[] = { 1, -2, 3 }, total;
    wrong += cublasDasum_v2(handle, 3, on_device(list, sizeof list), 1, &total) != 0 || total != 6;
    return wrong;
}

static int planes(void) {
    enum { M = 37, N = 150, LD = 40 };
    static float plane[LD * N], x[2 * N], y[2 * N], out[2 * N], outer[LD * N];
    for (int i = 0; i < LD * N; ++i) plane[i] = (float)number(1, i);
    for (int i = 0; i < 2 * N; ++i) x[i] = (float)number(2, i), y[i] = (float)number(3, i);
    any on_a = on_device(plane, sizeof plane), on_x = on_device(x, sizeof x);
    float alpha = 0.5f, beta = 2;
    int wrong = 0;
    for (int transposed = 0; transposed < 2; ++transposed) {
        int rows = transposed ? N : M, columns = transposed ? M : N;
        any on_y = on_device(y, sizeof y);
        wrong += cublasSgemv_v2(handle, transposed, M, N, &alpha, on_a, LD, on_x, 2, &beta, on_y, -1) != 0;
        back(on_y, out, sizeof out);
        for (int i = 0; i < rows; ++i) {
            float sum = 0;
            for (int j = 0; j < columns; ++j) sum += (transposed ? plane[j + i * LD] : plane[i + j * LD]) * x[2 * j];
            wrong += fabsf(out[rows - 1 - i] - (alpha * sum + beta * y[rows - 1 - i])) > 1e-3f;
        }
    }
    wrong += cublasSger_v2(handle, M, N, &alpha, on_x, 2, on_x, 1, on_a, LD) != 0;
    back(on_a, outer, sizeof outer);
    for (int i = 0; i < LD * N; ++i) wrong += fabsf(outer[i] - (plane[i] + (i % LD < M ? alpha * x[i % LD * 2] * x[i / LD] : 0))) > 1e-4f;
    double complex z[4] = { 1 + I, 2, 3 * I, 4 }, v[2] = { 1, I }, one = 1, zero = 0, result[2];
    any on_z = on_device(z, sizeof z), on_v = on_device(v, sizeof v), on_r = on_device(v, sizeof v);
    wrong += cublasZgemv_v2(handle, 2, 2, 2, &one, on_z, 2, on_v, 1, &zero, on_r, 1) != 0;
    back(on_r, result, sizeof result);
    return wrong + (cabs(result[0] - (1 - I + 2 * I)) > 1e-9 || cabs(result[1] - (-3 * I + 4 * I)) > 1e-9);
}

static int settings(void) {
    float values[6] = { 1, 2, 3, 4, 5, 6 }, out[6] = { 0 }, one = 1;
    any place, stream, given, other;
    int version, wrong = cudaMalloc(&place, 64) != 0 || cudaMemset(place, 0, 64) != 0;
    wrong += cublasSetMatrix(2, 3, 4, values, 2, place, 4) != 0 || cublasGetMatrix(2, 3, 4, place, 4, out, 2) != 0 || memcmp(values, out, sizeof out);
    wrong += cublasSetVector(3, 4, values, 2, place, 1) != 0;
    back(place, out, 12);
    wrong += out[0] != 1 || out[1] != 3 || out[2] != 5;
    wrong += cudaStreamCreate(&stream) != 0 || cublasSetStream_v2(handle, stream) != 0 || cublasGetStream_v2(handle, &given) != 0 || given != stream;
    wrong += cublasSscal_v2(handle, 3, &one, place, 1) != 0 || cublasSetStream_v2(handle, 0) != 0 || cublasSetMathMode(handle, 3) != 0;
    wrong += cublasGetVersion_v2(handle, &version) != 0 || version != 130000 || strcmp(cublasGetStatusName(7), "CUBLAS_STATUS_INVALID_VALUE");
    wrong += !strstr(cublasGetStatusString(13), "failed to execute");
    /* Wrong calls. */
    wrong += cublasSgemm_v2(handle, 0, 0, 4, 4, 4, &one, place, 3, place, 4, &one, place, 4) != 7;
    wrong += cublasSgemm_v2(handle, 0, 0, 4, 4, 4, &one, place, 4, place, 3, &one, place, 4) != 7;
    wrong += cublasSgemm_v2(handle, 1, 0, 4, 4, 5, &one, place, 4, place, 5, &one, place, 4) != 7;
    wrong += cublasSgemm_v2(handle, 0, 0, 4, -1, 4, &one, place, 4, place, 4, &one, place, 4) != 7;
    wrong += cublasSgemm_v2(handle, 3, 0, 4, 4, 4, &one, place, 4, place, 4, &one, place, 4) != 7;
    wrong += cublasSgemm_v2(handle, 0, 0, 4, 4, 4, 0, place, 4, place, 4, &one, place, 4) != 7;
    wrong += cublasSgemv_v2(handle, 0, 2, 2, &one, place, 2, place, 0, &one, place, 1) != 7 || cublasSetPointerMode_v2(handle, 2) != 7;
    wrong += cublasSgemm_v2(0, 0, 0, 1, 1, 1, &one, place, 1, place, 1, &one, place, 1) != 1;
    wrong += cublasStrsm_v2(handle, 0, 0, 0, 0, 1, 1, &one, place, 1, place, 1) != 15;
    wrong += cublasCreate_v2(&other) != 0 || cublasDestroy_v2(other) != 0 || cublasDestroy_v2(other) != 1 || cudaGetLastError() != 0;
    return wrong;
}

/* A kernel that fails. */
static int fails(void) {
    float one = 1;
    int wrong = cublasSscal_v2(handle, 4, &one, (any)0x7000000, 1) != 13 || cudaDeviceSynchronize() != 700;
    return wrong + (cublasSscal_v2(handle, 4, &one, (any)0x7000000, 1) != 13);
}

static int light(void) {
    enum { M = 5, N = 7, K = 6 };
    float weight[K * M], in[K * N], bias[M], out[M * N], alpha = 1, beta = 0;
    for (int i = 0; i < K * M; ++i) weight[i] = (float)number(1, i) / 8;
    for (int i = 0; i < K * N; ++i) in[i] = (float)number(2, i) / 8;
    for (int i = 0; i < M; ++i) bias[i] = (float)number(3, i);
    any lt, desc, preference, la, lb, lc, on_a = on_device(weight, sizeof weight), on_b = on_device(in, sizeof in), on_bias = on_device(bias, sizeof bias), on_c;
    int transposed = 1, none = 0, count = 0, wrong = cudaMalloc(&on_c, sizeof out) != 0 || cublasLtCreate(&lt) != 0;
    char found[96];
    wrong += cublasLtMatmulDescCreate(&desc, 77, FLOAT) || cublasLtMatmulPreferenceCreate(&preference);
    wrong += cublasLtMatrixLayoutCreate(&la, FLOAT, K, M, K) || cublasLtMatrixLayoutCreate(&lb, FLOAT, K, N, K) || cublasLtMatrixLayoutCreate(&lc, FLOAT, M, N, M);
    wrong += cublasLtMatmulDescSetAttribute(desc, 3, &transposed, 4) || cublasLtMatmulDescSetAttribute(desc, 4, &none, 4);
    wrong += cublasLtMatmulDescSetAttribute(desc, 8, &on_bias, sizeof on_bias);
    int kinds[] = { 1, 4, 6, 36 };
    for (int kind = 0; kind < 4; ++kind) {
        wrong += cublasLtMatmulDescSetAttribute(desc, 7, &kinds[kind], 4) != 0;
        wrong += cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, lc, preference, 1, found, &count) != 0 || count != 1;
        wrong += cublasLtMatmul(lt, desc, &alpha, on_a, la, on_b, lb, &beta, on_c, lc, on_c, lc, found, 0, 0, 0) != 0;
        back(on_c, out, sizeof out);
        for (int i = 0; i < M * N; ++i) {
            double x = kinds[kind] & 4 ? bias[i % M] : 0;
            for (int k = 0; k < K; ++k) x += weight[k + i % M * K] * in[k + i / M * K];
            if (kinds[kind] == 6) x = x > 0 ? x : 0;
            if (kinds[kind] == 36) x = 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
            wrong += fabs(x - out[i]) > 1e-4;
        }
    }
    int unknown = 512;
    wrong += cublasLtMatmulDescSetAttribute(desc, 7, &unknown, 4) != 0;
    return wrong + (cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, lc, preference, 1, found, &count) != 15);
}

enum { COUNT = 20000 };
static unsigned bits[COUNT];
static float floats[COUNT];
static double doubles[COUNT];
static any place;

static any generator(int kind, unsigned long long seed) {
    any it;
    if (curandCreateGenerator(&it, kind) || curandSetPseudoRandomGeneratorSeed(it, seed)) exit(92);
    return it;
}

static int moments(double mean, double deviation, int wide) {
    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; ++i) {
        double x = wide ? doubles[i] : floats[i];
        sum += x, squares += x * x;
    }
    sum /= COUNT, squares = sqrt(squares / COUNT - sum * sum);
    int wrong = fabs(sum - mean) > 0.03 * (1 + deviation) || fabs(squares - deviation) > 0.05 * deviation;
    if (wrong) fprintf(stderr, "mean %g, deviation %g\n", sum, squares);
    return wrong;
}

static int near(double a, double b) { return fabs(a - b) <= 4e-6 * (1 + fabs(b)); }

/* Values for the seed 1234 of NVIDIA's library (its generators for the host), of each kind of generator: bits, and a number of each distribution. */
static const struct { int kind; unsigned first[4], later, behind; float uniform, normal[2]; double wide, wide_normal[2]; } KNOWN[] = {
    { 101, { 0x253d5e15, 0xd1f7605a, 0x8ce6f6f8, 0x4b79ff67 }, 0x49134368, 0x9c614cfc, 0.14546764f, { 0.78097355f, -1.8015782f }, 0.43489880438841294, { 0.35873979852445503, -1.239592503223552 } },
    { 121, { 0xc96891f0, 0x26f0d612, 0xef269080, 0xfc8fa50e }, 0xd7308fe5, 0xecf8a46b, 0.78675187f, { -0.36065379f, -0.5912813f }, 0.7867518627157294, { -0.3606536461117447, -0.5912814037417441 } },
    { 161, { 0x2090b348, 0xda7cf0ab, 0x4401906f, 0xcbca470e }, 0xec6a41f7, 0x16fff19a, 0.12720795f, { -1.6164905f, 1.2291554f }, 0.8534689954300143, { -0.5395266959073188, 0.16063334644202293 } },
};

/* Points 5 to 8 of three dimensions, and what follows in fewer, as NVIDIA's library has them. */
static int sobol(void) {
    static const unsigned known[12] = { 0xe0000000, 0xa0000000, 0x20000000, 0x30000000, 0xe0000000, 0x20000000, 0xa0000000, 0x50000000,
                                        0x20000000, 0xe0000000, 0x60000000, 0xf0000000 };
    any it;
    int wrong = curandCreateGenerator(&it, 200) != 0 || curandSetQuasiRandomGeneratorDimensions(it, 3) != 0;
    wrong += curandSetGeneratorOffset(it, 5) != 0 || curandGenerate(it, place, 12) != 0;
    back(place, bits, 48);
    wrong += memcmp(bits, known, 48) != 0 || curandSetQuasiRandomGeneratorDimensions(it, 1) != 0;
    wrong += curandGenerate(it, place, 2) != 0;
    back(place, bits, 8);
    wrong += bits[0] != 0xb0000000 || bits[1] != 0xf0000000;
    wrong += curandSetGeneratorOffset(it, 0) != 0 || curandGenerateUniform(it, place, COUNT) != 0;
    back(place, floats, sizeof floats);
    wrong += floats[0] != 0x1p-33f || floats[1] != 0.5f || floats[2] != 0.75f || moments(0.5, sqrt(1 / 12.0), 0);
    wrong += curandSetGeneratorOffset(it, 0) != 0 || curandGenerateUniformDouble(it, place, COUNT) != 0;
    back(place, doubles, sizeof doubles);
    wrong += doubles[0] != 0x1p-32 || doubles[3] != 0.25 + 0x1p-32 || moments(0.5, sqrt(1 / 12.0), 1);
    wrong += curandSetQuasiRandomGeneratorDimensions(it, 0) != 104 || curandSetQuasiRandomGeneratorDimensions(it, 20001) != 104;
    wrong += curandSetQuasiRandomGeneratorDimensions(it, 65) != 103 || curandSetQuasiRandomGeneratorDimensions(it, 64) != 0;
    wrong += curandSetGeneratorOffset(it, 1000) != 0 || curandGenerate(it, place, 640) != 0;
    back(place, bits, 2560);
    wrong += bits[630] != 0x72400000 || bits[639] != 0x5a400000;
    wrong += curandGenerate(it, place, 63) != 105 || curandGenerateNormal(it, place, 64, 0, 1) != 103;
    wrong += curandSetPseudoRandomGeneratorSeed(it, 1) != 103 || curandSetGeneratorOrdering(it, 100) != 104;
    return wrong + (curandSetGeneratorOrdering(it, 201) != 0 || curandDestroyGenerator(it) != 0);
}

static int randoms(void) {
    int wrong = cudaMalloc(&place, sizeof doubles) != 0;
    for (int i = 0; i < 3; ++i) {
        any it = generator(KNOWN[i].kind, 1234);
        wrong += curandGenerate(it, place, COUNT) != 0;
        back(place, bits, sizeof bits);
        wrong += memcmp(bits, KNOWN[i].first, 16) != 0 || bits[9] != KNOWN[i].later || bits[COUNT - 1] != KNOWN[i].behind;
        /* One call gives what several give, and an offset leaves values out. */
        unsigned parts[20];
        curandSetPseudoRandomGeneratorSeed(it, 1234);
        wrong += curandGenerate(it, place, 5) != 0 || curandGenerate(it, (char *)place + 20, 15) != 0;
        back(place, parts, sizeof parts);
        wrong += memcmp(parts, bits, sizeof parts) != 0;
        wrong += curandSetGeneratorOffset(it, 4099) != 0 || curandGenerate(it, place, 20) != 0;
        back(place, parts, sizeof parts);
        wrong += memcmp(parts, bits + 4099, sizeof parts) != 0 || curandSetGeneratorOffset(it, 0) != 0;
        wrong += curandGenerateUniform(it, place, COUNT) != 0;
        back(place, floats, sizeof floats);
        wrong += !near(floats[0], KNOWN[i].uniform) || moments(0.5, sqrt(1 / 12.0), 0);
        curandSetPseudoRandomGeneratorSeed(it, 1234);
        wrong += curandGenerateNormal(it, place, COUNT, 0, 1) != 0;
        back(place, floats, sizeof floats);
        wrong += !near(floats[0], KNOWN[i].normal[0]) || !near(floats[1], KNOWN[i].normal[1]) || moments(0, 1, 0);
        curandSetPseudoRandomGeneratorSeed(it, 1234);
        wrong += curandGenerateUniformDouble(it, place, COUNT) != 0;
        back(place, doubles, sizeof doubles);
        wrong += doubles[0] != KNOWN[i].wide || moments(0.5, sqrt(1 / 12.0), 1);
        curandSetPseudoRandomGeneratorSeed(it, 1234);
        wrong += curandGenerateNormalDouble(it, place, COUNT, 3, 2) != 0;
        back(place, doubles, sizeof doubles);
        for (int j = 0; j < 2; ++j) wrong += fabs(doubles[j] - (3 + 2 * KNOWN[i].wide_normal[j])) > 1e-13;
        wrong += moments(3, 2, 1) + (curandGenerateLogNormal(it, place, COUNT, 0, 0.5f) != 0);
        back(place, floats, sizeof floats);
        wrong += moments(exp(0.125), sqrt((exp(0.25) - 1) * exp(0.25)), 0);
        wrong += curandGenerateNormal(it, place, 3, 0, 1) != 105 || curandGeneratePoisson(it, place, 4, 2) != 103;
        wrong += curandDestroyGenerator(it) != 0 || curandGenerate(it, place, 4) != 101;
        if (wrong) return i * 1000 + wrong;
    }
    /* Known answers of Random123: no key and counters of zeros. */
    unsigned zeros[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
    any host, other;
    wrong += curandCreateGeneratorHost(&host, 161) != 0 || curandGenerate(host, bits, 4) != 0 || memcmp(bits, zeros, 16) != 0;
    wrong += curandSetGeneratorOrdering(host, 103) != 0 || curandSetGeneratorOrdering(host, 102) != 103 || curandSetGeneratorOrdering(host, 7) != 104;
    return wrong + sobol() + (curandCreateGenerator(&other, 142) != 103 || curandCreateGenerator(&other, 7) != 103);
}

static int management(void) {
    char name[96], uuid[96];
    any device, same;
    uint64_t memory[3];
    unsigned count, clock, rates[2];
    int version, wrong = nvmlInit_v2() != 0 || nvmlDeviceGetCount_v2(&count) != 0 || count != 1;
    wrong += nvmlDeviceGetHandleByIndex_v2(0, &device) != 0 || nvmlDeviceGetHandleByIndex_v2(1, &same) != 2;
    wrong += nvmlDeviceGetName(device, name, 96) != 0 || strcmp(name, "Counterpoint functional device") || nvmlDeviceGetName(device, name, 8) != 7;
    wrong += nvmlDeviceGetUUID(device, uuid, 96) != 0 || strncmp(uuid, "GPU-", 4) || nvmlDeviceGetHandleByUUID(uuid, &same) != 0 || same != device;
    wrong += nvmlDeviceGetMemoryInfo(device, memory) != 0 || memory[0] != 8ull << 30 || memory[1] + memory[2] != memory[0];
    wrong += nvmlDeviceGetClockInfo(device, 1, &clock) != 0 || clock != 1000 || nvmlDeviceGetClockInfo(device, 9, &clock) != 2;
    wrong += nvmlDeviceGetTemperature(device, 0, &clock) != 3 || nvmlDeviceGetUtilizationRates(device, rates) != 0 || rates[0] != 0;
    wrong += nvmlSystemGetCudaDriverVersion(&version) != 0 || version < 13000 || strcmp(nvmlErrorString(3), "Not Supported");
    return wrong + (nvmlDeviceGetName(0, name, 96) != 2);
}

static int refused(void) {
    int plan;
    any it;
    return (cufftPlan1d(&plan, 8, 41, 1) != 16) + (cusparseCreate(&it) != 10) + (cusolverDnCreate(&it) != 9) + (cudnnCreate(&it) != 3000);
}

int main(int count, char **words) {
    static const struct { const char *name; int (*run)(void); } ALL[] = {
        { "gemm", gemm }, { "batched", batched }, { "extended", extended }, { "vectors", vectors }, { "planes", planes }, { "settings", settings },
        { "fails", fails }, { "light", light }, { "randoms", randoms }, { "management", management }, { "refused", refused },
    };
    for (size_t i = 0; count == 3 && i < sizeof ALL / sizeof *ALL; ++i) {
        if (strcmp(words[2], ALL[i].name)) continue;
        if (strcmp(words[2], "management") && strcmp(words[2], "refused") && cublasCreate_v2(&handle)) return 80;
        int wrong = ALL[i].run();
        if (wrong) fprintf(stderr, "%s: %d\n", words[2], wrong);
        return wrong != 0;
    }
    return 81;
}
