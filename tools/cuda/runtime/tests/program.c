/* A CUDA program as a compiler leaves it: the host's code, which registers a fat binary and kernels before it uses them. Its CPU check
   decides its exit status. Its PTX is the file that it is given: `program kernel.ptx WHAT`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaGraphCreate(void *, unsigned);
typedef struct { int x, y, z, w, kind; } channels;
typedef struct { int kind; void *place; char rest[48]; } resource;
typedef struct { int edges[3], filter, read, rest[5], normalized, more[8]; } reading;
channels cudaCreateChannelDesc(int, int, int, int, int);
int cudaMallocArray(void **, const channels *, size_t, size_t, unsigned);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaCreateTextureObject(unsigned long long *, const resource *, const reading *, const void *);
const char *cudaGetErrorString(int);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

static struct { unsigned magic, version; const void *data; void *more; } wrapper = { 0x466243b1, 1, 0, 0 };
static char step_stub, shade_stub, loss;
static void **handle;

static void end(void) { __cudaUnregisterFatBinary(handle); }

static void check(int error, const char *call) {
    if (error) {
        printf("%s: %s\n", call, cudaGetErrorString(error));
        exit(9);
    }
}

/* Steps until the device says that nothing changes any more: every value above 100 loses 7 in a step. */
static int steps(int n) {
    int *values, *changed, again = 1, rounds = 0, seven = 7;
    int *host = malloc(4 * n);
    for (int i = 0; i < n; ++i) host[i] = 90 + i % 64;
    check(cudaMalloc((void **)&values, 4 * n), "cudaMalloc");
    check(cudaMalloc((void **)&changed, 4), "cudaMalloc");
    check(cudaMemcpy(values, host, 4 * n, 1), "cudaMemcpy");
    check(cudaMemcpyToSymbol(&loss, &seven, 4, 0, 1), "cudaMemcpyToSymbol");
    struct { int *values, *changed; int n; } by_value = { values, changed, n };
    while (again) {
        void *arguments[] = { &by_value, &rounds };
        check(cudaMemset(changed, 0, 4), "cudaMemset");
        check(cudaLaunchKernel(&step_stub, (dim3){ (n + 63) / 64, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0), "launch");
        check(cudaMemcpy(&again, changed, 4, 2), "cudaMemcpy");
        ++rounds;
    }
    int *result = malloc(4 * n), wrong = 0;
    check(cudaMemcpy(result, values, 4 * n, 2), "cudaMemcpy");
    for (int i = 0; i < n; ++i) {
        int value = host[i];
        while (value > 100) value -= 7;
        wrong += result[i] != value;
    }
    check(cudaFree(values), "cudaFree");
    printf("%d rounds, %d wrong\n", rounds, wrong);
    return wrong != 0;
}

/* Values from a file, a step on the device, and the result to another file. */
static int files(const char *in, const char *out) {
    static int values[4096];
    FILE *file = fopen(in, "rb");
    int n = file ? fread(values, 4, 4096, file) : 0, seven = 7, round = 0;
    if (!n) return 6;
    fclose(file);
    struct { void *values, *changed; int n; } by_value = { 0, 0, n };
    void *arguments[] = { &by_value, &round };
    check(cudaMalloc(&by_value.values, 4 * n), "cudaMalloc");
    check(cudaMalloc(&by_value.changed, 4), "cudaMalloc");
    check(cudaMemcpyToSymbol(&loss, &seven, 4, 0, 1), "cudaMemcpyToSymbol");
    check(cudaMemcpy(by_value.values, values, 4 * n, 1), "cudaMemcpy");
    check(cudaLaunchKernel(&step_stub, (dim3){ (n + 63) / 64, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0), "launch");
    check(cudaMemcpy(values, by_value.values, 4 * n, 2), "cudaMemcpy");
    file = fopen(out, "wb");
    if (!file || fwrite(values, 4, n, file) != n) return 5;
    return fclose(file);
}

/* A plane of 8 x 5 texels in an array, read through a texture. */
static int texture(void) {
    float in[5][9], out[5][8];
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 9; ++x) in[y][x] = 10 * y + x;
    channels one = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    void *array;
    check(cudaMallocArray(&array, &one, 8, 5, 0), "cudaMallocArray");
    check(cudaMemcpy2DToArray(array, 0, 0, in, sizeof in[0], 8 * sizeof(float), 5, 1), "cudaMemcpy2DToArray");
    resource memory = { 0, array, { 0 } };
    reading how = { { 1, 1, 1 }, 0, 0, { 0 }, 0, { 0 } };
    unsigned long long handle;
    check(cudaCreateTextureObject(&handle, &memory, &how, 0), "cudaCreateTextureObject");
    void *place;
    check(cudaMalloc(&place, sizeof out), "cudaMalloc");
    void *arguments[] = { &handle, &place };
    check(cudaLaunchKernel(&shade_stub, (dim3){ 1, 1, 1 }, (dim3){ 8, 5, 1 }, arguments, 0, 0), "launch");
    check(cudaMemcpy(out, place, sizeof out, 2), "cudaMemcpy");
    int wrong = 0;
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 8; ++x) wrong += out[y][x] != in[4 - y][x];
    return wrong != 0;
}

int main(int count, char **words) {
    /* A fat binary: its header, the header of one entry, which is PTX for compute_50, and the text with zeros behind it. */
    static char data[1 << 16];
    FILE *file = fopen(words[1], "rb");
    unsigned long long bytes = file ? fread(data + 80, 1, sizeof data - 96, file) : 0;
    if (!bytes) return 8;
    bytes = (bytes + 8) / 8 * 8;
    *(unsigned *)data = 0xba55ed50;
    *(unsigned short *)(data + 4) = 1;
    *(unsigned short *)(data + 6) = 16;
    *(unsigned long long *)(data + 8) = 64 + bytes;
    *(unsigned short *)(data + 16) = 1;
    *(unsigned *)(data + 20) = 64;
    *(unsigned long long *)(data + 24) = bytes;
    *(unsigned *)(data + 44) = 50;
    wrapper.data = data;
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &step_stub, &step_stub, "step", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &shade_stub, &shade_stub, "shade", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, &loss, &loss, "loss", 0, 4, 1, 0);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(end);
    const char *what = words[2];
    if (!strcmp(what, "steps")) return steps(atoi(words[3]));
    if (!strcmp(what, "texture")) return texture();
    if (!strcmp(what, "files")) return files(words[3], words[4]);
    int *place;
    check(cudaMalloc((void **)&place, 256), "cudaMalloc");
    struct { int *values, *changed; int n; } beyond = { place, place, 1000 };
    int round = 0;
    void *arguments[] = { &beyond, &round };
    if (!strcmp(what, "beyond")) {
        cudaLaunchKernel(&step_stub, (dim3){ 16, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
        return 3;
    }
    if (!strcmp(what, "crash")) {
        beyond.n = 64;
        check(cudaLaunchKernel(&step_stub, (dim3){ 1, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0), "launch");
        abort();
    }
    if (!strcmp(what, "refused")) {
        printf("%s\n", cudaGetErrorString(cudaGraphCreate(&place, 0)));
        return 0;
    }
    if (!strcmp(what, "many")) {
        beyond.n = 64;
        for (round = 0; round < 16000; ++round) {
            beyond.values = place + round % 2;
            beyond.n = 60;
            check(cudaLaunchKernel(&step_stub, (dim3){ 1, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0), "launch");
        }
        return cudaGetLastError();
    }
    return 7;
}
