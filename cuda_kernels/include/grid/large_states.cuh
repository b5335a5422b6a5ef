// Included before all others, makes room for States of up to 48 bytes, which the operators of more_ops.def
// may have: gr_op_state_bytes in reduce/ops.h says the same to the planners.
#pragma once

#include "reduce/flat/params.h"
#include "reduce/general/params.h"

#define GR_STATE_BYTES 48
#define GR_FLAT_SLOT_BYTES 96
