#include "memory_slabs.h"

#include <cstdint>
#include <new>
#include <unordered_set>

#include "memory_system.h"

namespace rg::slabs {

namespace {

constexpr size_t UNIT = 64;       // sizes are multiples of it
constexpr size_t SIZES = LARGEST / UNIT;
constexpr size_t SPARES = 64;  // empty slabs kept for the next need

struct Free {
  Free* next;
};

// The head of a slab; blocks follow it. `next` and `previous` link slabs of one size that have room.
struct alignas(UNIT) Slab {
  Slab* next;
  Slab* previous;
  Free* free;     // given back
  char* fresh;    // never used yet, up to the end
  uint32_t used;  // blocks in use
  uint32_t size;  // of a block
  bool listed;    // among those with room
};

Slab* with_room[SIZES + 1];
Slab* spare = nullptr;
size_t spares = 0;

std::unordered_set<uintptr_t>& all() {
  static auto* slabs = new std::unordered_set<uintptr_t>;  // never destroyed: arrays may outlive static objects
  return *slabs;
}

char* end_of(Slab* slab) { return reinterpret_cast<char*>(slab) + SLAB; }
Slab* slab_of(const void* memory) { return reinterpret_cast<Slab*>(slab_address(memory)); }

void enlist(Slab* slab) {
  Slab*& head = with_room[slab->size / UNIT];
  slab->next = head;
  slab->previous = nullptr;
  if (head != nullptr) head->previous = slab;
  head = slab;
  slab->listed = true;
}

void unlist(Slab* slab) {
  if (slab->previous != nullptr)
    slab->previous->next = slab->next;
  else
    with_room[slab->size / UNIT] = slab->next;
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  slab->listed = false;
}

Slab* from_system() {
  auto* slab = static_cast<Slab*>(system_allocate(SLAB, SLAB));
  if (slab == nullptr) return nullptr;
  try {
    all().insert(slab_address(slab));
  } catch (const std::bad_alloc&) {
    system_free(slab);
    return nullptr;
  }
  recent_at(slab_address(slab)) = slab_address(slab);
  return slab;
}

Slab* new_slab(size_t size) {
  Slab* slab = spare;
  if (slab != nullptr) {
    spare = slab->next;
    spares--;
  } else if ((slab = from_system()) == nullptr) {
    return nullptr;
  }
  slab->free = nullptr;
  slab->fresh = reinterpret_cast<char*>(slab + 1);
  slab->used = 0;
  slab->size = static_cast<uint32_t>(size);
  hide(slab->fresh, static_cast<size_t>(end_of(slab) - slab->fresh));
  enlist(slab);
  return slab;
}

void to_system(Slab* slab) {
  uintptr_t& known = recent_at(slab_address(slab));
  if (known == slab_address(slab)) known = 0;
  all().erase(slab_address(slab));
  system_free(slab);
}

// An empty slab can serve another size; beyond a few they go back to the system.
void retire(Slab* slab) {
  unlist(slab);
  if (spares == SPARES) return to_system(slab);
  slab->next = spare;
  spare = slab;
  spares++;
}

}  // namespace

void* take(size_t bytes) {
  size_t units = bytes == 0 ? 1 : (bytes + UNIT - 1) / UNIT;
  Slab* slab = with_room[units];
  if (slab == nullptr && (slab = new_slab(units * UNIT)) == nullptr) return nullptr;
  void* taken = slab->free;
  if (taken != nullptr) {
    slab->free = slab->free->next;
  } else {
    taken = slab->fresh;
    slab->fresh += slab->size;
  }
  slab->used++;
  usage.take(slab->size);
  if (slab->free == nullptr && slab->fresh + slab->size > end_of(slab)) unlist(slab);
  show(taken, bytes);
  return taken;
}

void give(void* memory) {
  Slab* slab = slab_of(memory);
  auto* block = static_cast<Free*>(memory);
  hide(memory, slab->size);
  show(memory, sizeof(Free));
  block->next = slab->free;
  slab->free = block;
  usage.give(slab->size);
  if (!slab->listed) enlist(slab);
  if (--slab->used == 0 && (slab->next != nullptr || slab->previous != nullptr)) retire(slab);
}

uintptr_t recent[RECENT];

bool is_slab(uintptr_t address) { return all().count(address) != 0; }

size_t size_of(const void* memory) { return slab_of(memory)->size; }

size_t reserved() { return all().size() * SLAB; }

void trim() {
  for (size_t units = 1; units <= SIZES; units++)
    if (with_room[units] != nullptr && with_room[units]->used == 0) retire(with_room[units]);
  while (spare != nullptr) {
    Slab* next = spare->next;
    to_system(spare);
    spare = next;
  }
  spares = 0;
}

}  // namespace rg::slabs
