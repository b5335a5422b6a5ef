"""Calls that type checkers must refuse, each with the codes of mypy and of pyright; see check.py."""

import numpy as np

import gpureduce
import gpureduce.numpy_like as xp

a = np.ones((4, 4), np.float32)
d = gpureduce.to_device(a)
kernel = gpureduce.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")

# A name that is none.
gpureduce.sum(a, varient="v7")  # mypy: call-overload; pyright: reportCallIssue
gpureduce.matmul(a, a, precison="tf32")  # mypy: call-overload; pyright: reportCallIssue
gpureduce.cumulative_sum(a, 0)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.conv2d(a, a, 2)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.logsumexp(a, 1, True)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.conv2d(a, a, strides=2)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.reduce(a, "sum", varient="v7")  # mypy: call-arg; pyright: reportCallIssue
gpureduce.argmax(a, dtype=np.float32)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.count_nonzero(a, out=a)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.median(a, variant="v7")  # mypy: call-overload; pyright: reportCallIssue
gpureduce.quantile(a, 0.5, interpolation="linear")  # mypy: call-overload; pyright: reportCallIssue
gpureduce.topk(a, 3, dim=1)  # mypy: call-arg; pyright: reportCallIssue
gpureduce.var(a, dof=1)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.moments(a, nan="omit")  # mypy: call-arg; pyright: reportCallIssue
gpureduce.norm(a, p=2)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.segment_reduce(a, [0, 4], "sum", lengths=[4])  # mypy: call-overload; pyright: reportCallIssue
gpureduce.partial(a, "sum", were=a > 0)  # mypy: call-arg; pyright: reportCallIssue
gpureduce.bench(m=1024)  # mypy: call-arg; pyright: reportCallIssue
gpureduce.profile(1024, "v7", size=256)  # mypy: call-arg; pyright: reportCallIssue
xp.max(a, varient="v7")  # mypy: call-overload; pyright: reportCallIssue
xp.maximum.reduce(a, varient="v7")  # mypy: call-arg; pyright: reportCallIssue
kernel(a, dev="sim")  # mypy: call-arg; pyright: reportCallIssue
gpureduce.summ(a)  # mypy: attr-defined; pyright: reportAttributeAccessIssue
xp.logical_or.accumulate(a)  # mypy: attr-defined; pyright: reportAttributeAccessIssue
xp.histogram(a)  # mypy: attr-defined; pyright: reportAttributeAccessIssue

# A value of another type.
gpureduce.sum(a, axis="x")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.nanquantile(a, 0.5, axis="x")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.topk(a, 2.5)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.group_reduce(a, [0, 1], 2)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.nanmean(a, device=3)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.logsumexp(a, keepdims="yes")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, "v7")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, device=3)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, variant=7)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, block_size="256")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, keepdims="yes")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, out=3)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, initial="0")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, stream="default")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(a, progress=3.5)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.sum(lambda: a)  # mypy: call-overload; pyright: reportArgumentType
gpureduce.argmax(a, axis=(0, 1))  # mypy: call-overload; pyright: reportArgumentType
gpureduce.conv2d(a, a, stride="2")  # mypy: call-overload; pyright: reportArgumentType
gpureduce.reduce(a, 3)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.reduce(a, "sum", device=3)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.bench(n="many")  # mypy: arg-type; pyright: reportArgumentType
gpureduce.profile(1024, 7)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.simulate("", "twice", grid="1", block=1)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.to_device(a, 3)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.variants(3)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.kernels.ptx("v7", op=3)  # mypy: arg-type; pyright: reportArgumentType
gpureduce.variants()["v7"].titel  # mypy: attr-defined; pyright: reportAttributeAccessIssue
gpureduce.variants()[1.5]  # mypy: call-overload; pyright: reportArgumentType
gpureduce.kernels.ptx(7)  # mypy: arg-type; pyright: reportArgumentType
kernel(a, axis="x")  # mypy: arg-type; pyright: reportArgumentType

# Too few arguments.
gpureduce.sum()  # mypy: call-overload; pyright: reportCallIssue
gpureduce.percentile(a)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.topk(a)  # mypy: call-arg; pyright: reportCallIssue
gpureduce.segment_reduce(a)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.dot(a)  # mypy: call-overload; pyright: reportCallIssue
gpureduce.profile(1024)  # mypy: call-arg; pyright: reportCallIssue
gpureduce.ReductionKernel("T x", "T y")  # mypy: call-arg; pyright: reportCallIssue

# Results that are something else.
text: str = gpureduce.sum(d, axis=0)  # mypy: assignment; pyright: reportAssignmentType
gpureduce.sum(a, as_device=True).cpu()  # mypy: attr-defined; pyright: reportAttributeAccessIssue
gpureduce.any(d).numpy()  # mypy: attr-defined; pyright: reportAttributeAccessIssue
gpureduce.topk(a, 3).places  # mypy: attr-defined; pyright: reportAttributeAccessIssue
gpureduce.moments(a).skew  # mypy: attr-defined; pyright: reportAttributeAccessIssue
gpureduce.profile(1024, "v7").total  # mypy: attr-defined; pyright: reportAttributeAccessIssue
d.shape = (16,)  # mypy: misc; pyright: reportAttributeAccessIssue
d[0].shape = (4,)  # mypy: misc; pyright: reportAttributeAccessIssue
d.reshape(2, 2).sum(axes=0)  # mypy: call-overload; pyright: reportCallIssue
d.numpy(True)  # mypy: call-arg; pyright: reportCallIssue
