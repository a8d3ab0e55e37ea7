/* How calls reach the command, and what becomes of those that cannot: `calls calls.ptx WHAT`. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fat_binary.h"

typedef struct { size_t x, y, z; } extent;
typedef struct { void *place; size_t pitch, width, rows; } pitched;
int cudaMalloc(void **, size_t);
int cudaMalloc3D(pitched *, extent);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy3D(const void *);
int cudaMemset3D(pitched, int, extent);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaLaunchHostFunc(void *, void (*)(void *), void *);
int cudaStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned);
int cudaStreamCreate(void **);
int cudaDeviceSynchronize(void);
int cudaGetDevice(int *);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int);
const char *cudaGetErrorString(int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void **);

static char speak_stub, counts_stub;

static int launch(const void *stub, void *argument) {
    void *arguments[] = { &argument };
    return cudaLaunchKernel(stub, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, arguments, 0, 0);
}

static int is_less(const void *a, const void *b) { return (*(long *)a > *(long *)b) - (*(long *)a < *(long *)b); }

/* The nanoseconds of a call: the one in the middle of ten thousand. */
static int cost(void) {
    enum { CALLS = 10000 };
    static long all[CALLS];
    for (int i = 0, device; i < CALLS; ++i) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        if (cudaGetDevice(&device)) return 1;
        clock_gettime(CLOCK_MONOTONIC, &end);
        all[i] = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
    }
    qsort(all, CALLS, sizeof *all, is_less);
    fprintf(stderr, "a call takes %ld ns, and one of a hundred more than %ld ns\n", all[CALLS / 2], all[CALLS * 99 / 100]);
    return all[CALLS / 2] > 1000000;
}

/* Pointers to nowhere are errors of CUDA, and the program goes on. */
static int pointers(void) {
    void *nowhere = (void *)64, *values, *unreadable = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char bytes[64];
    int wrong = cudaMalloc(&values, 64) != 0;
    wrong += cudaGetDevice(nowhere) != 1 || cudaGetDevice(0) != 1 || cudaMalloc(unreadable, 64) != 1;
    wrong += cudaMemcpy(values, nowhere, 64, 1) != 1 || cudaMemcpy(values, unreadable, 64, 1) != 1;
    wrong += cudaMemcpy(nowhere, values, 64, 2) != 1 || cudaMemcpy(values, bytes, (size_t)1 << 60, 1) != 1;
    wrong += cudaMemcpy2D(values, 8, nowhere, 16, 4, 4, 1) != 1 || cudaMemcpy3D(nowhere) != 1;
    wrong += cudaMemcpy2D(values, 8, bytes, 16, 4, (size_t)1 << 61, 1) != 1;
    wrong += cudaLaunchKernel(&counts_stub, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, nowhere, 0, 0) != 1;
    wrong += cudaLaunchKernel(nowhere, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, 0, 0, 0) != 400;
    wrong += __cudaRegisterFatBinary(nowhere) == 0;
    wrong += cudaPeekAtLastError() != 400 || cudaGetLastError() != 400 || cudaGetLastError() != 0;
    return wrong + (cudaMemcpy(values, bytes, 64, 1) != 0);
}

/* Structures that come in registers, and on the stack. */
static int structures(void) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    __cudaPushCallConfiguration((dim3){ 1, 2, 3 }, (dim3){ 4, 5, 6 }, 7, (void *)8);
    int wrong = __cudaPopCallConfiguration(&grid, &block, &shared, &stream) != 0;
    wrong += grid.x != 1 || grid.y != 2 || grid.z != 3 || block.x != 4 || block.y != 5 || block.z != 6;
    wrong += shared != 7 || stream != (void *)8 || __cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0;
    pitched place;
    unsigned char back[512 * 3 * 2];
    wrong += cudaMalloc3D(&place, (extent){ 10, 3, 2 }) != 0 || place.pitch != 512 || place.width != 10 || place.rows != 3;
    wrong += cudaMemset3D(place, 9, (extent){ 512, 3, 2 }) != 0 || cudaMemset3D(place, 5, (extent){ 10, 2, 2 }) != 0;
    wrong += cudaMemcpy(back, place.place, sizeof back, 2) != 0;
    for (int i = 0; i < (int)sizeof back; ++i) wrong += back[i] != (i % 512 < 10 && i / 512 % 3 < 2 ? 5 : 9);
    wrong += strcmp(cudaGetErrorName(700), "cudaErrorIllegalAddress") || strcmp(cudaGetErrorString(0), "no error");
    return wrong + (strcmp(cudaGetErrorString(-1), "unrecognized error code") != 0);
}

