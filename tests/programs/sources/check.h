// What the programs of these tests have in common: a call that has to succeed, and a condition that has to
// hold.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(error_), cudaGetErrorString(error_));     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define FAILS(call, code)                                                                                    \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != (code) || cudaGetLastError() != (code)) {                                              \
            printf("line %d: %s instead of %s\n", __LINE__, cudaGetErrorName(error_), #code);                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
