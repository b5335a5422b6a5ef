"""Device arrays: views, copies, and exchange through DLPack and ``__cuda_array_interface__``."""
