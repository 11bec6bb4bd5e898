// Aligned memory from the operating system's allocator, and the count of what is in use.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
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
#ifdef _WIN32
  return _aligned_malloc(size, alignment);
#else
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
#endif
}

inline void system_free(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

// Asks for huge pages where a block holds whole ones: one page fault then does the work of 512.
inline void prefer_huge_pages(void* memory, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)size;
#endif
}

}  // namespace rg
