#include "memory_blocks.h"

#include <algorithm>
#include <cstdint>

#include "memory_system.h"
#include "portable.h"

namespace rg::blocks {

namespace {

constexpr size_t STEPS = 8;  // sizes between one power of two and the next: an eighth is lost at most
constexpr size_t CLASSES = 64 * STEPS;
constexpr size_t SLACK = size_t{64} << 20;  // bytes that may always be kept for reuse
constexpr size_t LARGEST = ~size_t{0} / 4;  // of a block: sizes above are rounded up to nothing that exists
constexpr size_t PAGE = 4096, PAGES = 64 * PAGE;

// What lies in front of a block's memory. `next` and `previous` link cached blocks of one size, `newer` and `older` all
// cached blocks by the time they were given back.
struct alignas(64) Head {
  size_t size;
  Head *next, *previous, *newer, *older;
  uint32_t size_class;
};

Head* by_size[CLASSES];
Head* newest = nullptr;
Head* oldest = nullptr;
size_t in_use = 0;
size_t in_cache = 0;
size_t most_in_use = 0;  // since the cache was emptied
size_t most_in_cache = UNLIMITED;

Head* head_of(const void* memory) { return static_cast<Head*>(const_cast<void*>(memory)) - 1; }

int log2_of(size_t n) {
#if RG_GNU
  return 63 - __builtin_clzll(n);
#else
  int bits = 0;
  while (n >>= 1) bits++;
  return bits;
#endif
}

// The size class of at least `bytes`, and the size that its blocks have. The last step is the next power of two.
uint32_t class_of(size_t bytes, size_t* size) {
  bytes = std::max<size_t>(bytes, 64 * STEPS);
  const int power = log2_of(bytes);
  const size_t whole = size_t{1} << power, step = whole / STEPS, steps = (bytes - whole + step - 1) / step;
  *size = whole + steps * step;
  return static_cast<uint32_t>(power * STEPS + steps);
}

void link(Head* block) {
  Head*& first = by_size[block->size_class];
  block->next = first;
  block->previous = nullptr;
  if (first != nullptr) first->previous = block;
  first = block;
  block->older = newest;
  block->newer = nullptr;
  (newest != nullptr ? newest->newer : oldest) = block;
  newest = block;
  in_cache += block->size;
}

void unlink(Head* block) {
  (block->previous != nullptr ? block->previous->next : by_size[block->size_class]) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  (block->older != nullptr ? block->older->newer : oldest) = block->newer;
  (block->newer != nullptr ? block->newer->older : newest) = block->older;
  in_cache -= block->size;
}

// How far from the start of a page a block begins. Large arrays of NumPy begin at the start of one, and processors take
// a number that is written for one that is read soon after if both have the same place in their pages.
size_t shift_of(size_t size) { return size >= PAGES ? PAGE / 2 : 0; }

void to_system(Head* block) { system_free(reinterpret_cast<char*>(block) - shift_of(block->size)); }

void drop_oldest() {
  Head* block = oldest;
  unlink(block);
  to_system(block);
}

// What the cache may hold now: together with what is in use not much more than was in use at once before.
size_t allowed() {
  size_t most = most_in_use + most_in_use / 4;
  return std::min(most_in_cache, std::max(SLACK, most > in_use ? most - in_use : 0));
}

Head* from_system(size_t size, uint32_t size_class) {
  bool huge = size >= 2 * HUGE_PAGE;
  const size_t shift = shift_of(size), whole = size + sizeof(Head) + shift;
  size_t alignment = huge ? HUGE_PAGE : shift != 0 ? PAGE : 64;
  auto* memory = static_cast<char*>(system_allocate(whole, alignment));
  if (memory == nullptr) return nullptr;
  if (huge) prefer_huge_pages(memory, whole);
  auto* block = reinterpret_cast<Head*>(memory + shift);
  block->size = size;
  block->size_class = size_class;
  return block;
}

}  // namespace

void* take(size_t bytes) {
  if (bytes > LARGEST) return nullptr;
  size_t size = 0;
  uint32_t size_class = class_of(bytes, &size);
  Head* block = by_size[size_class];
  if (block != nullptr) {
    unlink(block);
  } else {
    const size_t most_before = most_in_use;
    in_use += size;
    most_in_use = std::max(most_in_use, in_use);
    while (oldest != nullptr && in_cache > allowed()) drop_oldest();
    in_use -= size;
    most_in_use = most_before;
    block = from_system(size, size_class);
    if (block == nullptr && oldest != nullptr) {
      trim();
      block = from_system(size, size_class);
    }
    if (block == nullptr) return nullptr;
  }
  in_use += size;
  most_in_use = std::max(most_in_use, in_use);
  usage.take(size);
  show(block + 1, bytes);
  hide(reinterpret_cast<char*>(block + 1) + bytes, size - bytes);
  return block + 1;
}

void give(void* memory) {
  Head* block = head_of(memory);
  hide(memory, block->size);
  in_use -= block->size;
  usage.give(block->size);
  if (block->size > most_in_cache) return to_system(block);
  link(block);
  while (oldest != nullptr && in_cache > allowed()) drop_oldest();
}

size_t size_of(const void* memory) { return head_of(memory)->size; }
size_t limit() { return most_in_cache; }
size_t reserved() { return in_use + in_cache; }
size_t cached() { return in_cache; }

void set_limit(size_t bytes) {
  most_in_cache = bytes;
  while (oldest != nullptr && in_cache > allowed()) drop_oldest();
}

void trim() {
  while (oldest != nullptr) drop_oldest();
  most_in_use = in_use;
}

}  // namespace rg::blocks
