#include "memory_arenas.h"

#include <Python.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace rg::arenas {

namespace {

// Python takes memory for small objects, the nodes of a graph among them, in arenas of a megabyte, and gives an arena
// back to the system once nothing in it lives. A large graph does so on every step, and the system clears each page
// anew. So some arenas may wait here for the next step.
//
// Note [Whose arenas]
// ~~~~~~~~~~~~~~~~~~~
// The allocator of arenas belongs to the whole process, so it is replaced only on request. Ours stands in front of the
// one it has found and asks that one for memory: every arena is a plain one of it, whoever handed it out, and either
// may take it back. So switching on or off at any time is safe. Switching off gives back what waits and puts the
// allocator that was found in its place again; arenas that are in use then go back to that one when they are empty. If
// another extension has put its own allocator in front of ours meanwhile, ours stays where it is and passes on
// everything: taking it away would cut off the other one.

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
bool is_kept = false;    // whether arenas wait here
bool is_asked = false;   // whether Python, or who stands in front of us, asks us for them

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
    if (is_kept && size >= WHOLE && bytes + size <= limit && (first == nullptr || size == size_of_each)) {
      first = new (memory) Arena{first};
      size_of_each = size;
      bytes += size;
      return;
    }
  }
  below.free(below.ctx, memory, size);
}

bool is_in_front() {
  PyObjectArenaAllocator now;
  PyObject_GetArenaAllocator(&now);
  return now.alloc == take && now.free == give;
}

}  // namespace

void keep(bool wanted) {
  if (wanted && !is_asked) {
    PyObject_GetArenaAllocator(&below);
    PyObjectArenaAllocator ours = {nullptr, take, give};
    PyObject_SetArenaAllocator(&ours);
    is_asked = true;
  }
  is_kept = wanted;
  if (wanted) return;
  trim();
  if (!is_asked || !is_in_front()) return;
  PyObject_SetArenaAllocator(&below);
  is_asked = false;
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
