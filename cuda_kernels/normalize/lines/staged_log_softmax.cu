// log_softmax of rows whose elements bulk copies bring to shared memory.
#include "normalize/entries.cuh"

GR_STAGED_ENTRIES(log_softmax, LogSoftmax)
