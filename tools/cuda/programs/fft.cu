// A fast Fourier transform of many signals, radix 2 between two buffers and twiddle factors in constant memory; compared with the sum.
// Arguments: 64 12

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define MAX_LENGTH 512

__constant__ float2 twiddles[MAX_LENGTH / 2];

#define CHECK(call)                                                                       \
    do {                                                                                  \
        if (cudaError_t e = (call)) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(e));                 \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (false)

__device__ inline float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// One stage after Stockham: the order is right in the end without a swap of bits.
__global__ void stage(const float2 *from, float2 *to, int length, int half)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length / 2)
        return;
    from += blockIdx.y * length;
    to += blockIdx.y * length;
    int k = i & (half - 1);
    float2 a = from[i], b = from[i + length / 2] * twiddles[k * (length / 2 / half)];
    int at = (i - k) * 2 + k;
    to[at] = make_float2(a.x + b.x, a.y + b.y);
    to[at + half] = make_float2(a.x - b.x, a.y - b.y);
}

int main(int argc, char **argv)
{
    const int length = argc > 1 ? std::atoi(argv[1]) : 64, signals = argc > 2 ? std::atoi(argv[2]) : 12;
    if (length < 2 || length > MAX_LENGTH || (length & (length - 1))) {
        std::fprintf(stderr, "the length is a power of two up to %d\n", MAX_LENGTH);
        return 2;
    }
    const double turn = -2.0 * 3.14159265358979323846 / length;
    std::vector<std::complex<float>> input(length * signals), output(length * signals), factors(length / 2);
    for (int i = 0; i < length / 2; ++i)
        factors[i] = std::complex<float>(std::polar(1.0, turn * i));
    for (int s = 0; s < signals; ++s)
        for (int i = 0; i < length; ++i)
            input[s * length + i] = {(float)((i * (s + 1)) % 10) - 4.5f, (float)(i % (s + 2)) * 0.5f};
    CHECK(cudaMemcpyToSymbol(twiddles, factors.data(), factors.size() * sizeof(float2)));

    float2 *a, *b;
    const size_t bytes = input.size() * sizeof(float2);
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMemcpy(a, input.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid((length / 2 + 31) / 32, signals);
    for (int half = 1; half < length; half *= 2) {
        stage<<<grid, 32>>>(a, b, length, half);
        CHECK(cudaGetLastError());
        std::swap(a, b);
    }
    CHECK(cudaMemcpy(output.data(), a, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));

    double worst = 0.0;
    for (int s = 0; s < signals; ++s)
        for (int k = 0; k < length; ++k) {
            std::complex<double> sum = 0.0;
            for (int i = 0; i < length; ++i)
                sum += std::complex<double>(input[s * length + i]) * std::polar(1.0, turn * ((i * k) % length));
            worst = std::fmax(worst, std::abs(sum - std::complex<double>(output[s * length + k])));
        }
    bool right = worst < 1e-2;
    std::printf("%d signals of %d, worst difference %g: %s\n", signals, length, worst, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
