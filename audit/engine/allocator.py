"""Memory that is freed is kept for the next tensor instead of being handed back to the system.

A step frees and asks for the same tensors again and again. glibc gives such memory back at once, and the system clears
every page of it before it is used again: a third of the processor time of networks of the papers' width, trained on
batches of 256 (docs/performance.md).
"""

import ctypes

# Parameters of mallopt(3).
TRIM_THRESHOLD, MMAP_MAX = -1, -4
KEPT_BYTES = 2**31 - 1  # at the end of the heap; mallopt takes no larger number


def keep_freed_memory() -> None:
    """For the rest of this process, where the C library is glibc; elsewhere nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(MMAP_MAX, 0)  # a tensor that has a mapping of its own gives it back when it is freed
