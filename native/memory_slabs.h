// Small blocks: cut from slabs, one size to a slab. All functions need the GIL.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rg::slabs {

constexpr size_t LARGEST = 1024;  // bytes; what is larger has a block of its own

void* take(size_t bytes);          // null when there is no memory left
void give(void* memory);           // back to its slab
size_t size_of(const void* memory);  // of such a block
size_t reserved();                 // bytes held, used or not
void trim();                       // frees slabs in which nothing is used

constexpr size_t SLAB = 1 << 16;  // bytes, and the alignment, so that a block's address names its slab

inline uintptr_t slab_address(const void* memory) { return reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{SLAB - 1}; }

// Slabs by their address, as far as there is room: most questions of `owns` are answered here.
constexpr size_t RECENT = 1024;
extern uintptr_t recent[RECENT];
inline uintptr_t& recent_at(uintptr_t slab) { return recent[slab / SLAB % RECENT]; }
bool is_slab(uintptr_t address);

// Whether memory lies in a slab.
inline bool owns(const void* memory) {
  const uintptr_t slab = slab_address(memory);
  return recent_at(slab) == slab || is_slab(slab);
}

}  // namespace rg::slabs
