// Surfaces of one, two and three dimensions and of layers, in bytes, floats and four floats: read and written by coordinates, with places
// outside that are left out or moved to the edge, copied between arrays, and read as textures afterwards.
// Compiler: nvcc
// Arguments: 37 21 5

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t e = (call);                                                             \
        if (e != cudaSuccess) {                                                                   \
            std::fprintf(stderr, "%s:%d %s %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
            std::exit(1);                                                                         \
        }                                                                                         \
    } while (0)

// Each element becomes the difference to its right neighbour; the last one has itself for a neighbour.
__global__ void differences(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= height)
        return;
    float4 own = surf2Dread<float4>(from, x * sizeof(float4), y, cudaBoundaryModeZero);
    float4 next = surf2Dread<float4>(from, (x + 1) * sizeof(float4), y, cudaBoundaryModeClamp);
    float4 value = make_float4(next.x - own.x, next.y - own.y, next.z - own.z, next.w - own.w);
    // Threads beyond the last column write nothing.
    surf2Dwrite(value, to, x * sizeof(float4), y, cudaBoundaryModeZero);
}

// Every element of a volume is the sum of its coordinates, weighted; of each layer, the same in bytes.
__global__ void fill(cudaSurfaceObject_t volume, cudaSurfaceObject_t layers, cudaSurfaceObject_t line, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height)
        return;
    surf3Dwrite((float)(x + 100 * y + 10000 * z), volume, x * sizeof(float), y, z);
    surf2DLayeredwrite((unsigned char)(x + 3 * y + 5 * z), layers, x, y, z);
    if (y == 0 && z == 0)
        surf1Dwrite((short)(x * x - 400), line, x * sizeof(short));
}

// What textures and surfaces of the arrays say of each place.
__global__ void read(cudaTextureObject_t volume, cudaTextureObject_t layers, cudaSurfaceObject_t line, float *out, int width,
                     int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height)
        return;
    float smooth = tex3D<float>(volume, x + 1.0f, y + 0.5f, z + 0.5f);
    float byte = tex2DLayered<float>(layers, x + 0.5f, y + 0.5f, z);
    short number = surf1Dread<short>(line, x * sizeof(short));
    float *place = out + 3 * ((z * height + y) * width + x);
    place[0] = smooth;
    place[1] = byte;
    place[2] = number;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureReadMode mode)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    for (int axis = 0; axis < 3; ++axis)
        how.addressMode[axis] = cudaAddressModeClamp;
    how.filterMode = filter;
    how.readMode = mode;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 37, height = argc > 2 ? atoi(argv[2]) : 21, depth = argc > 3 ? atoi(argv[3]) : 5;
    int wrong = 0;

    // A plane of four floats, by way of a second array.
    std::vector<float4> plane(width * height), found(width * height);
    for (int i = 0; i < width * height; ++i)
        plane[i] = make_float4(i % 17, i % 5 * 0.5f, -i, i * i % 23);
    cudaChannelFormatDesc four = cudaCreateChannelDesc<float4>();
    cudaArray_t from, through, to;
    CHECK(cudaMallocArray(&from, &four, width, height, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&through, &four, width, height));
    CHECK(cudaMallocArray(&to, &four, width, height, cudaArraySurfaceLoadStore));
    size_t row = width * sizeof(float4);
    CHECK(cudaMemcpy2DToArray(through, 0, 0, plane.data(), row, row, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(from, 0, 0, through, 0, 0, row, height, cudaMemcpyDeviceToDevice));
    cudaSurfaceObject_t source = surface_of(from), target = surface_of(to);
    dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
    differences<<<grid, block>>>(source, target, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(found.data(), row, to, 0, 0, row, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            float4 own = plane[y * width + x], next = plane[y * width + (x + 1 < width ? x + 1 : x)], is = found[y * width + x];
            wrong += is.x != next.x - own.x || is.y != next.y - own.y || is.z != next.z - own.z || is.w != next.w - own.w;
        }
    cudaChannelFormatDesc kind;
    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&kind, &extent, &flags, to));
    wrong += kind.w != 32 || extent.width != (size_t)width || extent.depth != 0 || flags != cudaArraySurfaceLoadStore;

    // A volume of floats, layers of bytes and a line of short numbers.
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>(), bytes = cudaCreateChannelDesc<unsigned char>(),
                          shorts = cudaCreateChannelDesc<short>();
    cudaArray_t volume, layers, line;
    CHECK(cudaMalloc3DArray(&volume, &floats, make_cudaExtent(width, height, depth), cudaArraySurfaceLoadStore));
    CHECK(cudaMalloc3DArray(&layers, &bytes, make_cudaExtent(width, height, depth), cudaArrayLayered | cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&line, &shorts, width, 0, cudaArraySurfaceLoadStore));
    cudaSurfaceObject_t surfaces[] = {surface_of(volume), surface_of(layers), surface_of(line)};
    grid.z = depth;
    fill<<<grid, block>>>(surfaces[0], surfaces[1], surfaces[2], width, height);
    CHECK(cudaGetLastError());
    std::vector<float> host(3 * width * height * depth);
    float *out;
    CHECK(cudaMalloc(&out, host.size() * sizeof(float)));
    cudaTextureObject_t smooth = texture_of(volume, cudaFilterModeLinear, cudaReadModeElementType);
    cudaTextureObject_t fractions = texture_of(layers, cudaFilterModePoint, cudaReadModeNormalizedFloat);
    read<<<grid, block>>>(smooth, fractions, surfaces[2], out, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int z = 0; z < depth; ++z)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) {
                const float *place = host.data() + 3 * ((z * height + y) * width + x);
                float between = (x + 1 < width ? x + 0.5f : x) + 100 * y + 10000 * z;
                float fraction = (unsigned char)(x + 3 * y + 5 * z) / 255.0f;
                wrong += place[0] != between || place[1] != fraction || place[2] != (short)(x * x - 400);
            }

    for (cudaSurfaceObject_t surface : {source, target, surfaces[0], surfaces[1], surfaces[2]})
        CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroyTextureObject(smooth));
    CHECK(cudaDestroyTextureObject(fractions));
    for (cudaArray_t array : {from, through, to, volume, layers, line})
        CHECK(cudaFreeArray(array));
    std::printf("surface: %d wrong\n", wrong);
    return wrong != 0;
}
