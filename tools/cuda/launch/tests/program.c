/* A CUDA program as a compiler leaves it: the host's code, which registers a fat binary and kernels before it uses them. Its CPU check
   decides its exit status. Its PTX is the file that it is given: `program kernel.ptx WHAT`. */
#include <string.h>

#include "fat_binary.h"

typedef struct { size_t x, y, z; } extent;
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaIpcGetMemHandle(void *, void *);
int cudaStreamCreate(void **);
int cudaStreamSynchronize(void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemsetAsync(void *, int, size_t, void *);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaLaunchHostFunc(void *, void (*)(void *), void *);
int cudaMallocAsync(void **, size_t, void *);
int cudaFreeAsync(void *, void *);
int cudaGraphCreate(void **, unsigned);
int cudaGraphClone(void **, void *);
int cudaGraphDestroy(void *);
int cudaGraphGetNodes(void *, void **, size_t *);
int cudaGraphNodeGetType(void *, int *);
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *);
int cudaGraphExecUpdate(void *, void *, void *);
int cudaGraphAddMemAllocNode(void **, void *, void *const *, size_t, void *);
int cudaGraphAddMemFreeNode(void **, void *, void *const *, size_t, void *);
int cudaGraphAddMemcpyNode1D(void **, void *, void *const *, size_t, void *, const void *, size_t, int);
int cudaGraphAddMemsetNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphAddKernelNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphAddHostNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphExecKernelNodeSetParams(void *, void *, const void *);
int cudaDeviceGetGraphMemAttribute(int, int, unsigned long long *);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void **);
int cudaStreamIsCapturing(void *, int *);
int cudaMallocHost(void **, size_t);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void **, void *, unsigned);
typedef struct { const void *stub; dim3 grid, block; unsigned shared; void **arguments, **extra; } kernel_node;
typedef struct { void *to; size_t pitch; unsigned value, bytes; size_t width, rows; } fill_node;
typedef struct { void (*function)(void *); void *data; } host_node;
typedef struct { char pool[88]; void *devices; size_t count, bytes; void *place; } memory_node;
typedef struct { int x, y, z, w, kind; } channels;
typedef struct { int kind; void *place; char rest[48]; } resource;
typedef struct { int edges[3], filter, read, rest[5], normalized, more[8]; } reading;
typedef struct { void *array; extent at; void *place; size_t pitch, width, rows; } end3d;
typedef struct { end3d from, to; extent size; int kind; } copy3d;
channels cudaCreateChannelDesc(int, int, int, int, int);
int cudaMallocArray(void **, const channels *, size_t, size_t, unsigned);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMalloc3DArray(void **, const channels *, extent, unsigned);
int cudaMemcpy3D(const void *);
int cudaFreeArray(void *);
int cudaCreateSurfaceObject(unsigned long long *, const resource *);
int cudaDestroySurfaceObject(unsigned long long);
int cudaDestroyTextureObject(unsigned long long);
int cudaCreateTextureObject(unsigned long long *, const resource *, const reading *, const void *);
const char *cudaGetErrorString(int);

static char step_stub, shade_stub, raise_stub, layers_stub, assert_stub, loss;

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
    /* What is written first is overwritten, and the second half appended. */
    struct { const char *mode; int from, to; } parts[] = { { "wb", n / 4, n }, { "wb", 0, n / 2 }, { "ab", n / 2, n } };
    for (int i = 0; i < 3; ++i) {
        int count = parts[i].to - parts[i].from;
        file = fopen(out, parts[i].mode);
        if (!file || fwrite(values + parts[i].from, 4, count, file) != count || fclose(file)) return 5;
    }
    return 0;
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

