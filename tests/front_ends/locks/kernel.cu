// Modules: nvcc-sm_75 nvcc-sm_90
// A lock that single threads take, lanes of one warp in turn, to change two words together.
#include <cuda/atomic>

extern "C" __global__ void locks(const int *x, int *words, int *lock) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> taken(*lock);
    while (taken.exchange(1, cuda::std::memory_order_acquire) != 0) __nanosleep(20);
    words[0] += x[i];
    words[1] = max(words[1], x[i]);
    taken.store(0, cuda::std::memory_order_release);
}
