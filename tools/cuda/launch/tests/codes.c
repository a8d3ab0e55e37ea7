/* Codes of calls that a program makes in the wrong way, and what it is given back of what it sets: `codes codes.ptx WHAT`. The values are those
   of CUDA 13.0 on an H200, but for sizes of launches, whose code is that of the versions before. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fat_binary.h"

typedef struct { size_t x, y, z; } extent;
typedef struct { void *place; size_t pitch, width, rows; } pitched;
typedef struct { void *from_array; extent from_at; pitched from; void *to_array; extent to_at; pitched to; extent size; int kind; } copy_3d;
typedef struct { int type, device; void *on_device, *on_host; } pointer;
typedef struct { int kind, number; } location;
typedef struct { int number, padding; union { char bytes[64]; int word; unsigned size[3]; } value; } attribute;
typedef struct { dim3 grid, block; size_t shared; void *stream; attribute *attributes; unsigned count; } configuration;
typedef struct { size_t shared, constant, local; int threads, registers, ptx, binary, cache, dynamic, carveout; } function;
enum { HOST_TO_HOST, TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT };

int cudaMalloc(void **, size_t), cudaMallocPitch(void **, size_t *, size_t, size_t), cudaMalloc3D(pitched *, extent);
int cudaMallocAsync(void **, size_t, void *), cudaMallocManaged(void **, size_t, unsigned), cudaMallocHost(void **, size_t);
int cudaHostAlloc(void **, size_t, unsigned), cudaHostGetFlags(unsigned *, void *), cudaHostGetDevicePointer(void **, void *, unsigned);
int cudaHostRegister(void *, size_t, unsigned), cudaHostUnregister(void *), cudaPointerGetAttributes(pointer *, const void *);
int cudaFree(void *), cudaFreeHost(void *), cudaFreeAsync(void *, void *);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int), cudaMemcpy3D(const copy_3d *);
int cudaMemcpyPeer(void *, int, const void *, int, size_t), cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, void *);
int cudaMemset(void *, int, size_t), cudaMemset2D(void *, size_t, int, size_t, size_t), cudaMemset3D(pitched, int, extent);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int), cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaGetSymbolAddress(void **, const void *), cudaGetSymbolSize(size_t *, const void *);
int cudaMemAdvise(const void *, size_t, int, location), cudaMemPrefetchAsync(const void *, size_t, location, unsigned, void *);
int cudaStreamAttachMemAsync(void *, void *, size_t, unsigned);
int cudaStreamCreate(void **), cudaStreamCreateWithFlags(void **, unsigned), cudaStreamCreateWithPriority(void **, unsigned, int);
int cudaStreamGetFlags(void *, unsigned *), cudaStreamGetPriority(void *, int *), cudaDeviceGetStreamPriorityRange(int *, int *);
int cudaStreamDestroy(void *), cudaStreamSynchronize(void *), cudaStreamQuery(void *), cudaStreamWaitEvent(void *, void *, unsigned);
int cudaStreamSetAttribute(void *, int, const void *), cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **);
int cudaLaunchHostFunc(void *, void (*)(void *), void *), cudaStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned);
int cudaEventCreate(void **), cudaEventCreateWithFlags(void **, unsigned), cudaEventRecord(void *, void *), cudaEventDestroy(void *);
int cudaEventRecordWithFlags(void *, void *, unsigned), cudaEventQuery(void *), cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaSetDevice(int), cudaGetDevice(int *), cudaDeviceGetAttribute(int *, int, int), cudaInitDevice(int, unsigned, unsigned);
int cudaSetDeviceFlags(unsigned), cudaGetDeviceFlags(unsigned *), cudaDeviceSetCacheConfig(int), cudaDeviceGetCacheConfig(int *);
int cudaDeviceSetLimit(int, size_t), cudaDeviceGetLimit(size_t *, int), cudaDeviceReset(void), cudaDeviceSynchronize(void);
int cudaFuncSetAttribute(const void *, int, int), cudaFuncGetAttributes(function *, const void *), cudaFuncSetCacheConfig(const void *, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, const void *, int, size_t, unsigned);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *), cudaLaunchKernelExC(const configuration *, const void *, void **);
int cudaGetLastError(void), cudaPeekAtLastError(void);
/* Forms of functions whose default stream is the thread's own. */
int cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, void *), cudaMemcpy_ptds(void *, const void *, size_t, int);
int cudaStreamSynchronize_ptsz(void *), cudaStreamGetFlags_ptsz(void *, unsigned *);

static char store_stub, few_stub, say_stub, reserve_stub, work_stub, recurse_stub, table_host, count_host;
static int wrong;

static void is(long wanted, long found, const char *what, int line) {
    if (wanted == found) return;
    fprintf(stderr, "line %d: %s: %ld in place of %ld\n", line, what, found, wanted);
    ++wrong;
}

#define IS(wanted, what) is(wanted, (long)(what), #what, __LINE__)

static char host[8192], other[8192];
static void *stream;
static char *place, *second;
static const size_t HUGE = (size_t)1 << 60, ALL = (size_t)-1;

