/* A program that calls CUDA's driver: `program driver.ptx WHAT`. Its own checks decide its exit status. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

typedef unsigned long long address;
typedef unsigned long long handle;
typedef struct { size_t x, y; unsigned kind; const void *host; address device; void *array; size_t pitch; } side;
typedef struct { side from, to; size_t width, rows; } copy2d;
typedef struct { int kind, handles, place, device; void *metadata; unsigned long long flags; } properties;
typedef struct { int place, device, rights; } rights;

int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGet(int *, int);
int cuDeviceGetCount(int *);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuDevicePrimaryCtxRetain(handle *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxCreate_v2(handle *, unsigned, int);
int cuCtxCreate_v4(handle *, const void *, unsigned, int);
int cuCtxDestroy_v2(handle);
int cuCtxSetCurrent(handle);
int cuCtxGetCurrent(handle *);
int cuCtxPushCurrent_v2(handle);
int cuCtxPopCurrent_v2(handle *);
int cuCtxSynchronize(void);
int cuModuleLoadData(handle *, const void *);
int cuModuleLoadDataEx(handle *, const void *, unsigned, int *, void **);
int cuModuleUnload(handle);
int cuModuleGetFunction(handle *, handle, const char *);
int cuModuleGetGlobal_v2(address *, size_t *, handle, const char *);
int cuLibraryLoadData(handle *, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryGetKernel(handle *, handle, const char *);
int cuLibraryGetKernelCount(unsigned *, handle);
int cuLibraryUnload(handle);
int cuKernelGetFunction(handle *, handle);
int cuFuncGetName(const char **, handle);
int cuFuncGetAttribute(int *, int, handle);
int cuFuncGetParamInfo(handle, size_t, size_t *, size_t *);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
typedef struct {
    handle function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    handle kernel, context;
} kernel_node;
int cuGraphCreate(handle *, unsigned);
int cuGraphDestroy(handle);
int cuGraphAddKernelNode_v2(handle *, handle, const handle *, size_t, const kernel_node *);
int cuGraphKernelNodeSetParams_v2(handle, const kernel_node *);
int cuGraphInstantiateWithFlags(handle *, handle, unsigned long long);
int cuGraphExecKernelNodeSetParams_v2(handle, handle, const kernel_node *);
int cuGraphExecDestroy(handle);
int cuGraphLaunch(handle, handle);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostGetDevicePointer_v2(address *, void *, unsigned);
int cuMemHostUnregister(void *);
int cuLinkCreate_v2(unsigned, int *, void **, handle *);
int cuLinkAddData_v2(handle, int, void *, size_t, const char *, unsigned, int *, void **);
int cuLinkComplete(handle, void **, size_t *);
int cuLinkDestroy(handle);
int cuMemAlloc_v2(address *, size_t);
int cuMemFree_v2(address);
int cuMemcpyHtoD_v2(address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, address, size_t);
int cuMemcpy2D_v2(const copy2d *);
int cuMemsetD16_v2(address, unsigned short, size_t);
int cuMemsetD32_v2(address, unsigned, size_t);
int cuMemGetAddressRange_v2(address *, size_t *, address);
int cuMemGetAllocationGranularity(size_t *, const properties *, int);
int cuMemAddressReserve(address *, size_t, size_t, address, unsigned long long);
int cuMemAddressFree(address, size_t);
int cuMemCreate(handle *, size_t, const properties *, unsigned long long);
int cuMemRelease(handle);
int cuMemMap(address, size_t, size_t, handle, unsigned long long);
int cuMemUnmap(address, size_t);
int cuMemSetAccess(address, size_t, const rights *, size_t);
int cuPointerGetAttribute(void *, int, address);
int cuStreamCreate(handle *, unsigned);
int cuStreamDestroy_v2(handle);
int cuStreamSynchronize(handle);
int cuStreamWriteValue32_v2(handle, address, unsigned, unsigned);
int cuStreamWaitValue32_v2(handle, address, unsigned, unsigned);
int cuGetErrorName(int, const char **);
int cuGetErrorString(int, const char **);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int cuGraphicsMapResources(unsigned, void *, handle);
int cudaMalloc(void **, size_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaGetLastError(void);

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400,
       NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, CONTEXT_IS_DESTROYED = 709, NOT_SUPPORTED = 801 };



static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!file || !fread(text, 1, (1 << 16) - 1, file))
        exit(3);
    fclose(file);
    return text;
}

static void scales(handle kernel, address values, int count, int factor)
{
    int *host = malloc(4 * count);
    for (int i = 0; i < count; i++)
        host[i] = i;
    OK(cuMemcpyHtoD_v2(values, host, 4 * count));
    void *arguments[] = {&values, &count};
    OK(cuLaunchKernel(kernel, (count + 63) / 64, 1, 1, 64, 1, 1, 0, 0, arguments, NULL));
    OK(cuMemcpyDtoH_v2(host, values, 4 * count));
    for (int i = 0; i < count; i++)
        IS(host[i], factor * i);
    free(host);
}

static void runs(const char *text)
{
    handle context, module, kernel, library, function, link;
    address values, factor, start;
    size_t bytes, offset;
    const char *name;
    char title[64];
    unsigned count;
    int number, four = 4;
    OK(cuDriverGetVersion(&number));
    IS(number >= 13000, 1);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&number));
    IS(number, 1);
    OK(cuDeviceGetName(title, 8, 0));
    IS(strlen(title), 7);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "scale"));
    OK(cuFuncGetName(&name, kernel));
    IS(strcmp(name, "scale"), 0);
    OK(cuFuncGetParamInfo(kernel, 1, &offset, &bytes));
    IS(offset == 8 && bytes == 4, 1);
    IS(cuFuncGetParamInfo(kernel, 2, &offset, &bytes), INVALID_VALUE);
    OK(cuMemAlloc_v2(&values, 4000));
    scales(kernel, values, 1000, 3);
    /* A variable of the module. */
    OK(cuModuleGetGlobal_v2(&factor, &bytes, module, "factor"));
    IS(bytes, 4);
    OK(cuMemsetD32_v2(factor, 5, 1));
    scales(kernel, values, 100, 5);
    /* All arguments in one block. */
    struct { address values; int count; } block = {values, 4};
    size_t size = 12;
    void *extra[] = {(void *)1, &block, (void *)2, &size, 0};
    OK(cuMemsetD32_v2(values, 7, 8));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, NULL, extra));
    int found[8];
    OK(cuMemcpyDtoH_v2(found, values, 32));
    IS(found[3] == 35 && found[4] == 7, 1);
    OK(cuMemsetD16_v2(values, 0x102, 3));
    OK(cuMemcpyDtoH_v2(found, values, 8));
    IS(found[0] == 0x1020102 && (found[1] & 0xffff) == 0x102, 1);
    OK(cuMemGetAddressRange_v2(&start, &bytes, values + 100));
    IS(start == values && bytes == 4000, 1);
    OK(cuPointerGetAttribute(&number, 2, values));
    IS(number, 2);
    IS(cuPointerGetAttribute(&start, 3, (address)&four), INVALID_VALUE);
    /* Two rows of three bytes, out of rows of eight. */
    unsigned char rows[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, back[6];
    copy2d copy = {{1, 0, 1, rows, 0, 0, 8}, {0, 1, 2, 0, values, 0, 16}, 3, 2};
    OK(cuMemcpy2D_v2(&copy));
    copy2d home = {{0, 1, 2, 0, values, 0, 16}, {0, 0, 1, back, 0, 0, 3}, 3, 2};
    OK(cuMemcpy2D_v2(&home));
    IS(back[0] == 1 && back[2] == 3 && back[3] == 9 && back[5] == 11, 1);
    /* The same kernel of a library, and of code that is linked. */
    OK(cuLibraryLoadData(&library, text, 0, 0, 0, 0, 0, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    IS(count, 2);
    OK(cuLibraryGetKernel(&kernel, library, "scale"));
    OK(cuKernelGetFunction(&function, kernel));
    scales(function, values, 70, 3);
    /* A node of a graph with a kernel in the place of a function. */
    int one = 1, seven = 7;
    void *arguments[] = {&values, &one};
    kernel_node node = {0, {1, 1, 1}, {64, 1, 1}, 0, arguments, 0, kernel, 0};
    handle graph, only, ready;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&only, graph, 0, 0, &node));
    OK(cuGraphKernelNodeSetParams_v2(only, &node));
    OK(cuGraphInstantiateWithFlags(&ready, graph, 0));
    OK(cuGraphExecKernelNodeSetParams_v2(ready, only, &node));
    OK(cuMemcpyHtoD_v2(values, &seven, 4));
    OK(cuGraphLaunch(ready, 0));
    OK(cuMemcpyDtoH_v2(&number, values, 4));
    IS(number, 21);
    OK(cuGraphExecDestroy(ready));
    OK(cuGraphDestroy(graph));
    OK(cuFuncGetAttribute(&number, 0, function));
    IS(number, 1024);
    void *image;
    OK(cuLinkCreate_v2(0, 0, 0, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)text, strlen(text) + 1, "driver.ptx", 0, 0, 0));
    OK(cuLinkComplete(link, &image, &bytes));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(link));
    OK(cuModuleGetFunction(&kernel, module, "scale"));
    scales(kernel, values, 33, 3);
    OK(cuLibraryUnload(library));
    /* The runtime has the same context and the same memory. */
    void *more;
    address more_place;
    OK(cudaMalloc(&more, 400));
    scales(kernel, (address)more, 100, 3);
    OK(cudaMemcpy(found, more, 8, 2));
    IS(found[1], 3);
    /* Memory of the program's own that is registered, in the middle of its pages: the kernel and the host have the same bytes. */
    int *own = aligned_alloc(4096, 16384), *mine = own + 25;
    for (int i = 0; i < 4096; i++)
        own[i] = i - 25;
    OK(cuMemHostRegister_v2(mine, 8000, 2));
    OK(cuMemHostGetDevicePointer_v2(&more_place, mine + 1, 0));
    int hundred = 100;
    void *words[] = {&more_place, &hundred};
    OK(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, 0, words, NULL));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 4096; i++)
        IS(own[i], i > 25 && i <= 125 ? 3 * (i - 25) : i - 25);
    IS(cuMemHostRegister_v2(own + 3000, 400, 2), 0);
    IS(cuMemHostGetDevicePointer_v2(&start, own + 2048, 0), INVALID_VALUE);
    OK(cuMemHostRegister_v2(own + 2030, 40, 2));
    IS(cuMemHostGetDevicePointer_v2(&start, own + 2030, 0), NOT_SUPPORTED);
    OK(cuMemHostUnregister(own + 2030));
    OK(cuMemHostUnregister(mine));
    own[26] = 5;
    OK(cuMemHostUnregister(own + 3000));
    IS(own[26] == 5 && own[27] == 6 && own[125] == 300, 1);
    free(own);
    /* Values that streams write, and wait for. */
    handle stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamWriteValue32_v2(stream, values, 9, 0));
    OK(cuStreamWaitValue32_v2(stream, values, 9, 1));
    IS(cuStreamWaitValue32_v2(stream, values, 10, 1), NOT_SUPPORTED);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(values));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

