"""PyTorch, CuPy and JAX on a GPU: what the tests ask of each, under the same names."""

import contextlib

import numpy as np
import pytest


def numbers(shape, dtype):
    """Small whole numbers, both signs where there are, so that sums are exact."""
    n = int(np.prod(shape))
    values = (np.arange(1, n + 1) * 37 % 11 - 4).reshape(shape)
    return (values % 3 == 0) if dtype == "bool" else values.astype(dtype)


class Torch:
    """What the tests ask of PyTorch."""

    def __init__(self, index):
        self.torch = pytest.importorskip("torch")
        self.device = f"cuda:{index}"
        self.torch.cuda.set_device(index)

    def array(self, host):
        return self.torch.from_numpy(np.ascontiguousarray(host)).to(self.device)

    def pointer(self, array):
        return array.data_ptr()

    def host(self, array):
        return array.cpu().numpy()

    def used_bytes(self):
        return self.torch.cuda.memory_allocated()

    def from_dlpack(self, array):
        return self.torch.from_dlpack(array)

    @contextlib.contextmanager
    def busy_stream(self):
        """A stream of its own that has work for a while, in which the body's work then waits."""
        with self.torch.cuda.stream(self.torch.cuda.Stream()):
            self.torch.cuda._sleep(100_000_000)
            yield

    def delay_default_stream(self):
        with self.torch.cuda.stream(self.torch.cuda.default_stream()):
            self.torch.cuda._sleep(400_000_000)


class CuPy:
    """What the tests ask of CuPy."""

    def __init__(self, index):
        self.cupy = pytest.importorskip("cupy")
        self.cupy.cuda.Device(index).use()
        self.spin = self.cupy.RawKernel(
            """extern "C" __global__ void spin(long long cycles) {
                   const long long start = clock64();
                   while (clock64() - start < cycles) {}
               }""",
            "spin",
        )
        self.spin.compile()

    def array(self, host):
        return self.cupy.asarray(host)

    def pointer(self, array):
        return array.data.ptr

    def host(self, array):
        return array.get()

    def used_bytes(self):
        return self.cupy.get_default_memory_pool().used_bytes()

    def from_dlpack(self, array):
        return self.cupy.from_dlpack(array)

    @contextlib.contextmanager
    def busy_stream(self):
        with self.cupy.cuda.Stream(non_blocking=True):
            self.spin((1,), (1,), (100_000_000,))
            yield

    def delay_default_stream(self):
        with self.cupy.cuda.Stream.null:
            self.spin((1,), (1,), (400_000_000,))


class JAX:
    """What the tests ask of JAX."""

    def __init__(self, index):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        try:
            self.device = self.jax.devices("gpu")[index]
        except RuntimeError as error:
            pytest.skip(f"JAX has no GPU: {error}")

    def array(self, host):
        return self.jax.device_put(host, self.device)

    def pointer(self, array):
        return array.unsafe_buffer_pointer()

    def host(self, array):
        return np.asarray(array)

    def used_bytes(self):
        return self.device.memory_stats()["bytes_in_use"]

    def from_dlpack(self, array):
        return self.jax.dlpack.from_dlpack(array)
