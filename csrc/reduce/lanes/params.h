/* How the elements of a result that are not contiguous are shared by threads: a power of two in the flags of
   gr_general_params. Read by C and CUDA. */
#ifndef GR_REDUCE_LANES_PARAMS_H
#define GR_REDUCE_LANES_PARAMS_H

enum {
    GR_LANES_SHIFT = 20, /* lanes of a thread */
    GR_LANES_MASK = 15,
};

#define GR_LANES(flags) (1u << ((flags) >> GR_LANES_SHIFT & GR_LANES_MASK))

#endif
