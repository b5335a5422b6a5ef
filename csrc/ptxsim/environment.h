/* The floating-point environment in which the simulator computes, independent of the caller's: round to
   nearest even, subnormals are kept, no traps. */
#ifndef PTXSIM_ENVIRONMENT_H
#define PTXSIM_ENVIRONMENT_H

#include <fenv.h>

typedef struct ptx_environment {
    fenv_t caller;
} ptx_environment;

/* Applies to the current thread until ptx_environment_leave. */
void ptx_environment_enter(ptx_environment *environment);
/* Restores the caller's environment, including its exception flags. */
void ptx_environment_leave(const ptx_environment *environment);

#endif
