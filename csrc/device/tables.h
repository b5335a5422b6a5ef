/* Small tables in device memory, which kernels read in addition to the elements: descriptions of lists of
   arrays, offsets of segments. The most recent tables are cached: a call with the same table as an earlier
   one copies nothing. */
#ifndef GR_DEVICE_TABLES_H
#define GR_DEVICE_TABLES_H

#include "device/device.h"

typedef struct gr_table gr_table;
typedef struct gr_tables gr_tables;

/* Returns an empty set of tables, or NULL without host memory. */
gr_tables *gr_tables_open(void);
/* Frees all tables, while the registry of devices is open. NULL is allowed. */
void gr_tables_close(gr_tables *tables);

/* Finds the table with this content on a device, or makes it; the device is attached. Waits for the copy of a
   new table, not for other work. `captured`: a graph will read the table, which is then kept until
   gr_tables_close. The caller releases the table when its work is enqueued. */
gr_status gr_table_acquire(gr_tables *tables, gr_device *device, const void *content, size_t bytes,
                           bool captured, gr_table **out, gr_error *error);
void gr_table_release(gr_tables *tables, gr_table *table);
gr_devptr gr_table_address(const gr_table *table);

#endif
