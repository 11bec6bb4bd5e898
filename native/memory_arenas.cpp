#include "memory_arenas.h"

#include <Python.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace rg::arenas {

namespace {

// Python takes memory for small objects, the nodes of a graph among them, in arenas of a megabyte, and gives an arena
// back to the system once nothing in it lives. A large graph does so on every step, and the system clears each page
// anew: that took a third of the time of a chain of 100,000 nodes. So some arenas wait here for the next step.

constexpr size_t MOST = size_t{128} << 20;  // bytes that are kept
constexpr size_t WHOLE = size_t{1} << 18;   // Python's stacks come from here as well, in smaller pieces

struct Arena {
  Arena* next;
};

PyObjectArenaAllocator below;  // Python's own, or what another extension has put in its place
std::mutex mutex;              // interpreters with a GIL of their own share what is kept
Arena* first = nullptr;
size_t size_of_each = 0;
size_t bytes = 0;
size_t limit = MOST;
bool keeping = false;  // whether Python gives arenas to us

void* take(void*, size_t size) {
  {
    std::lock_guard<std::mutex> hold(mutex);
    if (first != nullptr && size == size_of_each) {
      Arena* arena = first;
      first = arena->next;
      bytes -= size;
      return arena;
    }
  }
  return below.alloc(below.ctx, size);
}

void give(void*, void* memory, size_t size) {
  {
    std::lock_guard<std::mutex> hold(mutex);
    if (size >= WHOLE && bytes + size <= limit && (first == nullptr || size == size_of_each)) {
      first = new (memory) Arena{first};
      size_of_each = size;
      bytes += size;
      return;
    }
  }
  below.free(below.ctx, memory, size);
}

}  // namespace

// Arenas come from `below` in any case, so that it can take them back after the switch is off again.
void keep(bool on) {
  if (on == keeping) return;
  if (on) {
    PyObject_GetArenaAllocator(&below);
    PyObjectArenaAllocator ours = {nullptr, take, give};
    PyObject_SetArenaAllocator(&ours);
  } else {
    PyObject_SetArenaAllocator(&below);
    trim();
  }
  keeping = on;
}

size_t kept() { return bytes; }

void set_limit(size_t most) {
  limit = std::min(most, MOST);
  if (bytes > limit) trim();
}

void trim() {
  std::lock_guard<std::mutex> hold(mutex);
  while (first != nullptr) {
    Arena* arena = first;
    first = arena->next;
    below.free(below.ctx, arena, size_of_each);
  }
  bytes = 0;
}

}  // namespace rg::arenas
