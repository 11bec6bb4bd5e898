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

// The compiler: whether it is GCC or one that understands what GCC does, vectors and attributes above all.
#if defined(__GNUC__) && !defined(RETROGRAD_PORTABLE)
#define RG_GNU 1
#else
#define RG_GNU 0
#endif

// The system. Only what these stand for may include a header that C++ does not know.
#if defined(RETROGRAD_PORTABLE)
#define RG_WINDOWS 0
#define RG_POSIX 0
#define RG_LINUX 0
#elif defined(_WIN32)
#define RG_WINDOWS 1
#define RG_POSIX 0
#define RG_LINUX 0
#else
#define RG_WINDOWS 0
#define RG_POSIX 1
#if defined(__linux__)
#define RG_LINUX 1
#else
#define RG_LINUX 0
#endif
#endif

#if !RG_GNU
#define RG_UNROLL
#define RG_INLINE static inline
#define RG_ALWAYS inline
#if defined(_MSC_VER)
#define RG_INDEPENDENT __pragma(loop(ivdep))
#else
#define RG_INDEPENDENT
#endif
#else
#define RG_INLINE static inline __attribute__((always_inline))
#define RG_ALWAYS inline __attribute__((always_inline))  // for members: RG_INLINE without `static`
#if defined(__clang__)
#define RG_UNROLL _Pragma("unroll")
#define RG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RG_UNROLL _Pragma("GCC unroll 16")
#define RG_INDEPENDENT _Pragma("GCC ivdep")
#endif
#endif

namespace rg {

// Memory that begins at a cache line. Throws std::bad_alloc when there is none.
inline void* aligned_memory(std::size_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t(64), std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
inline void aligned_release(void* memory) { ::operator delete(memory, std::align_val_t(64)); }

}  // namespace rg
