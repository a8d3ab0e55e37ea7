// Graphs that choose by a value on the device: a loop of Collatz's steps, made by hand and by a stream, and a choice among four.
// Compiler: nvcc
// Flags: -rdc=true
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t error = call;                                               \
        if (error != cudaSuccess) {                                             \
            printf("%s: %s\n", #call, cudaGetErrorString(error));               \
            return 1;                                                           \
        }                                                                       \
    } while (0)

// values[0] is the number, values[1] counts steps.
__global__ void step(unsigned *values, cudaGraphConditionalHandle more)
{
    unsigned number = values[0];
    if (number > 1) {
        values[0] = number % 2 ? 3 * number + 1 : number / 2;
        values[1]++;
    }
    cudaGraphSetConditional(more, values[0] > 1);
}

__global__ void choose(const unsigned *values, cudaGraphConditionalHandle which)
{
    cudaGraphSetConditional(which, values[1] % 5);
}

__global__ void put(unsigned *place, unsigned value)
{
    *place = value;
}

static cudaError_t kernel(cudaGraph_t graph, cudaGraphNode_t *node, const cudaGraphNode_t *behind, void *function, void **arguments)
{
    cudaGraphNodeParams description = {cudaGraphNodeTypeKernel};
    description.kernel.func = function;
    description.kernel.gridDim = description.kernel.blockDim = dim3(1);
    description.kernel.kernelParams = arguments;
    return cudaGraphAddNode(node, graph, behind, NULL, behind ? 1 : 0, &description);
}

static int steps_of(unsigned number)
{
    int steps = 0;
    for (; number > 1; steps++)
        number = number % 2 ? 3 * number + 1 : number / 2;
    return steps;
}

int main()
{
    unsigned *values, *chosen, found[2], picked, wrong = 0;
    CHECK(cudaMalloc(&values, 2 * sizeof(unsigned)));
    CHECK(cudaMalloc(&chosen, sizeof(unsigned)));

    // By hand: while (more) step; then one of four, or none.
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle more, which;
    CHECK(cudaGraphConditionalHandleCreate(&more, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&which, graph));
    cudaGraphNodeParams loop = {cudaGraphNodeTypeConditional}, among = {cudaGraphNodeTypeConditional};
    loop.conditional.handle = more;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t looping, inner, choosing, last;
    CHECK(cudaGraphAddNode(&looping, graph, NULL, NULL, 0, &loop));
    void *of_step[] = {&values, &more}, *of_choice[] = {&values, &which};
    CHECK(kernel(loop.conditional.phGraph_out[0], &inner, NULL, (void *)step, of_step));
    CHECK(kernel(graph, &choosing, &looping, (void *)choose, of_choice));
    among.conditional.handle = which;
    among.conditional.type = cudaGraphCondTypeSwitch;
    among.conditional.size = 4;
    CHECK(cudaGraphAddNode(&last, graph, &choosing, NULL, 1, &among));
    for (unsigned place = 0; place < 4; place++) {
        unsigned value = 100 + place;
        void *of_put[] = {&chosen, &value};
        CHECK(kernel(among.conditional.phGraph_out[place], &inner, NULL, (void *)put, of_put));
    }
    cudaGraphExec_t ready;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (unsigned number : {1u, 6u, 7u, 9u, 27u}) {
        unsigned first[2] = {number, 0};
        CHECK(cudaMemcpy(values, first, sizeof first, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(chosen, 0, sizeof(unsigned)));
        CHECK(cudaGraphLaunch(ready, 0));
        CHECK(cudaMemcpy(found, values, sizeof found, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&picked, chosen, sizeof picked, cudaMemcpyDeviceToHost));
        unsigned steps = steps_of(number), wanted = steps % 5 < 4 ? 100 + steps % 5 : 0;
        printf("%u: %u steps, %u is right; %u, %u is right\n", number, found[1], steps, picked, wanted);
        wrong += found[1] != steps || picked != wanted;
    }

    // By a stream, whose graph gets the loop in between: a step before, the loop, and a value behind.
    cudaStream_t stream, body;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&body));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *behind;
    size_t count;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &behind, NULL, &count));
    CHECK(cudaGraphConditionalHandleCreate(&more, graph));
    step<<<1, 1, 0, stream>>>(values, more);
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &behind, NULL, &count));
    loop.conditional.handle = more;
    CHECK(cudaGraphAddNode(&looping, graph, behind, NULL, count, &loop));
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &looping, NULL, 1, cudaStreamSetCaptureDependencies));
    put<<<1, 1, 0, stream>>>(chosen, 5);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamBeginCaptureToGraph(body, loop.conditional.phGraph_out[0], NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    step<<<1, 1, 0, body>>>(values, more);
    CHECK(cudaStreamEndCapture(body, NULL));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    unsigned first[2] = {97, 0};
    CHECK(cudaMemcpy(values, first, sizeof first, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(found, values, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&picked, chosen, sizeof picked, cudaMemcpyDeviceToHost));
    printf("97: %u steps, %u is right; %u, 5 is right\n", found[1], steps_of(97), picked);
    wrong += found[1] != (unsigned)steps_of(97) || picked != 5;

    // A condition of nobody's, and a loop among two.
    loop.conditional.handle = 12345;
    wrong += cudaGraphAddNode(&looping, graph, NULL, NULL, 0, &loop) != cudaErrorInvalidValue;
    loop.conditional.handle = more;
    loop.conditional.size = 2;
    wrong += cudaGraphAddNode(&looping, graph, NULL, NULL, 0, &loop) != cudaErrorInvalidValue;
    return wrong != 0;
}
