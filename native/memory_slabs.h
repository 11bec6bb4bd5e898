// Small blocks: cut from slabs, one size to a slab. All functions need the GIL.
#pragma once
#include <cstddef>

namespace rg::slabs {

constexpr size_t LARGEST = 1024;  // bytes; what is larger has a block of its own

void* take(size_t bytes);          // null when there is no memory left
void give(void* memory);           // back to its slab
size_t size_of(const void* memory);  // the block's size, 0 if it is none of ours
size_t reserved();                 // bytes held, used or not
void trim();                       // frees slabs in which nothing is used

}  // namespace rg::slabs
