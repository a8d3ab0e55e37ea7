"""Makes what Python makes of the kernels in tests/front_ends.

usage: front_ends.py arrays FILE
       front_ends.py triton SOURCE TARGET ARCHITECTURE
       front_ends.py numba SOURCE TARGET ARCHITECTURE

`arrays` writes the arrays that the function `arrays` of FILE gives, by name, to the folder `data` beside it. `triton` compiles the
function `kernel` with the `SIGNATURE`, the `CONSTANTS` and the `OPTIONS` of the source, and the names in `MULTIPLES_OF_16`; `numba` with its
`SIGNATURE`. An architecture is a number such as 80.
"""

import importlib.util
import os
import pathlib
import runpy
import sys


def arrays(file):
    sys.path.insert(0, str(pathlib.Path(file).parent.parent))
    folder = pathlib.Path(file).parent / "data"
    folder.mkdir(exist_ok=True)
    kinds = {"f": "f", "u": "u", "i": "s"}
    for name, array in runpy.run_path(file)["arrays"]().items():
        path = folder / f"{name}.{kinds[array.dtype.kind]}{8 * array.dtype.itemsize}"
        path.write_bytes(array.tobytes())


def load(source):
    """A source as a module: Triton reads the text of its functions, and Numba names them after it."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(source).stem, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def triton(source, target, architecture):
    # Lines of the source would come with the place of this folder.
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    module = load(source)
    signature = {**module.SIGNATURE, **{name: "constexpr" for name in module.CONSTANTS}}
    # As where a program is launched: buffers begin at multiples of 16, and so are some numbers.
    aligned = [
        place
        for place, (name, kind) in enumerate(module.SIGNATURE.items())
        if kind.startswith("*") or name in getattr(module, "MULTIPLES_OF_16", ())
    ]
    attributes = {(place,): [["tt.divisibility", 16]] for place in aligned}
    kernel = ASTSource(module.kernel, signature, module.CONSTANTS, attributes)
    compiled = compile(kernel, target=GPUTarget("cuda", architecture, 32), options=module.OPTIONS)
    pathlib.Path(target).write_text(compiled.asm["ptx"])
    print(f"{target}: shared: {compiled.metadata.shared}")  # for the launch


def numba(source, target, architecture):
    from numba import cuda

    module = load(source)
    text, _ = cuda.compile_ptx(module.kernel, module.SIGNATURE, cc=divmod(architecture, 10))
    pathlib.Path(target).write_text(text)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    match sys.argv[1:]:
        case ["arrays", file]:
            arrays(file)
        case ["triton", source, target, architecture]:
            triton(source, target, int(architecture))
        case ["numba", source, target, architecture]:
            numba(source, target, int(architecture))
        case _:
            sys.exit(__doc__)
