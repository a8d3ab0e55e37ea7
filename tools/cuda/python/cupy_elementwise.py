"""CuPy: expressions of arrays, each a kernel, an element-wise kernel, a reduction, and an array of another library that it takes by DLPack."""

import cupy
import numpy

from tensor import Tensor, close

hypotenuse = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = sqrtf(x * x + y * y)", "hypotenuse")
total = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrtf(a)", "0", "total")

x, y = numpy.random.default_rng(10).random((2, 60, 7), numpy.float32)
on_device = cupy.asarray(x), cupy.from_dlpack(Tensor(y))
close(cupy.asnumpy(on_device[0] * 2 + on_device[1]), x * 2 + y, 1e-6)
close(cupy.asnumpy(hypotenuse(*on_device)), numpy.sqrt(x * x + y * y), 1e-6)
close(cupy.asnumpy(total(on_device[0])), numpy.sqrt((x * x).sum()), 1e-4)
