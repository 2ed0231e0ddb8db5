"""Memory that is freed is kept for the next tensor instead of being handed back to the system.

A step frees and asks for the same tensors of a few MiB again and again. glibc gives such memory back at once, and the
system clears every page of it before it is used again, which was a fifth of the processor time of `make audit`.
"""

import ctypes

# Parameters of mallopt(3).
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 256 << 20
LARGEST_KEPT = 32 << 20  # bytes of one tensor; glibc takes no larger number


def keep_freed_memory() -> None:
    """For the rest of this process, where the C library is glibc; elsewhere nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(MMAP_THRESHOLD, LARGEST_KEPT)
