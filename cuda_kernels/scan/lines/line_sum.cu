// Running sums of long lines.
#include "scan_line_entries.cuh"

GR_LINE_ENTRIES(sum, RunningSum)
