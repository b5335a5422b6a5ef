/* The floating-point environment that the simulator computes in, whatever its caller's: round to nearest,
   keep subnormals, no traps. */
#ifndef PTXSIM_ENVIRONMENT_H
#define PTXSIM_ENVIRONMENT_H

#include <fenv.h>

typedef struct ptx_environment {
    fenv_t caller;
} ptx_environment;

/* Of this thread, until it leaves. */
void ptx_environment_enter(ptx_environment *environment);
/* Gives the caller's back, its exception flags too. */
void ptx_environment_leave(const ptx_environment *environment);

#endif
