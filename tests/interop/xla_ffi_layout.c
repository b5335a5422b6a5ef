/* Compares csrc/jax/xla_ffi.h with the header of a jaxlib, by static assertions: test_jax.py compiles it
   against the oldest and the newest jaxlib. */
#include <xla/ffi/api/c_api.h>

#include "jax/xla_ffi.h"

#define SAME(condition) _Static_assert(condition, #condition)
#define FIELD(theirs, their_field, ours, our_field)                                                          \
    SAME(offsetof(struct XLA_FFI_##theirs, their_field) == offsetof(xla_ffi_##ours, our_field));             \
    SAME(sizeof(((struct XLA_FFI_##theirs *)0)->their_field) == sizeof(((xla_ffi_##ours *)0)->our_field))
#define DTYPE(name) SAME((int)XLA_FFI_DataType_##name == (int)XLA_FFI_##name)

SAME(XLA_FFI_API_MAJOR == XLA_FFI_VERSION_MAJOR);
SAME((int)XLA_FFI_API_MINOR >= (int)XLA_FFI_VERSION_MINOR);

FIELD(Api_Version, struct_size, version, struct_size);
FIELD(Api_Version, extension_start, version, extensions);
FIELD(Api_Version, major_version, version, major);
FIELD(Api_Version, minor_version, version, minor);
SAME(XLA_FFI_Api_Version_STRUCT_SIZE == XLA_FFI_SIZE(xla_ffi_version, minor));

FIELD(Metadata, api_version, metadata, version);
FIELD(Metadata, traits, metadata, traits);
FIELD(Metadata_Extension, metadata, metadata_extension, metadata);
SAME((int)XLA_FFI_Extension_Metadata == (int)XLA_FFI_EXTENSION_METADATA);
SAME((int)XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE == (int)XLA_FFI_COMMAND_BUFFER_COMPATIBLE);

FIELD(Error_Create_Args, message, error_args, message);
FIELD(Error_Create_Args, errc, error_args, code);
SAME(XLA_FFI_Error_Create_Args_STRUCT_SIZE == XLA_FFI_SIZE(xla_ffi_error_args, code));
SAME((int)XLA_FFI_Error_Code_INVALID_ARGUMENT == (int)XLA_FFI_INVALID_ARGUMENT);
SAME((int)XLA_FFI_Error_Code_RESOURCE_EXHAUSTED == (int)XLA_FFI_RESOURCE_EXHAUSTED);
SAME((int)XLA_FFI_Error_Code_INTERNAL == (int)XLA_FFI_INTERNAL);

DTYPE(PRED);
DTYPE(S8);
DTYPE(S16);
DTYPE(S32);
DTYPE(S64);
DTYPE(U8);
DTYPE(U16);
DTYPE(U32);
DTYPE(U64);
DTYPE(F16);
DTYPE(F32);
DTYPE(F64);
DTYPE(C64);
DTYPE(BF16);
DTYPE(C128);

FIELD(Buffer, dtype, buffer, dtype);
FIELD(Buffer, data, buffer, data);
FIELD(Buffer, rank, buffer, rank);
FIELD(Buffer, dims, buffer, dims);
SAME((int)XLA_FFI_ArgType_BUFFER == 1 && (int)XLA_FFI_RetType_BUFFER == 1);

SAME((int)XLA_FFI_AttrType_ARRAY == (int)XLA_FFI_ATTRIBUTE_ARRAY);
SAME((int)XLA_FFI_AttrType_SCALAR == (int)XLA_FFI_ATTRIBUTE_SCALAR);
SAME((int)XLA_FFI_AttrType_STRING == (int)XLA_FFI_ATTRIBUTE_STRING);
FIELD(ByteSpan, ptr, text, data);
FIELD(ByteSpan, len, text, bytes);
FIELD(Scalar, dtype, scalar, dtype);
FIELD(Scalar, value, scalar, value);
FIELD(Array, dtype, array, dtype);
FIELD(Array, size, array, size);
FIELD(Array, data, array, data);

FIELD(Args, size, buffers, size);
FIELD(Args, types, buffers, types);
FIELD(Args, args, buffers, items);
FIELD(Rets, size, buffers, size);
FIELD(Rets, types, buffers, types);
FIELD(Rets, rets, buffers, items);
FIELD(Attrs, size, attributes, size);
FIELD(Attrs, types, attributes, types);
FIELD(Attrs, names, attributes, names);
FIELD(Attrs, attrs, attributes, items);

FIELD(CallFrame, extension_start, frame, extensions);
FIELD(CallFrame, api, frame, api);
FIELD(CallFrame, ctx, frame, context);
FIELD(CallFrame, stage, frame, stage);
FIELD(CallFrame, args, frame, operands);
FIELD(CallFrame, rets, frame, results);
FIELD(CallFrame, attrs, frame, attributes);

FIELD(Stream_Get_Args, stream, stream_args, stream);
SAME(XLA_FFI_Stream_Get_Args_STRUCT_SIZE == XLA_FFI_SIZE(xla_ffi_stream_args, stream));
FIELD(Api, XLA_FFI_Error_Create, api, error_create);
FIELD(Api, XLA_FFI_Stream_Get, api, stream_get);