/* What kernels print stands where the host waits for it. */
static int order(void) {
    printf("host");
    if (launch(&speak_stub, 0) || cudaDeviceSynchronize()) return 1;
    printf("host\n");
    return 0;
}

static pthread_t other;
static int in_order, done;

static void *allocates(void *seen) {
    void *values;
    return cudaMalloc(&values, 64) == 0 ? seen : 0;
}

/* A function of the host may not call CUDA, and may wait for a thread that does. */
static void waits(void *data) {
    int device;
    void *seen;
    done += cudaGetDevice(&device) == 800 && !strcmp(cudaGetErrorName(800), "cudaErrorNotPermitted");
    pthread_create(&other, 0, allocates, data);
    pthread_join(other, &seen);
    done += seen == data && data == &in_order;
}

static void called(void *stream, int error, void *data) { done += error == 0 && stream == data; }

static int functions(void) {
    void *stream;
    if (cudaStreamCreate(&stream)) return 1;
    int wrong = cudaLaunchHostFunc(stream, waits, &in_order) != 0 || done != 2;
    wrong += cudaStreamAddCallback(stream, called, stream, 0) != 0 || done != 3;
    wrong += cudaLaunchHostFunc(stream, 0, 0) != 1;
    return wrong + (cudaDeviceSynchronize() != 0);
}

static int value;

static void *counts(void *values) {
    int error = launch(&counts_stub, values);
    printf("%s\n", cudaGetErrorName(error));
    fflush(stdout);
    return 0;
}

/* A kernel runs for minutes. */
static void begin(void) {
    void *values;
    if (cudaMalloc(&values, 8)) exit(9);
    if (pthread_create(&other, 0, counts, values)) exit(9);
    usleep(200000);
}

static int leaves(void) {
    begin();
    _exit(5);
}

static int returns(void) {
    begin();
    return 4;
}

static int dies(void) {
    begin();
    return raise(SIGKILL);
}

/* Until the kernel ends, or cannot. */
static int stays(void) {
    begin();
    puts("begun");
    fflush(stdout);
    pthread_join(other, 0);
    return cudaGetDevice(&value) == 3 && !strcmp(cudaGetErrorString(3), "initialization error") ? 6 : 7;
}

/* A child that lives longer than its parent, and closes what it does not know. */
static int daemons(void) {
    if (cudaGetDevice(&value)) return 1;
    for (int file = 3; file < 64; ++file) close(file);
    if (cudaGetDevice(&value)) return 2;
    if (fork() == 0) {
        sleep(2);
        _exit(cudaGetDevice(&value) == 3);
    }
    return cudaGetDevice(&value);
}

/* Many calls and launches. */
static int calls(void) {
    for (int i = 0; i < 2000; ++i)
        if (cudaGetDevice(&value) || launch(&speak_stub, 0)) return 1;
    return cudaDeviceSynchronize();
}

int main(int count, char **words) {
    if (count < 3) return 7;
    load(words[1]);
    __cudaRegisterFunction(handle, &speak_stub, &speak_stub, "speak", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &counts_stub, &counts_stub, "counts", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    static const struct { const char *name; int (*run)(void); } all[] = {
        { "cost", cost }, { "pointers", pointers }, { "structures", structures }, { "order", order },
        { "functions", functions }, { "leaves", leaves }, { "returns", returns }, { "dies", dies }, { "stays", stays }, { "daemons", daemons },
        { "calls", calls },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (!strcmp(words[2], all[i].name)) return all[i].run();
    return 7;
}