static void copies(void) {
    void *low = (void *)16, *pinned;
    IS(0, cudaMemcpy(place, host, 4096, TO_DEVICE));
    IS(1, cudaMemcpy(place, host, 8192, TO_DEVICE));
    IS(1, cudaMemcpy(host, place, 8192, TO_HOST));
    IS(1, cudaMemcpyAsync(place, host, 8192, TO_DEVICE, stream));
    IS(1, cudaMemcpy(place + 4090, host, 16, TO_DEVICE));
    IS(1, cudaMemcpy(second, place, 8192, ON_DEVICE));
    for (int kind = TO_DEVICE; kind <= ON_DEVICE; ++kind) IS(1, cudaMemcpy(kind == TO_HOST ? host : place, kind == TO_DEVICE ? host : second, ALL, kind));
    IS(1, cudaMemcpy(place, host, (size_t)1 << 63, TO_DEVICE));
    IS(1, cudaMemcpy(place, 0, 64, TO_DEVICE));
    IS(1, cudaMemcpy(0, host, 64, TO_DEVICE));
    IS(1, cudaMemcpy(low, host, 4, TO_DEVICE));
    IS(1, cudaMemcpy(host, low, 4, TO_HOST));
    IS(0, cudaMemcpy(0, 0, 0, DEFAULT));
    IS(0, cudaMemcpy(place, host, 0, 9));
    IS(21, cudaMemcpy(place, host, 4, 9));
    IS(21, cudaMemcpy(place, host, 4, -1));
    /* The direction must be that of the addresses, which between hosts it always is. */
    IS(1, cudaMemcpy(host, place, 16, TO_DEVICE));
    IS(1, cudaMemcpy(place, host, 16, TO_HOST));
    IS(1, cudaMemcpy(place, host, 16, ON_DEVICE));
    IS(1, cudaMemcpy(other, host, 16, ON_DEVICE));
    IS(1, cudaMemcpy(other, host, 16, TO_DEVICE));
    IS(0, cudaMemcpy(place, second, 16, HOST_TO_HOST));
    IS(0, cudaMemcpy(place, second, 16, DEFAULT));
    IS(0, cudaMemcpy(other, host, 16, DEFAULT));
    IS(0, cudaMemcpy(place + 4, place, 200, ON_DEVICE));
    IS(0, cudaMallocHost(&pinned, 64));
    IS(0, cudaMemcpy(pinned, place, 64, ON_DEVICE));
    IS(0, cudaMemcpy(place, pinned, 64, TO_DEVICE));
    IS(0, cudaFreeHost(pinned));
    /* The range of the device comes first: pages of the host that are not there are not looked at. */
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    IS(1, cudaMemcpy(place, pages, 8192, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, 64, pages, 64, 64, 1000, TO_DEVICE));
    IS(1, cudaMemcpy(place, pages + 4000, 2000, TO_DEVICE));
    IS(101, cudaMemcpyPeer(place, 5, second, 0, 16));
    IS(101, cudaMemcpyPeerAsync(place, 0, second, 7, 16, stream));
    IS(1, cudaMemcpyPeer(place, 0, second, 0, 8192));
    IS(0, cudaMemcpyPeer(place, 0, second, 0, 16));
}

static void rows(void) {
    IS(12, cudaMemcpy2D(host, 16, place, 64, 33, 5, TO_HOST));
    IS(12, cudaMemcpy2D(host, 64, place, 16, 33, 5, TO_HOST));
    IS(12, cudaMemcpy2D(place, 16, host, 64, 33, 5, TO_DEVICE));
    IS(12, cudaMemcpy2D(place, 64, second, 16, 32, 2, ON_DEVICE));
    IS(1, cudaMemcpy2D(host, 16, place, 64, 33, 1, TO_HOST));
    IS(0, cudaMemcpy2D(host, 16, place, 64, 0, 5, TO_HOST));
    IS(0, cudaMemcpy2D(host, 16, place, 64, 33, 0, TO_HOST));
    IS(0, cudaMemcpy2D(place, 64, host, 64, 64, 64, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, 64, host, 64, 64, 65, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, 65, host, 65, 63, 64, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, (size_t)1 << 40, host, 64, 64, 2, TO_DEVICE));
    IS(0, cudaMemcpy2D(place, ALL, host, 64, 64, 1, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, 64, host, 64, 64, ALL, TO_DEVICE));
    IS(1, cudaMemcpy2D(place, 64, host, 64, 64, (size_t)1 << 58, TO_DEVICE));
    IS(21, cudaMemcpy2D(place, 64, host, 64, 16, 2, 7));
    copy_3d copy = { 0 };
    IS(0, cudaMemcpy3D(&copy));
    copy.from = (pitched){ host, 64, 64, 4 }, copy.to = (pitched){ place, 64, 64, 4 }, copy.size = (extent){ 64, 4, 4 }, copy.kind = TO_DEVICE;
    IS(0, cudaMemcpy3D(&copy));
    copy.size.z = 100;
    IS(1, cudaMemcpy3D(&copy));
    copy.size.z = HUGE;
    IS(1, cudaMemcpy3D(&copy));
    copy.size = (extent){ 80, 4, 4 };
    IS(12, cudaMemcpy3D(&copy));
    copy.size = (extent){ 64, 8, 2 };
    IS(12, cudaMemcpy3D(&copy));
    copy.size = (extent){ 64, 4, 2 }, copy.from_at.x = 8;
    IS(1, cudaMemcpy3D(&copy));
    copy.from_at.x = ALL;
    IS(1, cudaMemcpy3D(&copy));
    IS(1, cudaMemcpy3D(0));
}

