// Modules: nvcc-sm_80 nvrtc-sm_70
// Objects of classes with virtual functions, made in local memory, in which an assertion holds.
#ifndef __CUDACC_RTC__
#include <cassert>
#include <new>
#else
#define assert(condition) if (!(condition)) __trap()
#endif

struct Shape {
    int offset;
    __device__ Shape(int offset) : offset(offset) {}
    __device__ virtual int area() const = 0;
    __device__ virtual int scaled(int factor) const { return factor * area() + offset; }
};

struct Square : Shape {
    int side;
    __device__ Square(int offset, int side) : Shape(offset), side(side) {}
    __device__ int area() const override { return side * side; }
};

struct Rectangle : Shape {
    short width;
    long long height;
    __device__ Rectangle(int offset, int width, int height) : Shape(offset), width(width), height(height) {}
    __device__ int area() const override {
        assert(height > 0);
        return width * height;
    }
};

struct Frame : Square {
    Rectangle hole;
    __device__ Frame(int side) : Square(side, side), hole(1, 3, side - 1) {}
    __device__ int area() const override { return Square::area() - hole.area(); }
    __device__ int scaled(int factor) const override { return Square::scaled(factor) ^ hole.scaled(factor); }
};

extern "C" __global__ void objects(const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, side = x[i];
    alignas(16) char room[64];
    Shape *shape;
    if (side % 3 == 0) shape = new (room) Square(i, side);
    else if (side % 3 == 1) shape = new (room) Rectangle(i, side, 9);
    else shape = new (room) Frame(side);
    y[i] = shape->scaled(i % 5);
}
