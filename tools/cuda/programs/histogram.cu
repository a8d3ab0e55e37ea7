// Counts the letters of a text file with atomics in shared and global memory; the result comes back from a device variable.
// Arguments: histogram.txt 40

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                    \
    if (cudaError_t status = (call)) {                                                                 \
        std::cerr << __FILE__ << ":" << __LINE__ << ": " << cudaGetErrorString(status) << std::endl;   \
        std::exit(1);                                                                                  \
    }

constexpr int BINS = 26;

__device__ unsigned int total[BINS];
__device__ unsigned int longest_word = 0;

__global__ void count(const char *text, int n)
{
    __shared__ unsigned int local[BINS];
    if (threadIdx.x < BINS)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int c = text[i] | 0x20;
        if (c >= 'a' && c <= 'z')
            atomicAdd(&local[c - 'a'], 1u);
    }
    __syncthreads();
    if (threadIdx.x < BINS && local[threadIdx.x] > 0)
        atomicAdd(&total[threadIdx.x], local[threadIdx.x]);
}

// A thread at the begin of a word walks to its end.
__global__ void words(const char *text, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto letter = [=](int at) { return at >= 0 && at < n && (text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z'; };
    if (i < n && letter(i) && !letter(i - 1)) {
        unsigned int length = 0;
        while (letter(i + length))
            ++length;
        atomicMax(&longest_word, length);
    }
}

int main(int argc, char **argv)
{
    std::ifstream file(argc > 1 ? argv[1] : "histogram.txt");
    int copies = argc > 2 ? std::atoi(argv[2]) : 4;
    if (!file) {
        std::cerr << "no input file" << std::endl;
        return 1;
    }
    std::stringstream buffer;
    buffer << file.rdbuf();
    std::string text;
    for (int i = 0; i < copies; ++i)
        text += buffer.str();
    const int n = static_cast<int>(text.size());

    char *device_text;
    CHECK(cudaMalloc(&device_text, n + 64));
    CHECK(cudaMemset(device_text, ' ', n + 64));
    CHECK(cudaMemcpy(device_text, text.data(), n, cudaMemcpyHostToDevice));
    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, total));
    CHECK(cudaGetSymbolSize(&size, total));
    CHECK(cudaMemset(address, 0, size));
    count<<<8, 128>>>(device_text, n);
    words<<<(n + 255) / 256, 256>>>(device_text, n);
    CHECK(cudaGetLastError());

    unsigned int got[BINS], wanted[BINS] = {0}, got_longest, wanted_longest = 0, length = 0;
    CHECK(cudaMemcpyFromSymbol(got, total, sizeof(got)));
    CHECK(cudaMemcpyFromSymbol(&got_longest, longest_word, sizeof(got_longest)));
    for (unsigned char c : text) {
        length = std::isalpha(c) ? length + 1 : 0;
        wanted_longest = length > wanted_longest ? length : wanted_longest;
        if (std::isalpha(c))
            ++wanted[std::tolower(c) - 'a'];
    }
    bool right = std::memcmp(got, wanted, sizeof(got)) == 0 && got_longest == wanted_longest;
    for (int bin = 0; bin < BINS; ++bin)
        std::printf("%c %u%s", 'a' + bin, got[bin], bin + 1 < BINS ? ", " : "\n");
    std::cout << "longest word " << got_longest << std::endl << (right ? "PASSED" : "FAILED") << std::endl;
    CHECK(cudaFree(device_text));
    return right ? 0 : 1;
}
