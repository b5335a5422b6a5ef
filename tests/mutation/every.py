"""All mutants, from the lists of what they are of."""

from addresses import MUTANTS as ADDRESSES
from axes import MUTANTS as AXES
from convolutions import MUTANTS as CONVOLUTIONS
from copies import MUTANTS as COPIES
from exact import MUTANTS as EXACT
from floats import MUTANTS as FLOATS
from group_elements import MUTANTS as GROUP_ELEMENTS
from group_extremes import MUTANTS as GROUP_EXTREMES
from group_partitions import MUTANTS as GROUP_PARTITIONS
from group_rows import MUTANTS as GROUP_ROWS
from group_short import MUTANTS as GROUP_SHORT
from group_sums import MUTANTS as GROUP_SUMS
from groups import MUTANTS as GROUPS
from lists import MUTANTS as LISTS
from moments import MUTANTS as MOMENTS
from mutants import MUTANTS as REDUCTIONS
from normalized import MUTANTS as NORMALIZED
from order import MUTANTS as ORDER
from products import MUTANTS as PRODUCTS
from ptx_text import MUTANTS as PTX_TEXT
from scans import MUTANTS as SCANS
from segment_sums import MUTANTS as SEGMENT_SUMS
from states import MUTANTS as STATES

MUTANTS = (
    *REDUCTIONS,
    *ADDRESSES,
    *AXES,
    *PRODUCTS,
    *CONVOLUTIONS,
    *COPIES,
    *EXACT,
    *FLOATS,
    *GROUPS,
    *GROUP_ELEMENTS,
    *GROUP_EXTREMES,
    *GROUP_PARTITIONS,
    *GROUP_ROWS,
    *GROUP_SHORT,
    *GROUP_SUMS,
    *LISTS,
    *MOMENTS,
    *SCANS,
    *SEGMENT_SUMS,
    *NORMALIZED,
    *ORDER,
    *PTX_TEXT,
    *STATES,
)