static void fills(void) {
    IS(1, cudaMemset(place, 0, 8192));
    IS(1, cudaMemset(host, 0, 16));
    IS(1, cudaMemset(0, 0, 16));
    IS(0, cudaMemset(0, 0, 0));
    IS(1, cudaMemset((void *)16, 0, 4));
    IS(0, cudaMemset(place + 4096, 0, 0));
    IS(1, cudaMemset2D(place, 64, 1, 65, 2));
    IS(0, cudaMemset2D(place, 64, 1, 64, 64));
    IS(1, cudaMemset2D(place, 64, 1, 64, 65));
    IS(0, cudaMemset2D(place, 64, 1, 0, 65));
    IS(0, cudaMemset2D(place, 32, 1, 64, 1));
    IS(1, cudaMemset3D((pitched){ place, 64, 64, 4 }, 1, (extent){ 64, 4, 17 }));
    IS(1, cudaMemset3D((pitched){ place, 64, 64, 4 }, 1, (extent){ 65, 4, 2 }));
    IS(1, cudaMemset3D((pitched){ place, 64, 64, 4 }, 1, (extent){ 64, 4, HUGE }));
    IS(1, cudaMemset3D((pitched){ place, 64, 64, HUGE }, 1, (extent){ 64, HUGE, 16 }));
    IS(1, cudaMemset3D((pitched){ place, HUGE, 64, 4 }, 1, (extent){ HUGE, 4, 2 }));
    IS(0, cudaMemset3D((pitched){ place, 64, 64, 4 }, 1, (extent){ 64, 4, 16 }));
}

static void symbols(void) {
    void *address;
    size_t bytes;
    IS(0, cudaMemcpyToSymbol(&table_host, host, 32, 0, TO_DEVICE));
    IS(1, cudaMemcpyToSymbol(&table_host, host, 36, 0, TO_DEVICE));
    IS(1, cudaMemcpyToSymbol(&table_host, host, 16, 20, TO_DEVICE));
    IS(1, cudaMemcpyToSymbol(&table_host, host, ALL, 0, TO_DEVICE));
    IS(1, cudaMemcpyToSymbol(&table_host, host, 16, -8, TO_DEVICE));
    IS(13, cudaMemcpyToSymbol(host, host, 4, 0, TO_DEVICE));
    IS(13, cudaMemcpyToSymbol(0, host, 4, 0, TO_DEVICE));
    IS(21, cudaMemcpyToSymbol(&table_host, host, 4, 0, TO_HOST));
    IS(21, cudaMemcpyToSymbol(&table_host, host, 4, 0, 9));
    IS(1, cudaMemcpyFromSymbol(host, &table_host, 36, 0, TO_HOST));
    IS(13, cudaMemcpyFromSymbol(host, place, 4, 0, TO_HOST));
    IS(13, cudaGetSymbolAddress(&address, host));
    IS(13, cudaGetSymbolSize(&bytes, host));
}

static void frees(void) {
    void *one;
    IS(1, cudaFree(place + 16));
    IS(1, cudaFree(host));
    IS(1, cudaFree((void *)8));
    IS(0, cudaMalloc(&one, 64));
    IS(0, cudaFree(one));
    IS(1, cudaFree(one));
    IS(1, cudaMemset(one, 0, 4));
    IS(1, cudaFreeHost(host));
    IS(1, cudaFreeHost(place));
    IS(0, cudaFreeHost(0));
    IS(0, cudaMallocHost(&one, 64));
    IS(1, cudaFree(one));
    memset(one, 1, 64);
    IS(1, cudaFreeHost((char *)one + 8));
    IS(0, cudaFreeHost(one));
    IS(1, cudaFreeHost(one));
    IS(0, cudaMallocManaged(&one, 64, 1));
    IS(1, cudaFreeHost(one));
    IS(0, cudaFree(one));
    IS(0, cudaFreeAsync(0, stream));
    IS(1, cudaFreeAsync(host, stream));
}

