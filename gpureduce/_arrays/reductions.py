"""The reductions as methods of arrays on devices."""


class Reductions:
    """Each public function whose first argument is the array, as a method; `gpureduce._methods` adds them."""

    __slots__ = ()
