"""Kernels: one op per file, with its plain reference beside the fast path. Tensors in, tensors out."""
