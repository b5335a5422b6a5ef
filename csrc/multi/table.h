/* Tables of arrays in device memory. The last few are kept: a call with the same arrays as an earlier one
   copies nothing. */
#ifndef GR_MULTI_TABLE_H
#define GR_MULTI_TABLE_H

#include "device/device.h"
#include "multi/params.h"

typedef struct gr_multi_table gr_multi_table;
typedef struct gr_multi_tables gr_multi_tables;

/* Returns an empty set of tables, or NULL without host memory. */
gr_multi_tables *gr_multi_tables_open(void);
/* Frees all tables, while the registry of devices is open. NULL is allowed. */
void gr_multi_tables_close(gr_multi_tables *tables);

/* Finds the table of these rows on a device, or makes it; the device is attached. Waits for the copy of a new
   table, not for other work. `captured`: a graph will read the table, which is then kept until
   gr_multi_tables_close. The caller releases the table when its work is enqueued. */
gr_status gr_multi_table_acquire(gr_multi_tables *tables, gr_device *device, const gr_multi_array *rows,
                                 size_t count, bool captured, gr_multi_table **out, gr_error *error);
void gr_multi_table_release(gr_multi_tables *tables, gr_multi_table *table);
gr_devptr gr_multi_table_address(const gr_multi_table *table);

#endif