static void allocations(void) {
    void *one = (void *)7;
    size_t pitch = 7;
    unsigned flags;
    pitched planes;
    IS(0, cudaMalloc(&one, 0));
    IS(0, one);
    IS(1, cudaMalloc(0, 16));
    IS(2, cudaMalloc(&one, HUGE));
    IS(2, cudaMalloc(&one, ALL));
    IS(2, cudaMallocAsync(&one, HUGE, stream));
    IS(1, cudaMallocManaged(&one, 64, 0));
    IS(1, cudaMallocManaged(&one, 64, 9));
    IS(1, cudaMallocManaged(&one, 64, 3));
    IS(0, cudaMallocManaged(&one, 64, 2));
    one = (void *)7;
    IS(0, cudaMallocHost(&one, 0));
    IS(0, one);
    IS(2, cudaHostAlloc(&one, HUGE, 0));
    IS(2, cudaHostAlloc(&one, ALL, 0));
    IS(1, cudaHostAlloc(&one, 64, 0xff));
    IS(1, cudaHostAlloc(&one, 64, 8));
    IS(0, cudaHostAlloc(&one, 64, 4));
    IS(0, cudaHostGetFlags(&flags, one));
    IS(6, flags);
    IS(1, cudaHostGetFlags(&flags, host));
    IS(0, cudaMallocPitch(&one, &pitch, 0, 4));
    IS(0, (size_t)one + pitch);
    IS(1, cudaMallocPitch(&one, &pitch, ALL, 4));
    IS(2, cudaMallocPitch(&one, &pitch, 4, ALL));
    IS(0, cudaMallocPitch(&one, &pitch, 100, 3));
    IS(512, pitch);
    IS(0, cudaMalloc3D(&planes, (extent){ 0, 4, 4 }));
    IS(1, cudaMalloc3D(&planes, (extent){ ALL, 4, 4 }));
}

static void registrations(void) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *one, *reached;
    pointer found;
    IS(0, cudaHostRegister(pages, 8192, 0));
    IS(712, cudaHostRegister(pages, 8192, 0));
    IS(712, cudaHostRegister(pages + 4096, 4096, 0));
    IS(0, cudaPointerGetAttributes(&found, pages + 5));
    IS(1, found.type);
    IS(1, cudaHostUnregister(pages + 4096));
    IS(0, cudaHostUnregister(pages));
    IS(713, cudaHostUnregister(pages));
    IS(1, cudaHostRegister(0, 64, 0));
    IS(1, cudaHostRegister(pages, 0, 0));
    IS(1, cudaHostRegister(pages, ALL, 0));
    IS(1, cudaHostRegister(pages, 4096, 0x80));
    IS(1, cudaHostRegister(place, 64, 0));
    IS(1, cudaHostGetDevicePointer(&reached, host, 0));
    IS(0, cudaMallocHost(&one, 64));
    IS(1, cudaHostGetDevicePointer(&reached, one, 1));
    IS(0, cudaHostGetDevicePointer(&reached, one, 0));
    IS(0, cudaPointerGetAttributes(&found, host));
    IS(0, found.type);
    IS(0, cudaPointerGetAttributes(&found, place + 3));
    IS(2, found.type);
    IS(1, cudaPointerGetAttributes(0, place));
    location there = { 1, 0 }, nowhere = { 1, 7 };
    IS(0, cudaMallocManaged(&one, 4096, 1));
    IS(0, cudaMemAdvise(one, 4096, 1, there));
    IS(1, cudaMemAdvise(one, 4096, 99, there));
    IS(1, cudaMemAdvise(place, 4096, 1, there));
    IS(1, cudaMemAdvise(one, 8192 * 1024, 1, there));
    IS(1, cudaMemAdvise(one, 4096, 3, nowhere));
    IS(0, cudaMemPrefetchAsync(one, 4096, there, 0, stream));
    IS(1, cudaMemPrefetchAsync(place, 4096, there, 0, stream));
    IS(101, cudaMemPrefetchAsync(one, 4096, nowhere, 0, stream));
    IS(1, cudaMemPrefetchAsync(one, 4096, there, 1, stream));
    IS(1, cudaMemPrefetchAsync(host, 4096, there, 0, stream));
    IS(0, cudaStreamAttachMemAsync(stream, one, 0, 4));
    IS(1, cudaStreamAttachMemAsync(stream, one, 0, 9));
    IS(1, cudaStreamAttachMemAsync(stream, place, 0, 1));
}

static void nothing(void *data) { (void)data; }
static void nothing_more(void *of, int error, void *data) { (void)of, (void)error, (void)data; }

