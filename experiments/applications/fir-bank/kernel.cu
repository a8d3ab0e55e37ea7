// A bank of filters in the time domain, after HPEC's TDFIR: every filter has its own signal; numbers are complex, real
// part first. A thread computes one output; an output has samples + taps - 1 of them.
#include "../cuda.h"

extern "C" __global__ void fir(const float *__restrict__ signals, const float *__restrict__ filters, float *results,
                               int samples, int taps) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    const int length = samples + taps - 1;
    if (place >= length) return;
    const float *signal = signals + 2 * samples * blockIdx.y;
    const float *filter = filters + 2 * taps * blockIdx.y;
    const int first = max(0, place - samples + 1);
    const int last = min(taps - 1, place);
    float real = 0.0f, imaginary = 0.0f;
    for (int tap = first; tap <= last; tap++) {
        const float fr = filter[2 * tap], fi = filter[2 * tap + 1];
        const float sr = signal[2 * (place - tap)], si = signal[2 * (place - tap) + 1];
        real += fr * sr - fi * si;
        imaginary += fr * si + fi * sr;
    }
    float *result = results + 2 * (length * blockIdx.y + place);
    result[0] = real;
    result[1] = imaginary;
}
