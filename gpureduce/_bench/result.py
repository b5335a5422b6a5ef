"""The result of `gpureduce.bench`: rows, and their tables, files and charts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpureduce._bench import files
from gpureduce._device.variants import variants
from gpureduce._rules.files import read_text, write_text

if TYPE_CHECKING:
    import os

_SPREADS = ("first_pass_us", "all_passes_us", "end_to_end_us")

# Heads of the columns of a table, in order.
CUDA_COLUMNS = {
    "variant": "variant",
    "op": "op",
    "dtype": "dtype",
    "n": "n",
    "first_pass_us": "first pass (us)",
    "all_passes_us": "all passes (us)",
    "end_to_end_us": "end to end (us)",
    "gb_per_s": "GB/s",
    "percent_of_peak": "% of peak",
    "percent_of_read": "% of read",
    "over_first": "over v0",
    "after": "after",
    "over_previous": "over that",
    "result": "result",
    "relative_error": "rel. error",
}
SIM_COLUMNS = {
    "variant": "variant",
    "op": "op",
    "dtype": "dtype",
    "n": "n",
    "launches": "launches",
    "warp_instructions": "PTX warp instr.",
    "lanes": "lanes",
    "shared_wavefronts": "shared wavefronts",
    "bank_conflicts": "bank conflicts",
    "global_requests": "global requests",
    "global_sectors": "global sectors",
    "global_bytes": "global bytes",
    "barriers": "barriers",
    "atomics": "atomics",
    "result": "result",
    "relative_error": "rel. error",
}
CUDA_PRODUCT_COLUMNS = {
    "variant": "variant",
    "dtype": "dtype",
    "precision": "precision",
    "size": "M x N x K",
    "us": "time (us)",
    "tflop_per_s": "TFLOP/s",
    "of_cublas": "time over cuBLAS's",
    "over_first": "over m0",
    "after": "after",
    "over_previous": "over that",
    "error": "error",
}
SIM_PRODUCT_COLUMNS = {
    "variant": "variant",
    "dtype": "dtype",
    "size": "M x N x K",
    "launches": "launches",
    "warp_instructions": "PTX warp instr.",
    "multiply_adds_an_instruction": "multiply-adds per instr.",
    "bytes_a_flop": "bytes per FLOP",
    "shared_wavefronts": "shared wavefronts",
    "bank_conflicts": "bank conflicts",
    "global_requests": "global requests",
    "global_sectors": "global sectors",
    "barriers": "barriers",
    "error": "error",
}
_FORMATS = {
    "tflop_per_s": "{:,.2f}",
    "of_cublas": "{:.2f}",
    "multiply_adds_an_instruction": "{:.2f}",
    "bytes_a_flop": "{:.3g}",
    "error": "{:.1e}",
    "gb_per_s": "{:,.0f}",
    "percent_of_peak": "{:.1f}",
    "percent_of_read": "{:.1f}",
    "over_first": "{:.2f}x",
    "over_previous": "{:.2f}x",
    "relative_error": "{:.1e}",
    "lanes": "{:.1f}",
    "result": "{:.9g}",
}
_MICROSECONDS = "{:,.2f}"


@dataclass(frozen=True)
class BenchResult:
    """Result of `gpureduce.bench`.

    Attributes
    ----------
    head : dict
        Conditions of the measurement: ``device``, ``kind`` (``"cuda"`` or ``"sim"``), ``driver_cuda``,
        ``toolkit``, ``date``, ``method``; on a CUDA device also ``peak_gb_per_s``, the memory bandwidth from
        clock and bus width, and ``read_gb_per_s``, the bandwidth at which the default sum reads 1 GiB.
    rows : tuple of dict
        One row per measurement. Times are medians with their range; `records` adds derived values. Rows of
        matrix products have the sizes ``m``, ``n`` and ``k``.

    Examples
    --------
    >>> import gpureduce
    >>> result = gpureduce.bench(n=4096, variants=["v0", "v7"], device="sim", progress=False)
    >>> result.simulated
    True
    >>> [(row["variant"], row["launches"]) for row in result.records()]
    [('v0', 2), ('v7', 2)]
    >>> gpureduce.BenchResult.from_json(result.to_json()) == result
    True
    """

    head: dict[str, Any]
    rows: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def simulated(self) -> bool:
        """Whether the rows hold counts from the simulator instead of times."""
        return self.head.get("kind") == "sim"

    @property
    def products(self) -> bool:
        """Whether matrix products were measured instead of reductions."""
        return bool(self.rows) and self.rows[0]["op"] == "matmul"

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the table: keys of `records`, and their headings."""
        if self.products:
            return SIM_PRODUCT_COLUMNS if self.simulated else CUDA_PRODUCT_COLUMNS
        return SIM_COLUMNS if self.simulated else CUDA_COLUMNS

    def records(self) -> list[dict[str, Any]]:
        """Return the rows with bandwidth and speed-ups (for products, with sizes).

        Returns
        -------
        list of dict
            Dicts of numbers and text. ``*_us`` is the median of a time in microseconds, ``*_us_min`` and
            ``*_us_max`` are its range. ``over_first`` is the speed-up over the first rung of the ladder,
            ``over_previous`` the speed-up over the rung named ``after`` (`Variant.after`).
        """
        if self.products:
            return list(self._multiplied())
        return [dict(record) for record in (self._counted() if self.simulated else self._timed())]

    def _counted(self) -> Iterable[dict[str, Any]]:
        return self.rows

    def _multiplied(self) -> Iterable[dict[str, Any]]:
        times: dict[tuple, dict[str, float]] = {}
        for row in self.rows:
            if not self.simulated:
                times.setdefault(_what(row), {})[row["variant"]] = row["us"]["median"]
        for row in self.rows:
            flat = {key: value for key, value in row.items() if key != "us"}
            for name, value in row.get("us", {}).items():
                flat["us" if name == "median" else f"us_{name}"] = value
            group = times.get(_what(row), {})
            flat.update(
                size=f"{row['m']:,} x {row['n']:,} x {row['k']:,}", **_speed_ups(row, "matmul", group)
            )
            yield flat

    def _timed(self) -> Iterable[dict[str, Any]]:
        from numpy import dtype

        times: dict[tuple, dict[str, float]] = {}
        for row in self.rows:
            times.setdefault(_what(row), {})[row["variant"]] = row["all_passes_us"]["median"]
        for row in self.rows:
            flat = {key: value for key, value in row.items() if key not in _SPREADS}
            for key in _SPREADS:
                for name, value in row.get(key, {}).items():
                    flat[key if name == "median" else f"{key}_{name}"] = value
            speed = row["n"] * dtype(row["dtype"]).itemsize / flat["all_passes_us"] / 1e3
            flat.update(
                gb_per_s=speed,
                percent_of_peak=_percent(speed, self.head.get("peak_gb_per_s")),
                percent_of_read=_percent(speed, self.head.get("read_gb_per_s")),
                **_speed_ups(row, "reduction", times[_what(row)]),
            )
            yield flat

    def title(self) -> str:
        """Return device, versions and date of the measurement in one line.

        Returns
        -------
        str
        """
        head = self.head
        if self.simulated:
            return f"Modelled on the simulator, no times of a GPU: {head['method']}."
        return (
            f"{head['device']}, CUDA {head['toolkit']}, driver for CUDA {head['driver_cuda']}, {head['date']}"
        )

    def table(self) -> str:
        """Return a Markdown table with aligned columns, without columns that have the same value in all rows.

        Returns
        -------
        str
        """
        heads, cells, numeric = self._cells()
        widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]

        def line(row: list[str]) -> str:
            parts = zip(row, widths, numeric, strict=True)
            return (
                "| "
                + " | ".join(
                    cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts
                )
                + " |"
            )

        rule = [
            "-" * (width - 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True)
        ]
        return "\n".join([line(heads), line(rule), *(line(row) for row in cells)])

    def _cells(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Return heads, rows of text, and which columns hold numbers."""
        records = self.records()
        filled = [key for key in self.columns if any(record.get(key) is not None for record in records)]
        same = {key for key in self._kinds() if len({record[key] for record in records}) == 1}
        if len({record.get("precision") for record in records}) == 1:
            same.add("precision")
        keys = [key for key in filled if key not in same]
        cells = [[_text(key, record.get(key)) for key in keys] for record in records]
        numeric = [not isinstance(records[0].get(key), str) for key in keys]
        return [self.columns[key] for key in keys], cells, numeric

    def _kinds(self) -> tuple[str, str, str]:
        return "op", "dtype", "size" if self.products else "n"

    def _what_is_the_same(self) -> str:
        records = self.records()
        ops, dtypes, sizes = ({row[key] for row in records} for key in self._kinds())
        parts = [next(iter(ops)) if len(ops) == 1 else "reductions", "of"]
        size = next(iter(sizes), None) if len(sizes) == 1 else None
        parts += [] if size is None else [size if isinstance(size, str) else f"{size:,}"]
        return " ".join([*parts, next(iter(dtypes)) if len(dtypes) == 1 else "elements"])

    def __str__(self) -> str:
        return f"{self.title()}\n{self._what_is_the_same()}\n\n{self.table()}"

    def _repr_markdown_(self) -> str:
        return f"{self.title()}  \n{self._what_is_the_same()}\n\n{self.table()}"

    def to_pandas(self) -> Any:
        """Return `records` as a pandas.DataFrame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ImportError(
                "BenchResult.to_pandas needs pandas: pip install 'gpureduce[notebook]'"
            ) from error
        frame = pandas.DataFrame(self.records())
        frame.attrs.update(self.head)
        return frame

    def to_csv(self) -> str:
        """Return `records` as CSV with a header line.

        Returns
        -------
        str
        """
        records = self.records()
        text = io.StringIO()
        writer = csv.DictWriter(text, list(dict.fromkeys(key for record in records for key in record)))
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_json(self, path: str | os.PathLike | None = None) -> str:
        """Return the result as JSON, one row per line, and optionally write it to a file.

        Parameters
        ----------
        path : path_like, optional
            File to write.

        Returns
        -------
        str
        """
        text = files.as_json({**self.head, "rows": list(self.rows)})
        if path is not None:
            write_text(path, text)
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike) -> BenchResult:
        """Read a result that `to_json` wrote.

        Parameters
        ----------
        source : str or path_like
            JSON text, or the path of a JSON file.

        Returns
        -------
        BenchResult

        Raises
        ------
        ValueError
            If the source is not such a result, or has another schema version.
        """
        is_text = False
        if isinstance(source, str) and source.lstrip().startswith("{"):
            text, is_text = source, True
        else:
            text = read_text(source)
        name = f"source: {'the text' if is_text else source}"
        record = files.parse_result(text, name)
        try:
            rows = tuple({"op": "matmul" if "k" in row else "sum", **row} for row in record.pop("rows"))
            result = cls(record, rows)
            result.records()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{name} is not a result of gpureduce.bench ({error!r})") from None
        return result

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        dark: bool = False,
        variants: str | Iterable[str] | None = None,
    ) -> Any:
        """Draw a chart with matplotlib.

        Parameters
        ----------
        kind : str, optional
            ``"speedup"``: bars of the speed-up over v0, in groups, the ladder first, with the gain over the
            previous rung marked. ``"bandwidth"``: lines of GB/s over n, with the peak and read bandwidth of
            the device. ``"counts"``, the only kind for results of the simulator: bars of PTX warp
            instructions per element. For matrix products ``"speed"``: bars of TFLOP/s, or ``"counts"``: bars
            of multiply-adds per instruction. Default: ``"bandwidth"`` if there are several n, else the first
            kind that the result allows.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. Default: a new figure.
        dark : bool
            Whether to use colours for a dark background.
        variants : str or iterable of str, optional
            Names of the variants to draw, or ``"all"``. Default: all bars; of more than 8 lines the first and
            the last rung, the rungs with the largest gains, the default kernel, and your own kernels.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax.figure.savefig("chart.svg")`` saves it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the results do not allow `kind`, or do not have a variant.
        """
        from gpureduce._bench import matmul_plotting, plotting

        return (matmul_plotting if self.products else plotting).plot_result(self, kind, ax, dark, variants)


def _what(row: dict[str, Any]) -> tuple:
    return row.get("op", "sum"), row["dtype"], row.get("precision"), row.get("m"), row["n"], row.get("k")


def _speed_ups(row: dict[str, Any], ladder: str, times: dict[str, float]) -> dict[str, float | str | None]:
    """Return the speed-ups of a variant over the first rung, and of a rung over the one it comes after."""
    after = {record.name: record.after for record in variants(ladder) if record.role == "rung"}
    time, before = times.get(row["variant"]), after.get(row["variant"])
    first, previous = times.get(next(iter(after))), times.get(before) if before else None
    return {
        "over_first": first / time if first and time else None,
        "after": before,
        "over_previous": previous / time if previous and time else None,
    }


def _percent(value: float, whole: float | None) -> float | None:
    return 100 * value / whole if whole else None


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key.endswith("_us"):
        return _MICROSECONDS.format(value)
    if isinstance(value, (str, bool)):
        return str(value)
    return _FORMATS.get(key, "{:,}").format(value)
