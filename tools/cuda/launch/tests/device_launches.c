/* Kernels that launch kernels: `program device_launches.ptx WHAT`. Its own checks decide its exit status. */
#include <string.h>

#include "checks.h"

typedef unsigned long long address;
typedef unsigned long long handle;
int cuInit(unsigned);
int cuCtxCreate_v2(handle *, unsigned, int);
int cuCtxSynchronize(void);
int cuModuleLoad(handle *, const char *);
int cuModuleGetFunction(handle *, handle, const char *);
int cuMemAlloc_v2(address *, size_t);
int cuMemsetD32_v2(address, unsigned, size_t);
int cuMemcpyDtoH_v2(void *, address, size_t);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);

enum { WORDS = 4096, OUT_OF_RESOURCES = 701 };


int main(int count, char **words)
{
    handle context, module, parent, flood;
    address list, place;
    static int found[WORDS];
    if (count < 3)
        return 2;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, words[1]));
    OK(cuModuleGetFunction(&parent, module, "parent"));
    OK(cuModuleGetFunction(&flood, module, "flood"));
    OK(cuMemAlloc_v2(&list, sizeof found));
    OK(cuMemAlloc_v2(&place, 256));
    OK(cuMemsetD32_v2(list, 0, WORDS));
    OK(cuMemsetD32_v2(place, 0, 64));
    void *both[] = {&list, &place};
    if (strcmp(words[2], "order") == 0) {
        for (int round = 0; round < 3; round++)
            OK(cuLaunchKernel(parent, 1, 1, 1, 1, 1, 1, 0, 0, both, NULL));
        OK(cuMemcpyDtoH_v2(found, list, 64));
        IS(found[0], 12);
        for (int at = 0; at < 12; at++)
            IS(found[1 + at], 1 + at % 4);
        OK(cuMemcpyDtoH_v2(found, place, 256));
        for (int at = 0; at < 4; at++)
            IS(found[at], 0x5a5a5a5a);
        IS(found[16], 3);
        IS(found[17], 5);
    } else {
        /* Room for 8192 launches of these parameters in a grid, and for as many again in the next. */
        for (int round = 0; round < 3; round++)
            OK(cuLaunchKernel(flood, 1000, 1, 1, 1, 1, 1, 0, 0, both, NULL));
        OK(cuMemcpyDtoH_v2(found, list, sizeof found));
        IS(found[0], 3000);
        int sum = 0;
        for (int at = 0; at < 3000; at++)
            sum += found[1 + at];
        IS(sum, 3 * 1000 * 999 / 2);
        OK(cuMemsetD32_v2(list, 0, 1));
        OK(cuLaunchKernel(flood, 9000, 1, 1, 1, 1, 1, 0, 0, both, NULL));
        IS(cuCtxSynchronize(), OUT_OF_RESOURCES);
    }
    return wrong != 0;
}
