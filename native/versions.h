// Compiles the file named by RG_KERNELS once per instruction set, into namespaces base, avx2 and avx512.
//
//     #define RG_KERNELS "softmax.inc"
//     #include "versions.h"
//     const auto row = rg::Versions<RowFunction>{RG_VERSIONS(softmax_row<float>)}.pick();
//
// The file may not include other headers than .inc files: what they define would be compiled for the wrong processor.
// What it defines is unnamed to other sources: two of them may have functions of the same name.
#include "isa.h"

// On x86 this one is for processors from before 2013: it is compiled quickly, and small.
#if RG_X86 && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif
#define RG_BYTES 16  // the size of a register, which the file may use
namespace base {
namespace {
#include RG_KERNELS
}
}  // namespace base
#undef RG_BYTES
#if RG_X86 && !defined(__clang__)
#pragma GCC pop_options
#endif

#if RG_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define RG_BYTES 32
namespace avx2 {
namespace {
#include RG_KERNELS
}
}  // namespace avx2
#undef RG_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#endif
#define RG_BYTES 64
namespace avx512 {
namespace {
#include RG_KERNELS
}
}  // namespace avx512
#undef RG_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#define RG_VERSIONS(...) base::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__
#else
#define RG_VERSIONS(...) base::__VA_ARGS__, base::__VA_ARGS__, base::__VA_ARGS__
#endif
