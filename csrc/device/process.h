/* The number of this process, cached and updated after fork(): getpid() is a system call, and small calls
 * need the number several times. */
#ifndef GR_DEVICE_PROCESS_H
#define GR_DEVICE_PROCESS_H

int gr_process(void);

#endif
