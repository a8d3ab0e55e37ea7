// European options by the formula of Black and Scholes, after the CUDA SDK's. A thread prices every so-many-th option.
#include "../cuda.h"

// The normal distribution by formula 26.2.17 of Abramowitz and Stegun.
static __device__ float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228040143267794f * __expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float *prices, const float *strikes, const float *years, float *calls,
                                         float *puts, float rate, float volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float price = prices[i];
        const float strike = strikes[i];
        const float time = years[i];
        const float root = sqrtf(time);
        const float d1 =
            (__logf(price / strike) + (rate + 0.5f * volatility * volatility) * time) / (volatility * root);
        const float d2 = d1 - volatility * root;
        const float n1 = normal(d1);
        const float n2 = normal(d2);
        const float discounted = strike * __expf(-rate * time);
        calls[i] = price * n1 - discounted * n2;
        puts[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
    }
}
