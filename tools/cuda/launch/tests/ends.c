/* CUDA programs that end in all ways, and variables that host and device share: `ends ends.ptx WHAT`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fat_binary.h"

int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaDeviceSynchronize(void);
int cudaGetDeviceCount(int *);
int cudaSetDevice(int);
int cudaStreamCreate(void **);
const char *cudaGetErrorString(int);

static char bump_stub;
/* As compilers have it: the program reaches a managed variable by its address. */
static unsigned *launched, *seen;

static void check(int error, const char *call) {
    if (error) {
        fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
        exit(9);
    }
}

static int bump(void *values, void *stream) {
    void *arguments[] = { &values };
    return cudaLaunchKernel(&bump_stub, (dim3){ 1, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, stream);
}

static void *place(void) {
    void *values;
    check(cudaMalloc(&values, 256), "cudaMalloc");
    check(cudaMemset(values, 0, 256), "cudaMemset");
    return values;
}

/* The host sees what kernels have changed, and kernels see what it has. */
static int managed(void) {
    void *values = place();
    if (!__cudaInitModule(handle)) return 1;
    if (*launched != 5 || seen[3] != 0) return 2;
    check(bump(values, 0), "launch");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (*launched != 6 || seen[3] != 6) return 3;
    *launched = 40;
    check(bump(values, 0), "launch");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    /* It is no allocation that could be freed, and may be an argument. */
    if (cudaFree(launched) == 0) return 4;
    unsigned copied[4];
    check(cudaMemcpy(copied, seen, 16, 2), "cudaMemcpy");
    return !(*launched == 41 && copied[3] == 41);
}

/* A process that is forked off has no device; its parent goes on. */
static int forks(void) {
    void *values = place();
    check(bump(values, 0), "launch");
    int child = fork(), status;
    if (child == 0) _exit(bump(values, 0) == 3 ? 33 : 34);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 33) return 1;
    unsigned first;
    check(cudaMemcpy(&first, values, 4, 2), "cudaMemcpy");
    return first != 1;
}

static void *launches(void *values) {
    void *stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (int round = 0; round < 100; ++round) check(bump(values, stream), "launch");
    return 0;
}

/* Threads launch on streams of their own. */
static int threads(void) {
    enum { THREADS = 4 };
    pthread_t all[THREADS];
    void *values[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        values[i] = place();
        if (pthread_create(&all[i], 0, launches, values[i])) return 1;
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(all[i], 0);
    for (int i = 0; i < THREADS; ++i) {
        unsigned first;
        check(cudaMemcpy(&first, values[i], 4, 2), "cudaMemcpy");
        if (first != 100) return 2;
    }
    return 0;
}

/* Memory that there is not: an error, with which the program can go on. */
static int full(void) {
    void *large, *values = place();
    int error, blocks = 0;
    while ((error = cudaMalloc(&large, (size_t)1 << 30)) == 0) ++blocks;
    if (error != 2 || blocks < 1 || blocks > 1000) return 1;
    return bump(values, 0);
}

/* A kernel reads what has been freed. */
static int freed(void) {
    void *values = place(), *other = place();
    check(cudaFree(values), "cudaFree");
    check(bump(other, 0), "launch");
    bump(values, 0);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 3;
}

/* There is one device. */
static int devices(void) {
    int count;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count != 1 || cudaSetDevice(1) != 101 || bump(place(), 0) != 0;
}

int close_range(unsigned, unsigned, int);
void closefrom(int);

/* Descriptors are closed and used again in every way; two files have 64 bytes each, of which the second is never read in a way that is seen. */
static int descriptors(const char *first, const char *second) {
    void *values = place();
    unsigned back[64], bumps = 0;
    char bytes[64];
#define BUMP() (check(bump(values, 0), "launch"), ++bumps)
    for (int file = 3; file < 1100; ++file) close(file);
    BUMP();
    int file = open(first, O_RDONLY);
    if (read(file, bytes, 16) != 16) return 1;
    BUMP();
    /* The system closes it, and gives its number to another file. */
    syscall(SYS_close, file);
    if (syscall(SYS_openat, AT_FDCWD, second, O_RDONLY) != file || read(file, bytes, 48) != 48) return 2;
    BUMP();
    close(file);
    /* A file has another number, and then all others are taken. */
    file = open(first, O_RDONLY);
    if (dup2(file, 77) != 77) return 3;
    close(file);
    if (read(77, bytes, 32) != 32) return 4;
    BUMP();
    int nothing = open("/dev/null", O_RDWR);
    for (int number = 3; number < 1024; ++number) dup2(nothing, number);
    BUMP();
    if (close_range(3, ~0u, 0) != 0) return 5;
    BUMP();
    closefrom(3);
    BUMP();
    check(cudaMemcpy(back, values, sizeof back, 2), "cudaMemcpy");
    return back[5] != bumps;
}

/* It never ends. */
static int loops(void) {
    void *values = place();
    check(bump(values, 0), "launch");
    puts("launched");
    fflush(stdout);
    for (;;) usleep(1000);
}

int main(int count, char **words) {
    if (count < 3) return 7;
    load(words[1]);
    __cudaRegisterFunction(handle, &bump_stub, &bump_stub, "bump", -1, 0, 0, 0, 0, 0);
    __cudaRegisterManagedVar(handle, (void **)&launched, 0, "launched", 0, 4, 0, 0);
    __cudaRegisterManagedVar(handle, (void **)&seen, 0, "seen", 0, 16, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    static const struct { const char *name; int (*run)(void); } all[] = {
        { "managed", managed }, { "forks", forks }, { "threads", threads }, { "full", full },
        { "freed", freed }, { "devices", devices }, { "loops", loops },
    };
    if (count == 5) return descriptors(words[3], words[4]);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (!strcmp(words[2], all[i].name)) return all[i].run();
    return 7;
}
