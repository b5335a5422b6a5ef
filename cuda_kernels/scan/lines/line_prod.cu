// Running products of long lines.
#include "scan/line_entries.cuh"

GR_LINE_ENTRIES(prod, RunningProd)
