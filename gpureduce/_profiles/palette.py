"""Colours of all charts, for light backgrounds, dark ones, and both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours for a background; colour-blind readers can distinguish the series (after Okabe and Ito).

    `conflicts` are for bank conflicts of up to 2, 4, 8, 16 and 32 ways, with increasing contrast.
    """

    background: str
    text: str
    faint: str
    grid: str
    series: tuple[str, ...]
    idle: str
    conflicts: tuple[str, ...]

    @property
    def lanes(self) -> tuple[str, ...]:
        """Colours of thread activities: `KINDS` of `gpureduce._profiles.timeline`."""
        return (self.idle, self.series[0], *self.conflicts)

    @property
    def opaque(self) -> bool:
        """Whether charts have a background of their own."""
        return len(self.background) == len("#rrggbb")

    @property
    def gap(self) -> str:
        """The colour of lines between areas."""
        return self.background if self.opaque else self.text

    @property
    def libraries(self) -> dict[str, str]:
        """The colour of each library, the same in all pictures; NVIDIA's libraries share one."""
        ours, torch, nvidia, cupy = self.series
        colours = {"gpureduce": ours, "torch": torch, "cupy": cupy, "jax": self.text, "numpy": self.faint}
        return {**colours, **dict.fromkeys(("cub", "cublas", "cudnn"), nvidia)}


LIGHT = Palette(
    "#ffffff",
    "#1f2328",
    "#59636e",
    "#d1d9e0",
    ("#0072b2", "#d55e00", "#009e73", "#aa4499"),
    "#e5e7eb",
    ("#fbbf6b", "#f28e2b", "#d55e00", "#a03800", "#661a00"),
)
DARK = Palette(
    "#0d1117",
    "#f0f6fc",
    "#9198a1",
    "#3d444d",
    ("#56b4e9", "#e69f00", "#2dc79a", "#e08bc8"),
    "#21262d",
    ("#8a5a10", "#b97a12", "#e69f00", "#f7c95c", "#fff1c2"),
)
# For pages that may be light or dark, such as notebooks: no background; colours differ from white and black.
BOTH = Palette(
    "#80808000",
    "#717882",
    "#7a828c",
    "#8b949e55",
    ("#2a86c8", "#dd6b1a", "#159a75", "#b45fa6"),
    "#80808038",
    ("#e9b949", "#e58a2f", "#d9541e", "#b02a5b", "#7a2fa0"),
)


def palette_of(dark: bool | None) -> Palette:
    """Return the colours for a dark background, a light one (False), or both (None)."""
    return BOTH if dark is None else DARK if dark else LIGHT
