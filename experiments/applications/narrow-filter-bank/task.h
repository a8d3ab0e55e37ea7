// One channel of a filter bank: a signal is filtered, thinned to every so many samples, raised to its rate again with zeros
// between, and filtered again. All threads of the block meet between these phases, so a task has one block.

struct FilterBank {
    const float *signal;
    const float *h;
    const float *f;
    float *filtered;
    float *kept;
    float *raised;
    float *result;
    int samples;
    int every;
    int taps;

    // Sample `at` of a signal behind a filter; there was silence before the signal.
    __device__ float filter(const float *signal, const float *filter, int at) const {
        float sum = 0.0f;
        for (int k = 0; k < taps && k <= at; k++) sum += signal[at - k] * filter[k];
        return sum;
    }

    template <class Where> __device__ void run(const Where &here) const {
        const int first = here.getTid(), stride = here.threads();
        for (int at = first; at < samples; at += stride) filtered[at] = filter(signal, h, at);
        here.syncBlock();
        for (int at = first; at < samples / every; at += stride) kept[at] = filtered[at * every];
        here.syncBlock();
        for (int at = first; at < samples; at += stride) raised[at] = at % every == 0 ? kept[at / every] : 0.0f;
        here.syncBlock();
        for (int at = first; at < samples; at += stride) result[at] = filter(raised, f, at);
    }
};

extern "C" __global__ void filter_bank(const float *signal, const float *h, const float *f, float *filtered, float *kept,
                                       float *raised, float *result, int samples, int every, int taps) {
    const FilterBank task = {signal, h, f, filtered, kept, raised, result, samples, every, taps};
    task.run(Plain());
}
TASK(FilterBank, filter_bank)