static void maps(const char *text)
{
    handle context, module, kernel, memory;
    address start;
    size_t unit;
    properties device = {1, 0, 1, 0, 0, 0};
    rights both = {1, 0, 3}, none = {1, 0, 0};
    int value = 77, found = 0;
    OK(cuInit(0));
    OK(cuDeviceGetAttribute(&found, 102, 0));
    IS(found, 1);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemGetAllocationGranularity(&unit, &device, 0));
    OK(cuMemAddressReserve(&start, 4 * unit, 0, 0, 0));
    OK(cuMemCreate(&memory, unit, &device, 0));
    OK(cuMemMap(start, unit, 0, memory, 0));
    IS(cuMemMap(start, unit, 0, memory, 0), INVALID_VALUE);
    IS(cuMemcpyHtoD_v2(start, &value, 4), INVALID_VALUE);
    OK(cuMemSetAccess(start, unit, &both, 1));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "scale"));
    scales(kernel, start, 500, 3);
    OK(cuMemcpyHtoD_v2(start + 8, &value, 4));
    /* The memory keeps its bytes when it is mapped elsewhere. */
    OK(cuMemUnmap(start, unit));
    IS(cuMemcpyDtoH_v2(&found, start + 8, 4), INVALID_VALUE);
    OK(cuMemMap(start + 2 * unit, unit, 0, memory, 0));
    OK(cuMemSetAccess(start + 2 * unit, unit, &both, 1));
    OK(cuMemcpyDtoH_v2(&found, start + 2 * unit + 8, 4));
    IS(found, 77);
    OK(cuMemSetAccess(start + 2 * unit, unit, &none, 1));
    IS(cuMemAddressFree(start, 4 * unit), INVALID_VALUE);
    OK(cuMemUnmap(start + 2 * unit, unit));
    OK(cuMemRelease(memory));
    IS(cuMemRelease(memory), INVALID_VALUE);
    OK(cuMemAddressFree(start, 4 * unit));
    OK(cuCtxDestroy_v2(context));
}