/* Three layers of 8 x 5 texels in an array, of which copies take a block, a surface writes each, and a texture reads all. */
static int layers(void) {
    static float in[3][5][8], out[3][5][8], back[2][5][6];
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 8; ++x) in[z][y][x] = 100 * z + 10 * y + x;
    channels one = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    void *array, *place;
    int wrong = 0;
    check(cudaMalloc3DArray(&array, &one, (extent){ 8, 5, 3 }, 3), "cudaMalloc3DArray");
    copy3d copy = { { .place = in, .pitch = 32, .width = 8, .rows = 5 }, { .array = array }, { 8, 5, 3 }, 1 };
    check(cudaMemcpy3D(&copy), "cudaMemcpy3D");
    resource memory = { 0, array, { 0 } };
    unsigned long long surface, texture;
    check(cudaCreateSurfaceObject(&surface, &memory), "cudaCreateSurfaceObject");
    /* Point by point, coordinates of texels, and nothing beyond the edges. */
    reading how = { { 3, 3, 3 }, 0, 0, { 0 }, 0, { 0 } };
    check(cudaCreateTextureObject(&texture, &memory, &how, 0), "cudaCreateTextureObject");
    check(cudaMalloc(&place, sizeof out), "cudaMalloc");
    void *raised[] = { &surface }, *read[] = { &texture, &place };
    check(cudaLaunchKernel(&raise_stub, (dim3){ 1, 1, 3 }, (dim3){ 8, 5, 1 }, raised, 0, 0), "launch");
    check(cudaLaunchKernel(&layers_stub, (dim3){ 1, 1, 3 }, (dim3){ 8, 5, 1 }, read, 0, 0), "launch");
    check(cudaMemcpy(out, place, sizeof out, 2), "cudaMemcpy");
    /* The texel to the right of each, twice as large as it was. */
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 8; ++x) wrong += out[z][y][x] != (x == 7 ? 0 : 2 * in[z][y][x + 1]);
    /* A block that begins at texel (2, 1) of layer 1. */
    copy = (copy3d){ { array, { 2, 1, 1 } }, { .at = { 4, 1, 0 }, .place = back, .pitch = 24, .width = 6, .rows = 5 }, { 5, 4, 2 }, 2 };
    check(cudaMemcpy3D(&copy), "cudaMemcpy3D");
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 6; ++x) wrong += back[z][y][x] != (x && y ? 2 * in[z + 1][y][x + 1] : 0);
    copy.size.z = 3;
    wrong += cudaMemcpy3D(&copy) != 1;
    check(cudaDestroySurfaceObject(surface), "cudaDestroySurfaceObject");
    check(cudaDestroyTextureObject(texture), "cudaDestroyTextureObject");
    check(cudaFreeArray(array), "cudaFreeArray");
    /* Not made for surfaces; and a cube with five sides. */
    check(cudaMalloc3DArray(&array, &one, (extent){ 8, 5, 3 }, 1), "cudaMalloc3DArray");
    memory.place = array;
    wrong += cudaCreateSurfaceObject(&surface, &memory) != 1;
    wrong += cudaMalloc3DArray(&array, &one, (extent){ 8, 8, 5 }, 4) != 1;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}

static void count_up(void *data) { ++*(int *)data; }

#define SMALL 100
static int in[SMALL], out[SMALL];

/* Values are what they were, or those above 100 have lost 7. */
static int is_stepped(int stepped) {
    int wrong = 0;
    for (int i = 0; i < SMALL; ++i) wrong += out[i] != (stepped && in[i] > 100 ? in[i] - 7 : in[i]);
    memset(out, 0, sizeof out);
    return !wrong;
}

