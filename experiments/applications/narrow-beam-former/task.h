// The strength of beams from the complex signals of some sensors: each signal goes through a filter that belongs to the sensor
// and the beam, and their sum has a magnitude.

struct BeamFormer {
    const float *signals;
    const float *filters;
    float *strength;
    int sensors;
    int samples;
    int beams;
    int taps;

    template <class Where> __device__ void run(const Where &here) const {
        for (int place = here.getTid(); place < beams * samples; place += here.threads()) {
            const int beam = place / samples, at = place % samples;
            float real = 0.0f, imaginary = 0.0f;
            for (int sensor = 0; sensor < sensors; sensor++) {
                for (int k = 0; k < taps && k <= at; k++) {
                    const int from = 2 * (sensor * samples + at - k), by = 2 * ((beam * sensors + sensor) * taps + k);
                    const float x = signals[from], y = signals[from + 1], a = filters[by], b = filters[by + 1];
                    real += x * a - y * b;
                    imaginary += x * b + y * a;
                }
            }
            strength[place] = sqrtf(real * real + imaginary * imaginary);
        }
    }
};

extern "C" __global__ void form_beams(const float *signals, const float *filters, float *strength, int sensors, int samples,
                                      int beams, int taps) {
    const BeamFormer task = {signals, filters, strength, sensors, samples, beams, taps};
    task.run(Plain());
}
TASK(BeamFormer, form_beams)