static void streams(void) {
    void *one, *event, *untimed, *graph;
    unsigned flags;
    int least, greatest, priority;
    float time;
    IS(1, cudaStreamCreate(0));
    IS(1, cudaStreamCreateWithFlags(&one, 9));
    IS(1, cudaStreamCreateWithPriority(&one, 4, 0));
    IS(0, cudaStreamCreateWithFlags(&one, 1));
    IS(0, cudaStreamGetFlags(one, &flags));
    IS(1, flags);
    IS(0, cudaDeviceGetStreamPriorityRange(&least, &greatest));
    IS(-5, least + greatest);
    for (int asked = -6; asked < 2; ++asked) {
        IS(0, cudaStreamCreateWithPriority(&one, 1, asked));
        IS(0, cudaStreamGetPriority(one, &priority));
        IS(asked < -5 ? -5 : asked > 0 ? 0 : asked, priority);
    }
    priority = -100;
    IS(0, cudaStreamSetAttribute(one, 8, &priority));
    IS(0, cudaStreamGetPriority(one, &priority));
    IS(-5, priority);
    IS(1, cudaStreamSetAttribute(one, 99, &priority));
    for (size_t own = 0; own < 3; ++own) {
        IS(0, cudaStreamGetFlags((void *)own, &flags));
        IS(0, flags);
        IS(0, cudaStreamSynchronize((void *)own));
        IS(0, cudaStreamQuery((void *)own));
        IS(400, cudaStreamDestroy((void *)own));
    }
    IS(400, cudaStreamSynchronize((void *)0x1234567));
    IS(0, cudaStreamDestroy(one));
    IS(400, cudaStreamSynchronize(one));
    IS(0, cudaEventCreate(&event));
    IS(0, cudaEventCreateWithFlags(&untimed, 2));
    IS(1, cudaStreamWaitEvent(stream, event, 5));
    IS(401, cudaStreamWaitEvent(stream, event, 1));
    IS(0, cudaStreamWaitEvent(stream, event, 0));
    IS(400, cudaStreamWaitEvent(stream, 0, 0));
    IS(1, cudaLaunchHostFunc(stream, 0, 0));
    IS(0, cudaLaunchHostFunc(stream, nothing, 0));
    IS(1, cudaStreamAddCallback(stream, 0, 0, 0));
    IS(1, cudaStreamAddCallback(stream, nothing_more, 0, 1));
    IS(1, cudaEventCreate(0));
    for (unsigned wanted = 0; wanted < 16; ++wanted) IS(wanted > 7 || (wanted & 6) == 4, cudaEventCreateWithFlags(&one, wanted));
    IS(0, cudaEventQuery(event));
    IS(0, cudaEventSynchronize(event));
    IS(400, cudaEventDestroy(0));
    IS(400, cudaEventRecord(0, stream));
    IS(400, cudaEventElapsedTime(&time, event, event));
    IS(0, cudaEventRecord(event, stream) + cudaEventRecord(untimed, stream));
    IS(400, cudaEventElapsedTime(&time, event, untimed));
    IS(400, cudaEventElapsedTime(&time, untimed, event));
    IS(0, cudaEventElapsedTime(&time, event, event));
    IS(1, cudaEventElapsedTime(0, event, event));
    IS(400, cudaEventElapsedTime(&time, 0, event));
    IS(401, cudaEventRecordWithFlags(event, stream, 1));
    IS(1, cudaEventRecordWithFlags(event, stream, 4));
    /* In a graph such a record is a node. */
    IS(0, cudaStreamBeginCapture(stream, 0));
    IS(0, cudaEventRecordWithFlags(event, stream, 1) + cudaStreamWaitEvent(stream, event, 1));
    IS(0, cudaStreamEndCapture(stream, &graph));
}

static void devices(void) {
    int value;
    unsigned flags;
    function found;
    IS(101, cudaSetDevice(-1));
    IS(101, cudaSetDevice(1));
    IS(1, cudaGetDevice(0));
    IS(1, cudaDeviceGetAttribute(&value, 9999, 0));
    IS(1, cudaDeviceGetAttribute(&value, 0, 0));
    IS(1, cudaDeviceGetAttribute(&value, -1, 0));
    IS(1, cudaDeviceGetAttribute(0, 16, 0));
    IS(101, cudaDeviceGetAttribute(&value, 16, 5));
    IS(0, cudaDeviceGetAttribute(&value, 147, 0));
    IS(1, cudaDeviceSetCacheConfig(9));
    IS(0, cudaDeviceSetCacheConfig(2));
    IS(0, cudaDeviceGetCacheConfig(&value));
    IS(2, value);
    IS(1, cudaSetDeviceFlags(0xffff));
    IS(1, cudaSetDeviceFlags(3));
    IS(0, cudaSetDeviceFlags(4));
    IS(0, cudaGetDeviceFlags(&flags));
    IS(12, flags);
    IS(101, cudaInitDevice(3, 0, 0));
    IS(1, cudaInitDevice(0, 0xfff, 1));
    IS(0, cudaInitDevice(0, 0, 5));
    IS(1, cudaFuncSetAttribute(&store_stub, 99, 1));
    IS(1, cudaFuncSetAttribute(&store_stub, 0, 1));
    IS(801, cudaFuncSetAttribute(&store_stub, 14, 1));
    IS(1, cudaFuncSetAttribute(&store_stub, 8, -1));
    IS(1, cudaFuncSetAttribute(&store_stub, 8, 300 << 10));
    IS(1, cudaFuncSetAttribute(&store_stub, 9, 101));
    IS(1, cudaFuncSetAttribute(&store_stub, 9, -2));
    IS(0, cudaFuncSetAttribute(&store_stub, 9, 50));
    IS(400, cudaFuncSetAttribute(host, 9, 50));
    IS(400, cudaFuncGetAttributes(&found, host));
    IS(98, cudaFuncGetAttributes(&found, 0));
    IS(0, cudaFuncGetAttributes(&found, &store_stub));
    IS(50, found.carveout);
    IS(1, cudaFuncSetCacheConfig(&store_stub, 9));
    IS(400, cudaFuncSetCacheConfig(host, 2));
    IS(1, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &store_stub, 0, 0));
    IS(1, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &store_stub, -1, 0));
    IS(1, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, &store_stub, 64, 0, 9));
    IS(0, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &store_stub, 2048, 0));
    IS(0, value);
    IS(0, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &store_stub, 64, 1 << 20));
    IS(0, value);
    IS(0, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &store_stub, 64, ALL));
    IS(0, value);
}