static void *without_context(void *values)
{
    handle current = 1;
    IS(cuMemFree_v2(*(address *)values), INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&current));
    IS(current, 0);
    IS(cuCtxSynchronize(), INVALID_CONTEXT);
    return NULL;
}

static void fails(const char *text)
{
    handle context, other, module, kernel, stream;
    address values;
    const char *said;
    int number;
    IS(cuDeviceGetCount(&number), NOT_INITIALIZED);
    IS(cuMemAlloc_v2(&values, 4), NOT_INITIALIZED);
    IS(cuInit(1), INVALID_VALUE);
    OK(cuInit(0));
    IS(cuMemAlloc_v2(&values, 4), INVALID_CONTEXT);
    IS(cuCtxSetCurrent(123), INVALID_CONTEXT);
    IS(cuCtxPopCurrent_v2(&context), INVALID_CONTEXT);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&values, 400));
    OK(cuStreamCreate(&stream, 0));
    pthread_t thread;
    pthread_create(&thread, NULL, without_context, &values);
    pthread_join(thread, NULL);
    /* Code that is none, and the message of the compiler. */
    char log[200] = "";
    int keys[] = {5, 6};
    void *room[] = {log, (void *)sizeof log};
    IS(cuModuleLoadData(&module, "no code"), INVALID_IMAGE);
    IS(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { what; }", 2, keys, room), INVALID_PTX);
    IS(strstr(log, "what") != NULL && (size_t)room[1] > 10, 1);
    IS(cuModuleLoadData(&module, NULL), INVALID_VALUE);
    IS(cuModuleUnload(0), INVALID_HANDLE);
    IS(cuModuleUnload((handle)&number), INVALID_HANDLE);
    OK(cuModuleLoadData(&module, text));
    IS(cuModuleGetFunction(&kernel, module, "none"), NOT_FOUND);
    OK(cuModuleGetFunction(&kernel, module, "scale"));
    IS(cuModuleGetFunction(&kernel, kernel, "scale"), INVALID_HANDLE);
    IS(cuLaunchKernel(module, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), INVALID_HANDLE);
    IS(cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, 0, NULL, NULL), INVALID_VALUE);
    IS(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), INVALID_VALUE);
    OK(cuModuleUnload(module));
    IS(cuModuleUnload(module), INVALID_HANDLE);
    IS(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), INVALID_HANDLE);
    IS(cuGraphicsMapResources(0, NULL, 0), NOT_SUPPORTED);
    OK(cuGetErrorName(700, &said));
    IS(strcmp(said, "CUDA_ERROR_ILLEGAL_ADDRESS"), 0);
    IS(cuGetErrorString(12345, &said), INVALID_VALUE);
    void *function;
    OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &number));
    IS(function == (void *)cuMemAlloc_v2 && number == 0, 1);
    OK(cuGetProcAddress_v2("cuNothing", &function, 12000, 0, &number));
    IS(function == NULL && number == 1, 1);
    OK(cuGetProcAddress_v2("cuKernelGetName", &function, 13000, 0, &number));
    /* The errors of the driver are none of the runtime's. */
    IS(cudaGetLastError(), 0);
    /* A context takes along what was made in it. CUDA 13 makes it with parameters, which may be empty. */
    OK(cuCtxCreate_v4(&other, (const long[3]){0}, 0, 0));
    OK(cuCtxDestroy_v2(context));
    IS(cuMemFree_v2(values), INVALID_VALUE);
    IS(cuStreamSynchronize(stream), INVALID_HANDLE);
    OK(cuCtxPopCurrent_v2(&context));
    IS(context, other);
    IS(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    OK(cuCtxSetCurrent(other));
    /* A kernel that fails takes the device along: the next call has its error. */
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "faults"));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
    IS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
    IS(cuMemAlloc_v2(&values, 4), ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(other));
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    char *text = read_all(words[1]);
    if (!strcmp(words[2], "runs"))
        runs(text);
    else if (!strcmp(words[2], "maps"))
        maps(text);
    else
        fails(text);
    return wrong != 0;
}
