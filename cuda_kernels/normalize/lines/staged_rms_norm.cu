// rms_norm of rows whose elements bulk copies bring to shared memory.
#include "normalize/entries.cuh"

GR_STAGED_ENTRIES(rms_norm, RmsNorm)
