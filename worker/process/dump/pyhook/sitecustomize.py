# Written by gpurun for the time of a job, in a folder that is first in PYTHONPATH. The module lets gpurun ask this
# process for the stacks of its Python threads, and then makes way for another sitecustomize.


def _ask_for_stacks():
    import os

    path = os.environ.get("_GPURUN_STACKS")
    if not path:
        return
    import faulthandler

    # faulthandler keeps the descriptor, which a forked child shares. O_APPEND keeps their stacks apart.
    # The number is SIGURG: the module signal would cost more than the rest of this file.
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        faulthandler.register(23, file, all_threads=True)
        os.write(file, b"# Python\n")  # the worker is a Python program, says this after its end, too
    except (OSError, ValueError, RuntimeError, AttributeError):
        pass


# PyTorch before 2.8 knows the flight recorder's settings by other names. A newer one warns of those.
def _name_for_old_torch():
    import os, sys

    names = (
        ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),
    )
    for folder in sys.path:
        try:
            with open(folder + "/torch/version.py", "rb") as file:
                text = file.read(4096)
        except (OSError, ValueError):
            continue
        number = text.partition(b"__version__ = '")[2].split(b".")[:2]
        if len(number) == 2 and all(n.isdigit() for n in number) and [int(n) for n in number] < [2, 8]:
            for new, old in names:
                if new in os.environ:
                    os.environ.setdefault(old, os.environ[new])
        return


# A dump of the flight recorder names lines. For that PyTorch's own thread asks whether the module torch has _inductor,
# and by asking imports it: seconds with Python's lock, in which a program that hangs gives no dump, and one that works
# stands still. A program that has not imported it has no generated code, so that its answer would be empty.
class _NoInductorForDumps:
    def find_spec(self, name, path=None, target=None):
        if name != "torch._inductor":
            return None  # it is up to the other finders
        import sys

        frame = sys._getframe()
        while frame.f_back:
            frame = frame.f_back
        # In a thread that Python did not start, no frame of a program calls torch.__getattr__.
        if frame.f_code.co_name == "__getattr__" and frame.f_globals.get("__name__") == "torch":
            raise AttributeError("gpurun: torch._inductor is not imported for a dump")
        return None


def _speed_up_dumps():
    import os, sys

    if "TORCH_NCCL_DEBUG_INFO_PIPE_FILE" in os.environ:
        sys.meta_path.insert(0, _NoInductorForDumps())


def _make_way():
    import sys

    here = __file__.rpartition("/")[0]
    sys.path[:] = [folder for folder in sys.path if folder != here]
    sys.modules.pop("sitecustomize", None)


_ask_for_stacks()
_name_for_old_torch()
_speed_up_dumps()
_make_way()
# Without another one this fails as site expects it to: there is no sitecustomize.
import sitecustomize
