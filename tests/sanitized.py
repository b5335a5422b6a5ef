"""Whether this process runs under AddressSanitizer, of which a few tests have to know."""

import ctypes

import pytest

UNDER_ASAN = hasattr(ctypes.CDLL(None), "__asan_init")


def not_under_asan(reason):
    """Mark a test that the sanitizer's own allocator makes impossible."""
    return pytest.mark.skipif(UNDER_ASAN, reason=f"AddressSanitizer: {reason}")
