/* Parameters of a custom reduction, in addition to those of a general kernel. Read by C and CUDA. */
#ifndef GR_REDUCE_CUSTOM_PARAMS_H
#define GR_REDUCE_CUSTOM_PARAMS_H

#include "reduce/general/params.h"

enum { GR_MAX_INPUTS = 8, GR_MAX_OUTPUTS = 8 };

/* An input: an array, or one value for all elements. */
typedef struct gr_custom_input {
    uint64_t address;  /* address of an array's first element */
    gr_dims dims;      /* maps the position of an element in C order to its byte offset */
    uint64_t value[2]; /* bytes of a scalar */
} gr_custom_input;

/* Up to two arrays are `in` and `second` of `general`, in the order of the inputs. With more arrays, `in` is
   a position in C order. */
typedef struct gr_custom_params {
    gr_general_params general; /* first, so that general kernels can be passed the whole */
    gr_custom_input inputs[GR_MAX_INPUTS];
    uint64_t even; /* not 0 if each input is one dimension of one stride, indexed by position */
    uint64_t outs[GR_MAX_OUTPUTS]; /* bytes from `general.out` to each of several outputs */
} gr_custom_params;

#endif
