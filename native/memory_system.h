// Aligned memory from the operating system's allocator, and the count of what is in use.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "portable.h"

#if RG_WINDOWS
#include <malloc.h>
#elif RG_LINUX
#include <sys/mman.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace rg {

constexpr size_t HUGE_PAGE = size_t{1} << 21;

// What blocks of either kind are in use, and what happened so far.
struct Usage {
  size_t bytes = 0, most_bytes = 0, blocks = 0, most_blocks = 0, takes = 0, system_takes = 0;

  void take(size_t size) {
    takes++;
    bytes += size;
    most_bytes = std::max(most_bytes, bytes);
    blocks++;
    most_blocks = std::max(most_blocks, blocks);
  }
  void give(size_t size) {
    bytes -= size;
    blocks--;
  }
};

extern Usage usage;

// Null when there is none left.
inline void* system_allocate(size_t size, size_t alignment) {
  usage.system_takes++;
#if RG_WINDOWS
  return _aligned_malloc(size, alignment);
#elif RG_POSIX
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
#else
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
#endif
}

inline void system_free(void* memory) {
#if RG_WINDOWS
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

// For AddressSanitizer: makes what nobody has asked for out of bounds, and what somebody has asked for not.
inline void hide([[maybe_unused]] void* memory, [[maybe_unused]] size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(memory, size);
#endif
}
inline void show([[maybe_unused]] void* memory, [[maybe_unused]] size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(memory, size);
#endif
}

// Asks for huge pages where a block holds whole ones: one page fault then does the work of 512.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t size) {
#if RG_LINUX && defined(MADV_HUGEPAGE)
  madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
}

}  // namespace rg
