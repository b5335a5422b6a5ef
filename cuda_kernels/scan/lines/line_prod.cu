// Running products of long lines.
#include "scan_line_entries.cuh"

GR_LINE_ENTRIES(prod, RunningProd)