static void *arguments[2];
static int number = 7;

static int launch(const void *stub, unsigned blocks, unsigned threads, size_t shared) {
    return cudaLaunchKernel(stub, (dim3){ blocks, 1, 1 }, (dim3){ threads, 1, 1 }, arguments, shared, 0);
}

static int launch_with(int id, unsigned x, unsigned y, unsigned z) {
    attribute one = { .number = id, .value.size = { x, y, z } };
    configuration all = { { 16, 1, 1 }, { 32, 1, 1 }, 0, 0, &one, 1 };
    return cudaLaunchKernelExC(&all, &store_stub, arguments);
}

static void launches(void) {
    arguments[0] = &place, arguments[1] = &number;
    /* CUDA 13 calls these invalid values. */
    IS(9, launch(&store_stub, 0, 1, 0));
    IS(9, launch(&store_stub, 1, 0, 0));
    IS(9, launch(&store_stub, 1, 1025, 0));
    IS(9, cudaLaunchKernel(&store_stub, (dim3){ 1, 65536, 1 }, (dim3){ 1, 1, 65 }, arguments, 0, 0));
    IS(9, cudaLaunchKernel(&store_stub, (dim3){ 1, 1, 1 }, (dim3){ -1, -1, -1 }, arguments, 0, 0));
    IS(1, launch(&few_stub, 1, 128, 0));
    IS(1, launch(&store_stub, 1, 32, 1 << 20));
    IS(1, launch(&store_stub, 1, 32, 49156));
    IS(400, launch(host, 1, 1, 0));
    IS(98, launch(0, 1, 1, 0));
    /* Attributes that no value or time depends on here, a share of shared memory, blocks that wait for each other. */
    for (const char *id = "\0\1\2\x8\x9\xa\xe", *last = id + 7; id < last; ++id) IS(0, launch_with(*id, 1, 0, 0));
    IS(0, launch_with(6, 0, 0, 0));
    IS(0, launch_with(8, -100, 0, 0));
    IS(0, launch_with(4, 1, 1, 1));
    IS(1, launch_with(3, 1, 0, 0));
    IS(1, launch_with(14, 500, 0, 0));
    IS(1, launch_with(99, 0, 0, 0));
    IS(912, launch_with(4, 3, 1, 1));
    IS(912, launch_with(4, 16, 1, 1));
    IS(912, launch_with(4, 0, 1, 1));
    IS(801, launch_with(4, 4, 1, 1));
    IS(801, launch_with(6, 1, 0, 0));
    IS(801, launch_with(13, 1, 0, 0));
}

static void limit(int id, size_t wanted, int code, size_t given) {
    size_t found = 77;
    IS(code, cudaDeviceSetLimit(id, wanted));
    IS(0, cudaDeviceGetLimit(&found, id));
    if (found != given) fprintf(stderr, "limit %d set to %zu is %zu in place of %zu\n", id, wanted, found, given);
    wrong += found != given;
}

