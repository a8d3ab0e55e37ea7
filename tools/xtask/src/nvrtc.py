"""Compiles CUDA C to PTX with an NVRTC library that the user names.

usage: nvrtc.py LIBRARY [SOURCE TARGET [ARCHITECTURE]]

Compiles for sm_35 if the library knows it (11.x), for sm_70 otherwise; without a source it prints which.
With an architecture (a number) the source may include CUDA's headers, if those of the wheels lie beside the library's.
The library finds its own second library (libnvrtc-builtins) beside itself.
"""

import ctypes
import os
import pathlib
import re
import sys

ARCHITECTURES = (35, 70)
# NVRTC declares the words of CUDA C itself.
DECLARED = "cuda.h"
# A module whose source has this table is linked with another one: its names stay visible.
LINKED_BY = "task_functions"
INCLUDE = re.compile(r'^#include "(.*)"\n', re.MULTILINE)


def text_of(source):
    """The text of a file with what it includes in its place, since NVRTC is given no folder to look into."""

    def included(match):
        path = source.parent / match[1]
        return "" if path.name == DECLARED else text_of(path).replace("#pragma once\n", "")

    return INCLUDE.sub(included, source.read_text())


class Nvrtc:
    def __init__(self, library):
        # Loaded first, since the dynamic linker does not look beside the library.
        for builtins in sorted(pathlib.Path(library).resolve().parent.glob("libnvrtc-builtins.so*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(os.path.abspath(library))

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise RuntimeError(f"{name}: {self.library.nvrtcGetErrorString(code).decode()}")

    def architectures(self):
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", numbers)
        return set(numbers)

    def text(self, size_name, text_name, program):
        size = ctypes.c_size_t()
        self.call(size_name, program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call(text_name, program, text)
        return text.value

    def compile(self, source, architecture, text, options=()):
        program = ctypes.c_void_p()
        text = text.encode()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text, b"kernel.cu", 0, None, None)
        options = [f"--gpu-architecture=compute_{architecture}", *options]
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        try:
            self.call("nvrtcCompileProgram", program, len(options), words)
        except RuntimeError as error:
            log = self.text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program).decode()
            raise RuntimeError(f"{source}: {error}\n{log}") from None
        return self.text("nvrtcGetPTXSize", "nvrtcGetPTX", program)


def headers(library):
    """Options for the headers of the runtime and of the core libraries, where the wheels have put them."""
    wheels = pathlib.Path(library).resolve().parents[2]
    return [f"-I{folder}" for folder in sorted(wheels.glob("cuda_*/include"))]


def main(library, source=None, target=None, chosen=None):
    nvrtc = Nvrtc(library)
    if chosen is not None:
        source, options = pathlib.Path(source), ["-std=c++17", *headers(library)]
        pathlib.Path(target).write_bytes(nvrtc.compile(source, int(chosen), source.read_text(), options))
        return
    known = nvrtc.architectures()
    architecture = next((number for number in ARCHITECTURES if number in known), None)
    if architecture is None:
        sys.exit(f"{library} knows neither sm_35 nor sm_70")
    if source is None:
        print(f"sm_{architecture}")
    else:
        source = pathlib.Path(source)
        text = text_of(source)
        options = ["--relocatable-device-code=true"] if LINKED_BY in text else []
        pathlib.Path(target).write_bytes(nvrtc.compile(source, architecture, text, options))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4, 5):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, RuntimeError) as problem:
        sys.exit(str(problem))
