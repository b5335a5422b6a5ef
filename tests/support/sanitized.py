"""Whether this process runs under AddressSanitizer, of which a few tests have to know."""

import ctypes
import os

import pytest

UNDER_ASAN = hasattr(ctypes.CDLL(None), "__asan_init")


def not_under_asan(reason):
    """Mark a test that the sanitizer's own allocator makes impossible."""
    return pytest.mark.skipif(UNDER_ASAN, reason=f"AddressSanitizer: {reason}")


forks_beside_threads = not_under_asan("its allocator stays locked in a child if another thread was in it")

# Python ends a daemon thread wherever it next asks for the lock, so that what the call in it holds is lost.
leaves_a_call_unfinished = pytest.mark.skipif(
    "detect_leaks=1" in os.environ.get("ASAN_OPTIONS", ""), reason="ends with a daemon thread inside a call"
)
