/* Sets and restores the floating-point environment of a host thread. */
#include "environment.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

void ptx_environment_enter(ptx_environment *environment) {
    fegetenv(&environment->caller);
    fesetenv(FE_DFL_ENV);
#if defined(__SSE__)
    _mm_setcsr(0x1f80); /* fesetenv(FE_DFL_ENV) need not reset flush-to-zero, which some C libraries do not
                           treat as part of the environment */
#endif
}

void ptx_environment_leave(const ptx_environment *environment) {
    fesetenv(&environment->caller);
}