static void limits(void) {
    enum { STACK, PRINTF, HEAP, DEPTH, PENDING, FETCH, PERSISTING };
    size_t found, KIB = 1024, MIB = KIB * KIB;
    void *block = 0;
    limit(STACK, 0, 0, 0), limit(STACK, 1, 0, 16), limit(STACK, 1000, 0, 1008), limit(STACK, 256 * KIB, 0, 256 * KIB);
    limit(STACK, 256 * KIB + 1, 1, 256 * KIB), limit(STACK, HUGE, 1, 256 * KIB);
    limit(PRINTF, 0, 0, 512 * KIB), limit(PRINTF, 100000001, 0, 100000256);
    /* CUDA's bound is twice as far, and that of the heap is one of its memory. */
    limit(PRINTF, HUGE, 0, 1024 * MIB), limit(HEAP, HUGE, 0, 4096 * MIB);
    limit(HEAP, 1, 0, 4 * MIB), limit(HEAP, 100000001, 0, 100007936);
    limit(DEPTH, 24, 0, 24), limit(DEPTH, 25, 1, 24), limit(PENDING, 1, 0, 32), limit(PENDING, 4096, 0, 4096);
    limit(FETCH, 128, 0, 128), limit(FETCH, 129, 1, 128), limit(PERSISTING, HUGE, 1, 0);
    IS(1, cudaDeviceSetLimit(99, 1));
    IS(1, cudaDeviceGetLimit(&found, 99));
    IS(1, cudaDeviceGetLimit(0, STACK));
    /* Once kernels have used memory, its size stays. The heap has the block that it has room for. */
    limit(PRINTF, 512 * KIB, 0, 512 * KIB), limit(HEAP, 64 * MIB, 0, 64 * MIB);
    int times = 30000, output = dup(1);
    FILE *said = tmpfile();
    arguments[0] = &times;
    dup2(fileno(said), 1);
    IS(0, launch(&say_stub, 1, 1, 0));
    IS(0, cudaDeviceSynchronize());
    fflush(stdout);
    /* The newest records stay, of 16 bytes and their text. */
    IS(512 * KIB / 24, lseek(1, 0, SEEK_CUR) / 5);
    dup2(output, 1);
    limit(PRINTF, 2 * MIB, 1, 512 * KIB), limit(HEAP, 32 * MIB, 0, 32 * MIB);
    size_t bytes = 16 * MIB;
    arguments[0] = &place, arguments[1] = &bytes;
    for (int round = 0; round < 2; ++round, bytes *= 4) {
        IS(0, launch(&reserve_stub, 1, 1, 0));
        IS(0, cudaMemcpy(&block, place, 8, TO_HOST));
        IS(round == 0, block != 0);
    }
    limit(HEAP, 64 * MIB, 1, 32 * MIB);
    /* A thousand calls within each other need a stack of 32 KiB or more. */
    int deep = 1000, result = 0;
    limit(STACK, 65536, 0, 65536);
    arguments[1] = &deep;
    IS(0, launch(&recurse_stub, 1, 1, 0));
    IS(0, cudaMemcpy(&result, place, 4, TO_HOST));
    IS(deep, result);
    /* After a reset they are what they were, and the heap of 8 MiB has no room for 16. */
    IS(0, cudaDeviceReset());
    IS(1, cudaMemset(place, 0, 4));
    limit(HEAP, 8 * MIB, 0, 8 * MIB);
    IS(0, cudaDeviceGetLimit(&found, STACK));
    IS(1024, found);
    bytes = 16 * MIB, arguments[1] = &bytes;
    IS(0, cudaMalloc((void **)&place, 4096));
    IS(0, launch(&reserve_stub, 1, 1, 0));
    IS(0, cudaMemcpy(&block, place, 8, TO_HOST));
    IS(0, block);
    arguments[1] = &deep;
    int error = launch(&recurse_stub, 1, 1, 0);
    IS(700, error ? error : cudaDeviceSynchronize());
}

static int work(int (*call)(const void *, dim3, dim3, void **, size_t, void *), char *at, int times, void *on) {
    void *own[] = { &at, &times };
    return call(&work_stub, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, own, 0, on);
}

static const int LONG = 20000, SHORT = 10;

/* Long work on a stream that the default stream does not wait for, and short work there. */
static void non_blocking(void) {
    void *own;
    int found = 0;
    IS(0, cudaStreamCreateWithFlags(&own, 1));
    IS(0, work(cudaLaunchKernel, place, LONG, own));
    IS(0, work(cudaLaunchKernel, second, SHORT, 0));
    IS(0, cudaMemcpy(&found, second, 4, TO_HOST));
    IS(SHORT, found);
    IS(0, cudaDeviceSynchronize());
    IS(0, cudaMemcpy(&found, place, 4, TO_HOST));
    IS(LONG, found);
}

static void *in_a_thread(void *at) {
    int found = 0;
    unsigned flags;
    IS(0, work(cudaLaunchKernel_ptsz, at, LONG, 0));
    IS(0, cudaStreamSynchronize_ptsz(0));
    IS(0, cudaMemcpy_ptds(&found, at, 4, TO_HOST));
    IS(LONG, found);
    IS(0, cudaStreamGetFlags_ptsz((void *)2, &flags));
    IS(0, flags);
    return 0;
}

/* The same work on a stream, on the own one of this thread, and on that of another one. */
static void threads(void) {
    pthread_t one;
    int found = 0;
    IS(0, work(cudaLaunchKernel, place, LONG, stream));
    IS(0, work(cudaLaunchKernel, second, LONG, (void *)2));
    pthread_create(&one, 0, in_a_thread, second + 1024);
    pthread_join(one, 0);
    IS(0, cudaMemcpy_ptds(&found, second, 4, TO_HOST));
    IS(LONG, found);
    /* The legacy stream waits for all of them. */
    IS(0, work(cudaLaunchKernel_ptsz, place, SHORT, (void *)1));
    IS(0, cudaMemcpy(&found, place, 4, TO_HOST));
    IS(SHORT, found);
}

/* A kernel that fails has every call fail but those that choose the device and reset it, which works again then. */
static void failures(void) {
    void *low = (void *)8;
    int changed = 9, first = 0;
    IS(0, cudaMemcpyToSymbol(&count_host, &changed, 4, 0, TO_DEVICE));
    arguments[0] = &low, arguments[1] = &number;
    int error = launch(&store_stub, 1, 1, 0);
    IS(700, error ? error : cudaDeviceSynchronize());
    IS(700, cudaMalloc(&low, 64));
    IS(700, cudaFree(0));
    IS(700, cudaGetLastError());
    IS(700, cudaGetLastError());
    IS(0, cudaSetDevice(0));
    IS(0, cudaDeviceReset());
    cudaGetLastError();
    IS(0, cudaPeekAtLastError());
    IS(1, cudaMemset(place, 0, 4));
    IS(400, cudaStreamSynchronize(stream));
    IS(0, cudaMemcpyFromSymbol(&first, &count_host, 4, 0, TO_HOST));
    IS(5, first);
    IS(0, cudaMalloc((void **)&place, 4096));
    arguments[0] = &place;
    IS(0, launch(&store_stub, 1, 1, 0));
    IS(0, cudaMemcpy(&first, place, 4, TO_HOST));
    IS(7, first);
}

