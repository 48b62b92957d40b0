#!/usr/bin/env python3
"""Times how the NVIDIA driver loads modules of kernels/ptx, as markdown.

    CUDA_CACHE_DISABLE=1 scripts/module-load.py --name compiled MODULE...

For each module, in milliseconds, medians of --turns:

    whole    cuModuleLoadDataEx of the PTX, and cuModuleGetFunction of one entry point. The driver compiles the module,
             or finds it in its cache: CUDA_CACHE_DISABLE and CUDA_CACHE_PATH decide
    one      the same of PTX that has this entry point alone
    cubin    the same of machine code, which cuLinkComplete made of the PTX before

It needs the driver, and no package. Without the driver's cache the three columns say what is to be gained: by another
cache of cubins (cubin), and by compiling less (one).
"""

import argparse
import ctypes
import pathlib
import re
import statistics
import time

PTX_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "ptx"
INPUT_PTX = 1  # CUjitInputType


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", metavar="MODULE")
    parser.add_argument("--name", default="driver", help="what the table is called")
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    cuda = Driver()
    print(f"### {args.name}: loading a module, ms\n")
    print("| module | entry points | PTX, KB | whole | one | cubin | cubin, KB |")
    print("|---|---|---|---|---|---|---|")
    for module in args.modules:
        text = (PTX_FOLDER / f"{module}.ptx").read_text()
        entries = entry_points(text)
        chosen = entries[-1]
        cubin = cuda.link(text)
        images = {"whole": text.encode() + b"\0", "one": only(text, chosen).encode() + b"\0", "cubin": cubin}
        times = {kind: [] for kind in images}
        for _ in range(args.turns):
            for kind, image in images.items():
                times[kind].append(cuda.load(image, chosen))
        cells = " | ".join(f"{statistics.median(t):.1f}" for t in times.values())
        print(f"| {module} | {len(entries)} | {len(text) // 1024} | {cells} | {len(cubin) // 1024} |")
    print()


def entry_points(text):
    return re.findall(r"^\.visible \.entry (\w+)\(", text, re.MULTILINE)


def only(text, entry):
    """The module with this entry point and none other. A body ends at a line that is a brace."""

    def keep(match):
        return match[0] if match[1] == entry else ""

    return re.sub(r"^\.visible \.entry (\w+)\(.*?^\}\n?", keep, text, flags=re.MULTILINE | re.DOTALL)


class Driver:
    """The functions of libcuda that load modules, on the primary context of the first GPU."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise SystemExit(f"{name} failed: CUDA error {code}")

    def load(self, image, entry):
        """Milliseconds until the entry point can be launched."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        began = time.perf_counter()
        self.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(image), 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        took = time.perf_counter() - began
        self.call("cuModuleUnload", module)
        return took * 1e3

    def link(self, text):
        """The machine code that the driver makes of PTX."""
        state, cubin, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        image = text.encode() + b"\0"
        self.call("cuLinkCreate_v2", 0, None, None, ctypes.byref(state))
        self.call("cuLinkAddData_v2", state, INPUT_PTX, ctypes.c_char_p(image), ctypes.c_size_t(len(image)), b"module", 0, None, None)
        self.call("cuLinkComplete", state, ctypes.byref(cubin), ctypes.byref(size))
        made = ctypes.string_at(cubin, size.value)
        self.call("cuLinkDestroy", state)
        return made


if __name__ == "__main__":
    main()
