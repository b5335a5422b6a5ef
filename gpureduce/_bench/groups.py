"""Selection of variants for charts: groups, gains, and the most representative ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpureduce._device.variants import variants

# By the role of a variant, in the order of charts; "" is for the default and the user's kernels.
GROUPS = {
    "rung": "the ladder",
    "side": "alternatives",
    "study": "studies, wrong on purpose",
    "": "the default and others",
}
_FEW = 8  # distinguishable lines
_STEPS = 3  # number of the largest gains that a chart of a few variants shows


def group_by_role(names: Iterable[str], ladder: str) -> dict[str, list[str]]:
    """Return the variants of each role, rungs in the order of their ladder."""
    roles = {record.name: record.role for record in variants(ladder)}
    distinct = list(dict.fromkeys(names))
    by_role = {role: [name for name in distinct if roles.get(name, "") == role] for role in GROUPS}
    order = list(roles)
    by_role["rung"].sort(key=order.index)
    return {role: members for role, members in by_role.items() if members}


def before(name: str, ladder: str, present: Iterable[str]) -> str | None:
    """Return the variant that another one comes after, or the nearest earlier one that is present."""
    after = {record.name: record.after for record in variants(ladder)}
    names = set(present)
    earlier = after.get(name)
    while earlier and earlier not in names:
        earlier = after.get(earlier)
    return earlier or None


def representative(speeds: Mapping[str, float], ladder: str) -> list[str]:
    """Return the most representative names: first and last rung, the largest gains, and non-variants."""
    groups = group_by_role(speeds, ladder)
    if len(speeds) <= _FEW:
        return [name for members in groups.values() for name in members]
    rungs = groups.get("rung", [])
    after = {name: before(name, ladder, speeds) for name in rungs}
    gains = {name: speeds[name] / speeds[than] for name, than in after.items() if than}
    largest = sorted(gains, key=lambda name: -gains[name])[:_STEPS]
    chosen = {*rungs[:1], *rungs[-1:], *largest, *groups.get("", [])}
    return [name for members in groups.values() for name in members if name in chosen]


def select(names: Iterable[str], asked: str | Iterable[str] | None) -> list[str]:
    """Return the requested names: all, or some by name.

    Raises
    ------
    ValueError
        If a name is not present.
    """
    present = list(dict.fromkeys(names))
    if asked is None or asked == "all":
        return present
    selected = [asked] if isinstance(asked, str) else list(asked)
    for name in selected:
        if name not in present:
            raise ValueError(f"variants: the results have no {name!r}; they have {', '.join(present)}")
    return [name for name in present if name in selected]


def spread_labels(places: list[float], least: float, highest: float) -> list[float]:
    """Return label positions, moved apart to a minimum distance, in order, and none above the limit."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for _ in range(200):
        for i in range(1, len(moved)):
            lack = max(0.0, least - (moved[i] - moved[i - 1])) / 2
            moved[i - 1], moved[i] = moved[i - 1] - lack, moved[i] + lack
        moved = [min(place, highest) for place in moved]
    return [moved[order.index(i)] for i in range(len(places))]
