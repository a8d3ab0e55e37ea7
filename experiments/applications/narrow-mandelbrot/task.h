// Iterations until z = z*z + c leaves the circle of radius 2, for the points of a square picture. No operation is contracted,
// so that every compiler counts the same.

struct Mandelbrot {
    unsigned *counts;
    int width;
    float left;
    float top;
    float step;
    unsigned most;

    template <class Where> __device__ void run(const Where &here) const {
        for (int point = here.getTid(); point < width * width; point += here.threads()) {
            const float cx = __fadd_rn(left, __fmul_rn((float)(point % width), step));
            const float cy = __fadd_rn(top, __fmul_rn((float)(point / width), step));
            float x = 0.0f, y = 0.0f;
            unsigned count = 0;
            while (count < most) {
                const float xx = __fmul_rn(x, x);
                const float yy = __fmul_rn(y, y);
                if (__fadd_rn(xx, yy) > 4.0f) break;
                const float xy = __fmul_rn(x, y);
                y = __fadd_rn(__fadd_rn(xy, xy), cy);
                x = __fadd_rn(__fadd_rn(xx, -yy), cx);
                count++;
            }
            counts[point] = count;
        }
    }
};

extern "C" __global__ void mandelbrot(unsigned *counts, int width, float left, float top, float step, unsigned most) {
    const Mandelbrot task = {counts, width, left, top, step, most};
    task.run(Plain());
}
TASK(Mandelbrot, mandelbrot)
