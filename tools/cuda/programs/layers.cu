// Textures in layers, of lines and of planes; cubes, one and several; and edges that repeat, mirror, stay or have nothing behind them, each
// axis with its own, of arrays and of memory with bytes between its rows.
// Arguments: 12 9 4

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

__global__ void read_layers(cudaTextureObject_t planes, cudaTextureObject_t lines, float *out, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    float *place = out + 2 * ((layer * height + y) * width + x);
    place[0] = tex2DLayered<float>(planes, x + 0.5f, y + 0.5f, layer);
    place[1] = tex1DLayered<float>(lines, x + 0.5f, layer);
}

// The texel in the middle of each square of each face, by a direction that is not of length 1.
__global__ void read_cubes(cudaTextureObject_t cube, cudaTextureObject_t cubes, float2 *out, int side)
{
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x, which = blockIdx.y;
    float u = 2 * (x + 0.5f) / side - 1, v = 2 * (y + 0.5f) / side - 1;
    float3 to;
    switch (face) {
    case 0: to = make_float3(1, -v, -u); break;
    case 1: to = make_float3(-1, -v, u); break;
    case 2: to = make_float3(u, 1, v); break;
    case 3: to = make_float3(u, -1, -v); break;
    case 4: to = make_float3(u, -v, 1); break;
    default: to = make_float3(-u, -v, -1); break;
    }
    to = make_float3(to.x * 3, to.y * 3, to.z * 3);
    float2 found = make_float2(texCubemap<float>(cube, to.x, to.y, to.z), texCubemapLayered<float>(cubes, to.x, to.y, to.z, which));
    out[((which * 6 + face) * side + y) * side + x] = found;
}

// Places from one texture before it to one behind it.
__global__ void read_edges(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x;
    float u = (x + 0.5f) / width - 1, v = (y + 0.5f) / height - 1;
    out[y * blockDim.x + x] = tex2D<float>(texture, u, v);
}

static cudaTextureObject_t texture_of(cudaResourceDesc resource, cudaTextureAddressMode x, cudaTextureAddressMode y, bool normalized)
{
    cudaTextureDesc how = {};
    how.addressMode[0] = x;
    how.addressMode[1] = how.addressMode[2] = y;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

// An array with numbers from a first one on, which is layered, or of cubes.
static cudaArray_t array_of(cudaExtent extent, unsigned flags, float first)
{
    cudaChannelFormatDesc kind = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &kind, extent, flags));
    if (extent.height == 0)
        extent.height = 1;
    if (extent.depth == 0)
        extent.depth = 1;
    std::vector<float> numbers(extent.width * extent.height * extent.depth);
    for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = first + i;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(numbers.data(), extent.width * sizeof(float), extent.width, extent.height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

// The texel for a coordinate outside, by the programming guide; none, -1.
static int at_edge(cudaTextureAddressMode mode, double u, int size)
{
    double whole = std::floor(u);
    switch (mode) {
    case cudaAddressModeWrap: u -= whole; break;
    case cudaAddressModeMirror: u = std::fmod(std::fabs(whole), 2) == 1 ? 1 - (u - whole) : u - whole; break;
    default: break;
    }
    int texel = (int)std::floor(u * size);
    if (mode == cudaAddressModeBorder)
        return texel < 0 || texel >= size ? -1 : texel;
    return texel < 0 ? 0 : texel >= size ? size - 1 : texel;
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 12, height = argc > 2 ? atoi(argv[2]) : 9, count = argc > 3 ? atoi(argv[3]) : 4;
    int wrong = 0;

    cudaArray_t planes = array_of(make_cudaExtent(width, height, count), cudaArrayLayered, 0);
    cudaArray_t lines = array_of(make_cudaExtent(width, 0, count), cudaArrayLayered, 5000);
    cudaTextureObject_t of_planes = texture_of(of_array(planes), cudaAddressModeClamp, cudaAddressModeClamp, false);
    cudaTextureObject_t of_lines = texture_of(of_array(lines), cudaAddressModeClamp, cudaAddressModeClamp, false);
    std::vector<float> layers(2 * width * height * count);
    float *out;
    CHECK(cudaMalloc(&out, layers.size() * sizeof(float)));
    read_layers<<<dim3(height, count), width>>>(of_planes, of_lines, out, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(layers.data(), out, layers.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height * count; ++i)
        wrong += layers[2 * i] != i || layers[2 * i + 1] != 5000 + i / (width * height) * width + i % width;

    int side = 8;
    cudaArray_t cube = array_of(make_cudaExtent(side, side, 6), cudaArrayCubemap, 0);
    cudaArray_t cubes = array_of(make_cudaExtent(side, side, 12), cudaArrayCubemap | cudaArrayLayered, 7000);
    cudaTextureObject_t of_cube = texture_of(of_array(cube), cudaAddressModeWrap, cudaAddressModeWrap, true);
    cudaTextureObject_t of_cubes = texture_of(of_array(cubes), cudaAddressModeWrap, cudaAddressModeWrap, true);
    std::vector<float2> faces(12 * side * side);
    float2 *faces_out;
    CHECK(cudaMalloc(&faces_out, faces.size() * sizeof(float2)));
    read_cubes<<<dim3(6, 2), dim3(side, side)>>>(of_cube, of_cubes, faces_out, side);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(faces.data(), faces_out, faces.size() * sizeof(float2), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12 * side * side; ++i)
        wrong += faces[i].x != i % (6 * side * side) || faces[i].y != 7000 + i;

    // Rows of an array lie behind one another, those of this memory do not.
    cudaArray_t plane = array_of(make_cudaExtent(width, height, 0), 0, 1);
    std::vector<float> numbers(width * height), found(9 * width * height);
    for (int i = 0; i < width * height; ++i)
        numbers[i] = 1 + i;
    float *memory, *edges_out;
    size_t pitch;
    CHECK(cudaMallocPitch(&memory, &pitch, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(memory, pitch, numbers.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&edges_out, found.size() * sizeof(float)));
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D.devPtr = memory;
    rows.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    rows.res.pitch2D.width = width;
    rows.res.pitch2D.height = height;
    rows.res.pitch2D.pitchInBytes = pitch;
    cudaTextureAddressMode modes[] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder};
    for (int i = 0; i < 16; ++i) {
        cudaTextureAddressMode mode_x = modes[i % 4], mode_y = modes[i / 4];
        cudaTextureObject_t texture = texture_of(i % 3 ? rows : of_array(plane), mode_x, mode_y, true);
        read_edges<<<3 * height, 3 * width>>>(texture, edges_out, width, height);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(found.data(), edges_out, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (int y = 0; y < 3 * height; ++y)
            for (int x = 0; x < 3 * width; ++x) {
                int at_x = at_edge(mode_x, (x + 0.5) / width - 1, width), at_y = at_edge(mode_y, (y + 0.5) / height - 1, height);
                float want = at_x < 0 || at_y < 0 ? 0.0f : numbers[at_y * width + at_x];
                wrong += found[y * 3 * width + x] != want;
            }
        CHECK(cudaDestroyTextureObject(texture));
    }

    for (cudaTextureObject_t texture : {of_planes, of_lines, of_cube, of_cubes})
        CHECK(cudaDestroyTextureObject(texture));
    for (cudaArray_t array : {planes, lines, cube, cubes, plane})
        CHECK(cudaFreeArray(array));
    std::printf("layers: %d wrong\n", wrong);
    return wrong != 0;
}
