"""Arrays on the device for kernels of Triton, where PyTorch's tensors would stand: made of NumPy's arrays, and handed to others without a
copy by `__cuda_array_interface__` and by DLPack."""

import ctypes

import numpy

_driver = ctypes.CDLL("libcuda.so.1")
_NAMES = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int32": "i32", "int64": "i64", "uint8": "u8"}
_KINDS = {"i": 0, "u": 1, "f": 2}  # DLPack's type codes
_CUDA = 2  # DLPack's number of a CUDA device


def call(name, *words):
    """Calls the driver; an error of CUDA is an exception."""
    error = getattr(_driver, name)(*words)
    if error:
        raise RuntimeError(f"{name}: CUDA error {error}")


def begin():
    """Makes the primary context of the device current."""
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


class Tensor:
    """A copy of an array on the device, in the order of its rows."""

    def __init__(self, array):
        array = numpy.ascontiguousarray(array)
        self.shape, self.array_type = array.shape, array.dtype
        self.dtype = _NAMES[array.dtype.name]  # as Triton reads it
        self.size, self.nbytes = array.size, array.nbytes
        place = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(array.nbytes, 1)))
        self.place = place.value
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.place), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.nbytes))

    def __del__(self):
        if hasattr(self, "place"):
            _driver.cuMemFree_v2(ctypes.c_uint64(self.place))

    def data_ptr(self):
        return self.place

    def stride(self, axis):
        """Elements from one index of an axis to the next."""
        return int(numpy.prod(self.shape[axis + 1 :], dtype=int))

    def numpy(self):
        """A copy on the host."""
        array = numpy.empty(self.shape, self.array_type)
        call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.place), ctypes.c_size_t(self.nbytes))
        return array

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.array_type.str, "data": (self.place, False), "version": 3, "strides": None}

    def __dlpack_device__(self):
        return _CUDA, 0

    def __dlpack__(self, **_):
        managed = _Managed()
        managed.shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        bits = 8 * self.array_type.itemsize
        managed.tensor = _DlTensor(self.place, _CUDA, 0, len(self.shape), _KINDS[self.array_type.kind], bits, 1, managed.shape, None, 0)
        managed.context, managed.end = None, _forget
        _handed[ctypes.addressof(managed)] = (managed, self)
        return _capsule(ctypes.byref(managed), b"dltensor", None)


class _DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int), ("number", ctypes.c_int), ("axes", ctypes.c_int), ("code", ctypes.c_uint8)]
    _fields_ += [("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64))]
    _fields_ += [("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


_End = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DlTensor), ("context", ctypes.c_void_p), ("end", _End)]


_handed = {}  # what others have, until they say that they do not need it any more
_forget = _End(lambda place: _handed.pop(place, None) and None)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def close(found, wanted, tolerance):
    """Compares results with NumPy's, and says by how much they differ."""
    error = numpy.max(numpy.abs(found.astype(numpy.float64) - wanted.astype(numpy.float64)))
    print(f"largest difference from NumPy: {error:.2e}")
    assert error <= tolerance, f"{error} is more than {tolerance}"
