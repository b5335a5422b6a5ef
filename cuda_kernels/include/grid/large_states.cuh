// Included before all other headers, this allows States of up to 48 bytes, which operators have whose
// `state` in ops.def is larger than GR_STATE_BYTES.
#pragma once

#include "reduce/flat/params.h"
#include "reduce/general/params.h"

#define GR_STATE_BYTES GR_LARGE_STATE_BYTES
#define GR_FLAT_SLOT_BYTES GR_FLAT_LARGE_SLOT_BYTES
