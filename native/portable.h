// What compilers and systems spell differently. RG_INDEPENDENT before a loop: no step reads what another writes, though
// the result may lie where an operand does.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

#include "isa.h"
#if RG_X86
#include <immintrin.h>
#endif

#if defined(__clang__)
#define RG_UNROLL _Pragma("unroll")
#define RG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define RG_INLINE static inline __attribute__((always_inline))
#elif defined(__GNUC__)
#define RG_UNROLL _Pragma("GCC unroll 16")
#define RG_INDEPENDENT _Pragma("GCC ivdep")
#define RG_INLINE static inline __attribute__((always_inline))
#else
#define RG_UNROLL
#define RG_INDEPENDENT
#define RG_INLINE static inline
#endif

namespace rg {

// Memory that begins at a cache line. Throws std::bad_alloc when there is none.
inline void* aligned_memory(std::size_t bytes) { return ::operator new(bytes, std::align_val_t(64)); }
inline void aligned_release(void* memory) { ::operator delete(memory, std::align_val_t(64)); }

}  // namespace rg
