/* What a custom reduction is told beyond the parameters of a general kernel: read by C and CUDA alike. */
#ifndef GR_REDUCE_CUSTOM_PARAMS_H
#define GR_REDUCE_CUSTOM_PARAMS_H

#include "reduce/general/params.h"

enum { GR_MAX_INPUTS = 8, GR_MAX_OUTPUTS = 8 };

/* An input is an array or one value for all elements. */
typedef struct gr_custom_input {
    uint64_t address;  /* of an array's first element */
    gr_dims dims;      /* by position: from an element's number in C order to its offset */
    uint64_t value[2]; /* of a scalar: the bytes of one element */
} gr_custom_input;

/* Up to two arrays lie where `general` says, as `in` and `second`, in the order of the inputs. Of more, `in`
   counts positions in C order. */
typedef struct gr_custom_params {
    gr_general_params general; /* first, so that general kernels can be handed the whole */
    gr_custom_input inputs[GR_MAX_INPUTS];
    uint64_t even;                 /* by position: not 0 when each input is one dimension, of one stride */
    uint64_t outs[GR_MAX_OUTPUTS]; /* of several outputs: from `general.out` to each, in bytes */
} gr_custom_params;

#endif
