/* A program that measures: `program live.ptx clock.ptx`. It prints microseconds of each of three launches by events, and the cycles that a load
   takes by the clock of the SM. Its own checks decide its exit status. */
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "checks.h"

typedef unsigned long long address;
typedef unsigned long long handle;
int cuInit(unsigned);
int cuCtxCreate_v2(handle *, unsigned, int);
int cuModuleLoad(handle *, const char *);
int cuModuleGetFunction(handle *, handle, const char *);
int cuMemAlloc_v2(address *, size_t);
int cuMemcpyHtoD_v2(address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, address, size_t);
int cuMemsetD32_v2(address, unsigned, size_t);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
int cuStreamCreate(handle *, unsigned);
int cuStreamQuery(handle);
int cuStreamSynchronize(handle);
int cuEventCreate(handle *, unsigned);
int cuEventRecord(handle, handle);
int cuEventQuery(handle);
int cuEventSynchronize(handle);
int cuEventElapsedTime(float *, handle, handle);

enum { COUNT = 4096, NOT_READY = 600 };


int main(int count, char **words)
{
    handle context, module, kernel, stream, begin, end;
    address values, cycles;
    static int host[COUNT];
    int number = COUNT, polls = 0, load = 0;
    if (count < 3)
        return 2;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, words[1]));
    OK(cuModuleGetFunction(&kernel, module, "add"));
    OK(cuMemAlloc_v2(&values, sizeof host));
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    OK(cuMemcpyHtoD_v2(values, host, sizeof host));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&begin, 0));
    OK(cuEventCreate(&end, 0));
    void *arguments[] = {&values, &number};
    for (int round = 0; round < 3; round++) {
        float milliseconds = -1;
        OK(cuEventRecord(begin, stream));
        OK(cuLaunchKernel(kernel, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
        OK(cuEventRecord(end, stream));
        if (round == 2) {
            /* Looking is enough for time to pass. */
            while (cuEventQuery(end) == NOT_READY)
                polls++;
        } else {
            OK(cuEventSynchronize(end));
        }
        OK(cuStreamQuery(stream));
        OK(cuEventElapsedTime(&milliseconds, begin, end));
        printf("launch %d: %.3f us\n", round + 1, 1e3 * milliseconds);
    }
    OK(cuMemcpyDtoH_v2(host, values, sizeof host));
    for (int i = 0; i < COUNT; i++)
        IS(host[i], i + 3);
    /* The program's own clocks around a launch, and a loop that waits for 10 us. */
    struct timespec first, last;
    struct timeval day;
    timespec_get(&first, TIME_UTC);
    gettimeofday(&day, NULL);
    IS(day.tv_sec >= first.tv_sec && day.tv_sec <= first.tv_sec + 1, 1);
    /* `time` reads the clock's last tick, some milliseconds before what `gettimeofday` says. */
    IS(time(NULL) + 1 >= day.tv_sec, 1);
    clock_gettime(CLOCK_MONOTONIC, &first);
    OK(cuLaunchKernel(kernel, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
    OK(cuStreamSynchronize(stream));
    clock_gettime(CLOCK_MONOTONIC, &last);
    printf("clock: %ld ns\n", (last.tv_sec - first.tv_sec) * 1000000000L + last.tv_nsec - first.tv_nsec);
    first = last;
    do
        clock_gettime(CLOCK_MONOTONIC, &last);
    while ((last.tv_sec - first.tv_sec) * 1000000000L + last.tv_nsec - first.tv_nsec < 10000);
    printf("waited: %ld ns\n", (last.tv_sec - first.tv_sec) * 1000000000L + last.tv_nsec - first.tv_nsec);
    printf("polls: %s\n", polls > 0 ? "some" : "none");
    OK(cuModuleLoad(&module, words[2]));
    OK(cuModuleGetFunction(&kernel, module, "wait"));
    OK(cuMemAlloc_v2(&cycles, 4));
    OK(cuMemsetD32_v2(cycles, 0, 1));
    void *more[] = {&cycles};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, more, NULL));
    OK(cuMemcpyDtoH_v2(&load, cycles, 4));
    printf("load: %d cycles\n", load);
    return wrong != 0;
}
