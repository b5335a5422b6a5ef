// Included before all other headers, this allows States of up to 48 bytes, which operators of more_ops.def
// have. gr_op_state_bytes in reduce/ops.h tells the planners the same.
#pragma once

#include "reduce/flat/params.h"
#include "reduce/general/params.h"

#define GR_STATE_BYTES 48
#define GR_FLAT_SLOT_BYTES 96
