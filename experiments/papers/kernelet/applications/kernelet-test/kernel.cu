// A mixture of memory and computation: each thread loads vectors of four words that lie beside those of its neighbours, and does `work`
// multiplications and additions, one after another, for each.
extern "C" __global__ void mixture(const float4 *vectors, float *sums, unsigned loads, unsigned work)
{
    unsigned threads = gridDim.x * blockDim.x;
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (unsigned load = 0; load < loads; load++) {
        float4 vector = vectors[load * threads + thread];
        float value = (vector.x + vector.y) + (vector.z + vector.w);
        for (unsigned step = 0; step < work; step++)
            value = fmaf(value, 0.5f, 1.0f);
        sum += value;
    }
    sums[thread] = sum;
}
