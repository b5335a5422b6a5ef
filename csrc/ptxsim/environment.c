#include "environment.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

void ptx_environment_enter(ptx_environment *environment) {
    fegetenv(&environment->caller);
    fesetenv(FE_DFL_ENV);
#if defined(__SSE__)
    _mm_setcsr(0x1f80); /* a C library need not take flush-to-zero for part of the environment */
#endif
}

void ptx_environment_leave(const ptx_environment *environment) {
    fesetenv(&environment->caller);
}
