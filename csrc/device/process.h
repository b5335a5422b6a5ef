/* The number of this process, without the system call: small calls ask for it several times. */
#ifndef GR_DEVICE_PROCESS_H
#define GR_DEVICE_PROCESS_H

int gr_process(void);

#endif