/* A graph of every kind of node, put together by calls: memory, a fill and a copy, a launch behind both, and a function behind it. */
static int graph(void) {
    int seven = 7, calls = 0, round = 0, kind, wrong = 0;
    for (int i = 0; i < SMALL; ++i) in[i] = 60 + i;
    check(cudaMemcpyToSymbol(&loss, &seven, 4, 0, 1), "cudaMemcpyToSymbol");
    void *made, *ready, *clone, *cloned, *nodes[8];
    int *changed;
    unsigned long long used;
    check(cudaMalloc((void **)&changed, 8), "cudaMalloc");
    check(cudaGraphCreate(&made, 0), "cudaGraphCreate");
    memory_node memory = { .bytes = sizeof in };
    check(cudaGraphAddMemAllocNode(&nodes[0], made, 0, 0, &memory), "cudaGraphAddMemAllocNode");
    check(cudaGraphAddMemcpyNode1D(&nodes[1], made, &nodes[0], 1, memory.place, in, sizeof in, 1), "cudaGraphAddMemcpyNode1D");
    fill_node fill = { changed, 0, 0x01020304, 4, 2, 1 };
    check(cudaGraphAddMemsetNode(&nodes[2], made, 0, 0, &fill), "cudaGraphAddMemsetNode");
    struct { void *values, *changed; int n; } by_value = { memory.place, changed, SMALL };
    void *arguments[] = { &by_value, &round };
    kernel_node kernel = { &step_stub, { 2, 1, 1 }, { 64, 1, 1 }, 0, arguments, 0 };
    check(cudaGraphAddKernelNode(&nodes[3], made, &nodes[1], 2, &kernel), "cudaGraphAddKernelNode");
    check(cudaGraphAddMemcpyNode1D(&nodes[4], made, &nodes[3], 1, out, memory.place, sizeof out, 2), "cudaGraphAddMemcpyNode1D");
    host_node host = { count_up, &calls };
    check(cudaGraphAddHostNode(&nodes[5], made, &nodes[4], 1, &host), "cudaGraphAddHostNode");
    check(cudaGraphAddMemFreeNode(&nodes[6], made, &nodes[4], 1, memory.place), "cudaGraphAddMemFreeNode");
    size_t all = 0;
    check(cudaGraphGetNodes(made, 0, &all), "cudaGraphGetNodes");
    wrong += all != 7;
    check(cudaGraphNodeGetType(nodes[6], &kind), "cudaGraphNodeGetType");
    wrong += kind != 11;
    check(cudaGraphClone(&clone, made), "cudaGraphClone");
    check(cudaGraphInstantiate(&ready, made, 0), "cudaGraphInstantiate");
    check(cudaGraphInstantiate(&cloned, clone, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(made), "cudaGraphDestroy");
    for (int launch = 0; launch < 3; ++launch) {
        check(cudaGraphLaunch(ready, 0), "cudaGraphLaunch");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        wrong += !is_stepped(1);
    }
    /* The clone keeps the launch that it had. */
    by_value.n = 0;
    check(cudaGraphExecKernelNodeSetParams(ready, nodes[3], &kernel), "cudaGraphExecKernelNodeSetParams");
    check(cudaGraphLaunch(ready, 0), "cudaGraphLaunch");
    wrong += !is_stepped(0);
    int fills[2];
    check(cudaMemcpy(fills, changed, 8, 2), "cudaMemcpy");
    wrong += fills[0] != 0x01020304 || fills[1] != 0x01020304;
    check(cudaGraphLaunch(cloned, 0), "cudaGraphLaunch");
    wrong += !is_stepped(1) || calls != 5;
    check(cudaMemcpy(fills, changed, 8, 2), "cudaMemcpy");
    wrong += fills[0] != 1 || fills[1] != 0x01020304;
    check(cudaDeviceGetGraphMemAttribute(0, 0, &used), "cudaDeviceGetGraphMemAttribute");
    wrong += used != 0;
    check(cudaDeviceGetGraphMemAttribute(0, 1, &used), "cudaDeviceGetGraphMemAttribute");
    wrong += used != sizeof in;
    printf("%d calls, %d wrong\n", calls, wrong);
    return wrong != 0;
}

/* A graph of two streams that were watched: nothing of it is done before it is launched. */
static int watched(void) {
    int seven = 7, calls = 0, round = 0, status, wrong = 0;
    for (int i = 0; i < SMALL; ++i) in[i] = 60 + i;
    check(cudaMemcpyToSymbol(&loss, &seven, 4, 0, 1), "cudaMemcpyToSymbol");
    void *streams[2], *begun, *filled, *made, *ready;
    struct { void *values, *changed; int n; } by_value = { 0, 0, SMALL };
    void *arguments[] = { &by_value, &round };
    check(cudaMalloc(&by_value.changed, 4), "cudaMalloc");
    for (int i = 0; i < 2; ++i) check(cudaStreamCreate(&streams[i]), "cudaStreamCreate");
    check(cudaEventCreate(&begun), "cudaEventCreate");
    check(cudaEventCreate(&filled), "cudaEventCreate");
    for (int joined = 0; joined < 2; ++joined) {
        check(cudaStreamBeginCapture(streams[0], 0), "cudaStreamBeginCapture");
        check(cudaMallocAsync(&by_value.values, sizeof in, streams[0]), "cudaMallocAsync");
        check(cudaEventRecord(begun, streams[0]), "cudaEventRecord");
        check(cudaStreamWaitEvent(streams[1], begun, 0), "cudaStreamWaitEvent");
        check(cudaMemsetAsync(by_value.changed, 0, 4, streams[1]), "cudaMemsetAsync");
        check(cudaEventRecord(filled, streams[1]), "cudaEventRecord");
        check(cudaMemcpyAsync(by_value.values, in, sizeof in, 1, streams[0]), "cudaMemcpyAsync");
        if (joined) check(cudaStreamWaitEvent(streams[0], filled, 0), "cudaStreamWaitEvent");
        check(cudaLaunchKernel(&step_stub, (dim3){ 2, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, streams[0]), "launch");
        check(cudaMemcpyAsync(out, by_value.values, sizeof out, 2, streams[0]), "cudaMemcpyAsync");
        check(cudaLaunchHostFunc(streams[0], count_up, &calls), "cudaLaunchHostFunc");
        check(cudaFreeAsync(by_value.values, streams[0]), "cudaFreeAsync");
        check(cudaStreamIsCapturing(streams[1], &status), "cudaStreamIsCapturing");
        wrong += status != 1 || calls || out[0];
        /* Not while it is watched; and a stream that has not come back is an error. */
        wrong += cudaStreamSynchronize(streams[0]) != 900;
        wrong += cudaStreamEndCapture(streams[0], &made) != (joined ? 0 : 904);
        check(cudaStreamIsCapturing(streams[1], &status), "cudaStreamIsCapturing");
        wrong += status != 0;
    }
    check(cudaGraphInstantiate(&ready, made, 0), "cudaGraphInstantiate");
    for (int launch = 1; launch < 3; ++launch) {
        check(cudaGraphLaunch(ready, streams[0]), "cudaGraphLaunch");
        check(cudaStreamSynchronize(streams[0]), "cudaStreamSynchronize");
        wrong += !is_stepped(1) || calls != launch;
    }
    struct { int result; void *nodes[2]; } update;
    check(cudaGraphExecUpdate(ready, made, &update), "cudaGraphExecUpdate");
    wrong += update.result != 0;
    void *empty;
    check(cudaGraphCreate(&empty, 0), "cudaGraphCreate");
    wrong += cudaGraphExecUpdate(ready, empty, &update) != 910 || update.result != 2;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}

/* Memory that is registered serves copies, once, and kernels. */
static int registered(void) {
    static int memory[256];
    void *place, *again;
    int wrong = cudaHostRegister(memory, sizeof memory, 2) != 0;
    wrong += cudaHostRegister(memory, sizeof memory, 2) != 712;
    wrong += cudaHostGetDevicePointer(&place, memory + 1, 0) != 0 || cudaHostGetDevicePointer(&again, memory, 0) != 0;
    memory[1] = 7;
    wrong += (char *)place - (char *)again != sizeof(int) || *(int *)place != 7;
    return wrong + (cudaHostUnregister(memory) != 0) + (cudaHostUnregister(memory) != 713);
}

/* Memory of the host that was not asked for as one that kernels reach, which they do all the same. */
static int pinned(void) {
    int seven = 7, round = 0, changed[1] = { 0 };
    struct { int *values, *changed; int n; } by_value = { 0, 0, SMALL };
    void *arguments[] = { &by_value, &round };
    check(cudaMemcpyToSymbol(&loss, &seven, 4, 0, 1), "cudaMemcpyToSymbol");
    check(cudaMallocHost((void **)&by_value.values, sizeof in), "cudaMallocHost");
    check(cudaMalloc((void **)&by_value.changed, 4), "cudaMalloc");
    for (int i = 0; i < SMALL; ++i) by_value.values[i] = in[i] = 60 + i;
    check(cudaLaunchKernel(&step_stub, (dim3){ 2, 1, 1 }, (dim3){ 64, 1, 1 }, arguments, 0, 0), "launch");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    memcpy(out, by_value.values, sizeof out);
    check(cudaMemcpy(changed, by_value.changed, 4, 2), "cudaMemcpy");
    return !is_stepped(1) || changed[0] != 1;
}

/* An assertion of a kernel fails, which later calls say. */
static int asserts(void) {
    check(cudaLaunchKernel(&assert_stub, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, 0, 0, 0), "launch");
    return cudaDeviceSynchronize() != 710;
}

int main(int count, char **words) {
    load(words[1]);
    __cudaRegisterFunction(handle, &step_stub, &step_stub, "step", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &shade_stub, &shade_stub, "shade", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &raise_stub, &raise_stub, "raise", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &layers_stub, &layers_stub, "layers", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &assert_stub, &assert_stub, "asserts", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, &loss, &loss, "loss", 0, 4, 1, 0);
    __cudaRegisterFatBinaryEnd(handle);
    const char *what = words[2];
    if (!strcmp(what, "steps")) return steps(atoi(words[3]));
    if (!strcmp(what, "texture")) return texture();
    if (!strcmp(what, "layers")) return layers();
    if (!strcmp(what, "graph")) return graph();
    if (!strcmp(what, "watched")) return watched();
    if (!strcmp(what, "pinned")) return pinned();
    if (!strcmp(what, "registered")) return registered();
    if (!strcmp(what, "asserts")) return asserts();
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
        printf("%s\n", cudaGetErrorString(cudaIpcGetMemHandle(&beyond, place)));
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
