/* Kernels that wait for the host: `program waiting.ptx WHAT`. Its own checks decide its exit status. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

typedef unsigned long long address;
typedef unsigned long long handle;
int cuInit(unsigned);
int cuCtxCreate_v2(handle *, unsigned, int);
int cuCtxSetCurrent(handle);
int cuCtxSynchronize(void);
int cuModuleLoad(handle *, const char *);
int cuModuleGetFunction(handle *, handle, const char *);
int cuMemAlloc_v2(address *, size_t);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemcpyHtoD_v2(address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, address, size_t);
int cuMemcpyHtoDAsync_v2(address, const void *, size_t, handle);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
int cuMemcpyDtoHAsync_v2(void *, address, size_t, handle);
int cuStreamCreate(handle *, unsigned);
int cuStreamSynchronize(handle);
int cuStreamQuery(handle);
int cuStreamWaitEvent(handle, handle, unsigned);
int cuEventCreate(handle *, unsigned);
int cuEventRecord(handle, handle);
int cuEventQuery(handle);
int cuEventSynchronize(handle);

enum { NOT_READY = 600, LAUNCH_FAILED = 719, NON_BLOCKING = 1, MAPPED = 2 };
static handle context, serve, add, feeds;
static address words;


static void launch(handle kernel, address value, int number, handle stream)
{
    void *arguments[] = {&value, &number};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

/* A mailbox in memory of the host: neither side calls CUDA while they talk. */
static void mailbox(void)
{
    volatile int *box;
    OK(cuMemHostAlloc((void **)&box, 12, MAPPED));
    memset((void *)box, 0, 12);
    launch(serve, (address)box, 5, 0);
    for (int round = 1; round <= 5; round++) {
        box[0] = round;
        while (box[1] != round)
            ;
        IS(box[2], 10 * round);
    }
    OK(cuCtxSynchronize());
}

static void *feed(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(context));
    for (int number = 1; number <= 3; number++) {
        int served = 0;
        OK(cuMemcpyHtoDAsync_v2(words, &number, 4, feeds));
        while (served != number && !wrong) {
            OK(cuMemcpyDtoHAsync_v2(&served, words + 4, 4, feeds));
            OK(cuStreamSynchronize(feeds));
        }
    }
    return NULL;
}

/* What is behind a kernel that waits waits, too; another thread lets the kernel go on by copies of another stream. */
static void streams(void)
{
    handle waits, others, served, added;
    int zeros[4] = {0, 0, 0, 0}, found[4];
    OK(cuStreamCreate(&waits, NON_BLOCKING));
    OK(cuStreamCreate(&others, NON_BLOCKING));
    OK(cuEventCreate(&served, 0));
    OK(cuEventCreate(&added, 0));
    OK(cuMemcpyHtoD_v2(words, zeros, 16));
    launch(serve, words, 3, waits);
    launch(add, words + 8, 5, waits);
    OK(cuEventRecord(served, waits));
    OK(cuStreamWaitEvent(others, served, 0));
    launch(add, words + 8, 7, others);
    OK(cuEventRecord(added, others));
    IS(cuEventQuery(served), NOT_READY);
    IS(cuStreamQuery(others), NOT_READY);
    OK(cuStreamQuery(feeds));
    pthread_t thread;
    pthread_create(&thread, NULL, feed, NULL);
    OK(cuEventSynchronize(added));
    pthread_join(thread, NULL);
    OK(cuEventQuery(served));
    OK(cuMemcpyDtoH_v2(found, words, 16));
    IS(found[1], 3);
    IS(found[2], 42);
}

int main(int count, char **arguments)
{
    handle module;
    if (count < 3)
        return 2;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, arguments[1]));
    OK(cuModuleGetFunction(&serve, module, "serve"));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuMemAlloc_v2(&words, 16));
    OK(cuStreamCreate(&feeds, NON_BLOCKING));
    if (!strcmp(arguments[2], "mailbox")) {
        mailbox();
    } else if (!strcmp(arguments[2], "streams")) {
        streams();
    } else {
        int zeros[4] = {0, 0, 0, 0};
        OK(cuMemcpyHtoD_v2(words, zeros, 16));
        launch(serve, words, 1, 0);
        IS(cuCtxSynchronize(), LAUNCH_FAILED);
    }
    return wrong != 0;
}
