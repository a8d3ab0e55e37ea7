"""Triton's autotuner: the sum of two vectors, with the fastest of three block sizes on the device that `counterpoint cuda --machine` has."""

import ctypes

import numpy
import triton
import triton.language as tl

from tensor import Tensor, begin, call, close

ROUNDS = 3


def bench(kernel, quantiles):
    """The time of a launch in milliseconds by CUDA's events, for each of the quantiles the same: a simulated launch varies little."""
    first, last = ctypes.c_void_p(), ctypes.c_void_p()
    for event in (first, last):
        call("cuEventCreate", ctypes.byref(event), 0)
    kernel()
    call("cuEventRecord", first, None)
    for _ in range(ROUNDS):
        kernel()
    call("cuEventRecord", last, None)
    call("cuEventSynchronize", last)
    milliseconds = ctypes.c_float()
    call("cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
    return [milliseconds.value / ROUNDS] * len(quantiles)


@triton.autotune([triton.Config({"BLOCK": block}, num_warps=1) for block in (32, 128, 1024)], key=["count"], do_bench=bench)
@triton.jit
def add(first, second, total, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(total + at, tl.load(first + at, mask=inside) + tl.load(second + at, mask=inside), mask=inside)


begin()
generator = numpy.random.default_rng(1)
first, second = generator.random((2, 20000), numpy.float32)
total = Tensor(numpy.zeros_like(first))
add[lambda choice: (triton.cdiv(first.size, choice["BLOCK"]),)](Tensor(first), Tensor(second), total, first.size)
for choice, times in add.configs_timings.items():
    print(f"block of {choice.kwargs['BLOCK']}: {1000 * times[0]:.2f} us")
print(f"chosen: {add.best_config.kwargs['BLOCK']}")
close(total.numpy(), first + second, 0)
