# SPDX-License-Identifier: LGPL-2.1-or-later
"""FFTW's transforms, timed on one core of this machine."""
import ctypes
import statistics
import time

from simulated_machines import Failed

FLAGS = {"measure": 0, "unaligned": 1 << 1, "estimate": 1 << 6}  # fftw3.h
FORWARD, COMPLEX_BYTES, LEAST_REPETITIONS = -1, 16, 3


def transform_times(flags, columns, sizes, seconds_each=0.1):
    """rows -> mean seconds of a transform in place of so many rows of so many complex numbers."""
    try:
        fftw = ctypes.CDLL("libfftw3.so.3")
    except OSError as error:
        raise Failed(f"FFTW: {error}; tools/setup installs it") from None
    fftw.fftw_malloc.restype = fftw.fftw_plan_dft_2d.restype = ctypes.c_void_p
    found = {}
    for rows in sizes:
        data = ctypes.c_void_p(fftw.fftw_malloc(ctypes.c_size_t(rows * columns * COMPLEX_BYTES)))
        plan = ctypes.c_void_p(fftw.fftw_plan_dft_2d(rows, columns, data, data, FORWARD, flags))
        # Zeros stay zeros however often they are transformed; other numbers would overflow.
        ctypes.memset(data, 0, rows * columns * COMPLEX_BYTES)
        fftw.fftw_execute(plan)  # warms up
        seconds = []
        while len(seconds) < LEAST_REPETITIONS or sum(seconds) < seconds_each:
            begin = time.perf_counter()
            fftw.fftw_execute(plan)
            seconds.append(time.perf_counter() - begin)
        found[rows] = statistics.mean(seconds)
        fftw.fftw_destroy_plan(plan)
        fftw.fftw_free(data)
    return found
