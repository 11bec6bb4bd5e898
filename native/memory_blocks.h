// Large blocks: kept for reuse by size when they are given back. All functions need the GIL.
#pragma once
#include <cstddef>

namespace rg::blocks {

constexpr size_t UNLIMITED = ~size_t{0};

void* take(size_t bytes);             // null when there is no memory left
void give(void* memory);              // into the cache, or to the system
size_t size_of(const void* memory);   // how many bytes the block holds
void set_limit(size_t bytes);         // of the cache; what is above goes back to the system at once
size_t limit();
size_t reserved();                    // bytes held, used or not
size_t cached();                      // bytes held for reuse
void trim();                          // empties the cache

}  // namespace rg::blocks