/* Any words are a call: sizes near both ends, places of host and device, handles, and what lies in memory. None ends in an unknown error. */
static void random_words(void) {
    typedef int (*any)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#define CALL(name) { (any)(void (*)(void))name, #name }
    static const struct { any call; const char *name; } all[] = {
        CALL(cudaMalloc), CALL(cudaMallocPitch), CALL(cudaMalloc3D), CALL(cudaMallocManaged), CALL(cudaHostAlloc), CALL(cudaFree),
        CALL(cudaFreeHost), CALL(cudaHostRegister), CALL(cudaHostUnregister), CALL(cudaHostGetDevicePointer), CALL(cudaMemcpy),
        CALL(cudaMemcpy2D), CALL(cudaMemcpy3D), CALL(cudaMemcpyAsync), CALL(cudaMemset), CALL(cudaMemset2D), CALL(cudaMemset3D),
        CALL(cudaMemcpyToSymbol), CALL(cudaMemcpyFromSymbol), CALL(cudaMemAdvise), CALL(cudaMemPrefetchAsync), CALL(cudaStreamAttachMemAsync),
        CALL(cudaStreamCreateWithPriority), CALL(cudaStreamGetFlags), CALL(cudaStreamWaitEvent), CALL(cudaEventRecordWithFlags),
        CALL(cudaEventElapsedTime), CALL(cudaDeviceGetAttribute), CALL(cudaDeviceSetLimit), CALL(cudaFuncSetAttribute),
        CALL(cudaFuncGetAttributes), CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor), CALL(cudaLaunchKernel), CALL(cudaLaunchKernelExC),
    };
    /* Two pages among others that nobody may write, so that a call does not change what is the program's. */
    char *pages = (char *)mmap(0, 2 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (1 << 20);
    mprotect(pages, 8192, PROT_READ | PROT_WRITE);
    __cudaRegisterFunction(handle, pages, pages, "store", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, pages + 8, pages + 8, "table", 0, 32, 1, 0);
    uint64_t state = 88172645463325252u, own[12];
    for (int round = 0; round < 2000; ++round) {
        for (int i = 0; i < 16; ++i) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            uint64_t small = state >> 8 & 15, bits = state >> 16 & 63, at = 8 * (state >> 24 & 511);
            uint64_t choices[] = { 0, small, -small, bits < 20 || bits > 34 ? (uint64_t)1 << bits : 4096, state, (uint64_t)pages + at, (uint64_t)pages + 4096 + at,
                (uint64_t)place, (uint64_t)second + at, (uint64_t)stream, (uint64_t)pages, (uint64_t)pages + 8 };
            uint64_t word = choices[(state >> 40) % (sizeof choices / sizeof *choices)];
            if (i < 12) own[i] = word; else memcpy(pages + 8 * at % 8192, &word, 8);
        }
        size_t which = (state >> 48) % (sizeof all / sizeof *all);
        int error = all[which].call(own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7], own[8], own[9], own[10], own[11]);
        is(0, error == 999, all[which].name, round);
        if (error == 700 || error == 716 || round % 100 == 0) {
            cudaDeviceReset(), cudaMalloc((void **)&place, 4096), cudaMalloc((void **)&second, 4096), cudaStreamCreate(&stream);
        }
    }
}

int main(int count, char **words) {
    if (count < 3) return 7;
    load(words[1]);
    static const struct { const char *name; char *stub; } kernels[] = {
        { "store", &store_stub }, { "few", &few_stub }, { "say", &say_stub }, { "reserve", &reserve_stub },
        { "work", &work_stub }, { "recurse", &recurse_stub },
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        __cudaRegisterFunction(handle, kernels[i].stub, kernels[i].stub, kernels[i].name, -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, &table_host, "table", "table", 0, 32, 1, 0);
    __cudaRegisterVar(handle, &count_host, "count", "count", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    if (cudaMalloc((void **)&place, 4096) || cudaMalloc((void **)&second, 4096) || cudaStreamCreate(&stream)) return 8;
    static const struct { const char *name; void (*run)(void); } all[] = {
        { "copies", copies }, { "rows", rows }, { "fills", fills }, { "symbols", symbols }, { "frees", frees },
        { "allocations", allocations }, { "registrations", registrations }, { "streams", streams }, { "devices", devices },
        { "launches", launches }, { "limits", limits }, { "failures", failures },
        { "non-blocking", non_blocking }, { "threads", threads }, { "random", random_words },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (!strcmp(words[2], all[i].name)) return all[i].run(), wrong != 0;
    return 7;
}
