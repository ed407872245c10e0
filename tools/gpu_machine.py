# SPDX-License-Identifier: LGPL-2.1-or-later
"""What gpu-check finds out about a machine with an NVIDIA GPU, and how it runs programs there."""
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys

# Libraries of the CUDA toolkit that a bundle leaves to the machine.
TOOLKIT = ["libcublas", "libcufft", "libcusparse", "libcusolver", "libnvJitLink"]
SMI_FIELDS = ["name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem",
              "temperature.gpu", "power.limit", "pcie.link.gen.max", "pcie.link.width.max", "compute_mode"]


def stop(sentence):
    sys.exit(f"gpu-check: {sentence}")


def run(command, environment, limit_s):
    """Standard output and the last line of what it said beside, or None and the problem. Ends the whole process group
    when the time is up."""
    try:
        child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, text=True, errors="replace", env=environment,
                                 start_new_session=True)
    except OSError as error:
        return None, f"{command[0]} does not start: {error.strerror}"
    try:
        out, err = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None, f"no result after {limit_s:.0f} s"
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what is left: children of a program that ended, or all
        except OSError:
            pass
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            pass  # it hangs in the driver
    if child.returncode != 0:
        said = (err.strip() or out.strip()).splitlines()
        status = f"signal {-child.returncode}" if child.returncode < 0 else f"exit status {child.returncode}"
        return None, said[-1] if said else status
    return out, (err.strip().splitlines() or [""])[-1]


def nvidia_smi(*arguments):
    out, _ = run(["nvidia-smi", *arguments], dict(os.environ, LC_ALL="C"), 30)
    return (out or "").strip()


# What the driver's library itself tells, where nvidia-smi is missing, as in many containers. In a process of its own,
# because it may crash or hang.
ASK_LIBCUDA = """
import ctypes, json
cuda, number = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
cuda.cuDriverGetVersion(ctypes.byref(number))
version, names = f"{number.value // 1000}.{number.value % 1000 // 10}", []
status, name = cuda.cuInit(0), ctypes.create_string_buffer(256)
if status == 0 and cuda.cuDeviceGetCount(ctypes.byref(number)) == 0:
    for device in range(number.value):
        cuda.cuDeviceGetName(name, 256, device)
        names.append(name.value.decode(errors="replace"))
print(json.dumps({"version": version, "names": names}))
"""


def libcuda():
    out, _ = run([sys.executable, "-c", ASK_LIBCUDA], dict(os.environ), 60)
    return json.loads(out) if out else {"version": "", "names": []}


def devices():
    """What is known of each GPU. An old nvidia-smi may not know all fields."""
    for fields in (SMI_FIELDS, SMI_FIELDS[:2]):
        lines = nvidia_smi(f"--query-gpu={','.join(fields)}", "--format=csv,noheader").splitlines()
        found = [dict(zip(fields, (value.strip() for value in line.split(",")))) for line in lines if "," in line]
        if found:
            return found
    driver = libcuda()
    return [{"name": name, "driver_version": f"of CUDA {driver['version']}"} for name in driver["names"]]


def driver_knows_cuda():
    found = re.search(r"CUDA Version: *([0-9.]+)", nvidia_smi())
    return found.group(1) if found else libcuda()["version"]


def cuda_of(program, environment):
    """The version of the CUDA runtime that the program was linked with, by its library's name."""
    out, _ = run(["ldd", program], environment, 30)
    found = re.search(r"libcudart\.so\.([0-9.]+)", out or "")
    return found.group(1) if found else ""


def cpu_name():
    try:
        return re.search("model name.*: (.*)", pathlib.Path("/proc/cpuinfo").read_text()).group(1)
    except (OSError, AttributeError):
        return platform.machine()


def toolkit_folders():
    """Where CUDA toolkits and Python's CUDA packages keep their libraries, the likeliest first."""
    named = [pathlib.Path(os.environ[v]) for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    roots = named + sorted(pathlib.Path("/usr/local").glob("cuda*"), reverse=True)
    folders = [root / "lib64" for root in roots]
    for base in sys.path:
        folders += sorted(pathlib.Path(base).glob("nvidia/*/lib"))
    return [str(folder) for folder in folders if folder.is_dir()]


def sanitizer():
    for folder in toolkit_folders():
        program = pathlib.Path(folder).parent / "bin/compute-sanitizer"
        if program.is_file():
            return program
    if found := shutil.which("compute-sanitizer"):
        return found
    print("gpu-check: no compute-sanitizer here; set CUDA_HOME to a CUDA toolkit", file=sys.stderr)
    sys.exit(77)


def require_libraries(programs, environment):
    for program in programs:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, env=environment, check=False)
        lines = done.stdout.splitlines() + done.stderr.splitlines()
        if missing := sorted({line.strip() for line in lines if "not found" in line}):
            toolkit = any(name in line for line in missing for name in TOOLKIT)
            stop(f"{program.name} misses {'; '.join(missing)}" +
                 ("; set CUDA_HOME to a CUDA toolkit of that version" if toolkit else ""))
