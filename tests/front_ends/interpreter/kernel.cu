// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70 clang-sm_70
// Small programs of a stack machine: a table of jumps, calls through pointers, recursion, and a stack in local memory.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negative(int x) { return -x; }
__device__ __noinline__ int collatz(int x) { return x % 2 ? 3 * x + 1 : x / 2; }

typedef int (*function)(int);
__device__ function functions[4] = {square, negative, collatz, fibonacci};

extern "C" __global__ void interpreter(const int *code, int length, const int *inputs, int *results) {
    int stack[16], top = 0, thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Every second thread leaves the last instructions out, so that threads are at different ones.
    int end = length - thread % 2 * 4;
    stack[0] = inputs[thread];
    for (int at = 0; at < end; at += 2) {
        int operand = code[at + 1];
        switch (code[at]) {
        case 0: stack[++top] = operand; break;
        case 1: stack[top + 1] = stack[top]; top++; break;
        case 2: top--; stack[top] += stack[top + 1]; break;
        case 3: top--; stack[top] *= stack[top + 1]; break;
        case 4: top--; stack[top] -= stack[top + 1]; break;
        case 5: stack[top] &= operand; break;
        case 6: stack[top] >>= operand; break;
        case 7: { int x = stack[top]; stack[top] = stack[top - 1]; stack[top - 1] = x; break; }
        case 8: stack[top] = functions[operand](stack[top]); break;
        case 9: if (stack[top] > operand) at += 2; break;
        default: stack[top] ^= operand;
        }
    }
    results[thread] = stack[top];
}
