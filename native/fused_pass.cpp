#include "fused_pass.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "parallel.h"

namespace rg {

namespace {

constexpr npy_intp TILE_BYTES = 4096;
constexpr npy_intp GRAIN = 1 << 15;  // elements that a thread takes at a time

// Goes through the elements of an operand in the order of the result.
class Walk {
 public:
  Walk(const Steps& steps, const void* data, npy_intp start) : steps_(steps), here_(static_cast<const char*>(data)) {
    for (int d = steps.nd - 1; d >= 0; d--) {
      at_[d] = start % steps.dims[d];
      start /= steps.dims[d];
      here_ += at_[d] * steps.strides[d];
    }
  }

  // Copies the next `count` elements.
  template <class T>
  void take(T* to, npy_intp count) {
    const int last = steps_.nd - 1;
    const npy_intp stride = steps_.strides[last];
    while (count > 0) {
      const npy_intp part = std::min(count, steps_.dims[last] - at_[last]);
      copy_row(to, part, stride);
      to += part;
      count -= part;
      at_[last] += part;
      here_ += part * stride;
      for (int d = last; d > 0 && at_[d] == steps_.dims[d]; d--) {
        here_ += steps_.strides[d - 1] - at_[d] * steps_.strides[d];
        at_[d] = 0;
        at_[d - 1]++;
      }
    }
  }

 private:
  template <class T>
  void copy_row(T* to, npy_intp count, npy_intp stride) const {
    if (stride == sizeof(T)) {
      std::memcpy(to, here_, static_cast<size_t>(count) * sizeof(T));
    } else if (stride == 0) {
      std::fill_n(to, count, *reinterpret_cast<const T*>(here_));
    } else {
      for (npy_intp i = 0; i < count; i++) to[i] = *reinterpret_cast<const T*>(here_ + i * stride);
    }
  }

  const Steps& steps_;
  const char* here_;
  npy_intp at_[NPY_MAXDIMS];
};

inline const void* moved(const void* data, npy_intp bytes) { return static_cast<const char*>(data) + bytes; }
inline void* moved(void* data, npy_intp bytes) { return static_cast<char*>(data) + bytes; }

// Elements [begin, end) of a pass whose operands all lie as the result does.
void run_flat(const Pass& pass, npy_intp begin, npy_intp end) {
  const void* in[FUSED_SLOTS] = {};
  void* out[FUSED_RESULTS] = {};
  for (int s = 0; s < FUSED_SLOTS; s++)
    if (pass.used >> s & 1) in[s] = moved(pass.in[s], begin * pass.size);
  for (int r = 0; r < pass.results; r++) out[r] = moved(pass.out[r], begin * pass.size);
  pass.loop(in, out, pass.params, end - begin);
}

bool is_number(const Steps& steps) { return steps.nd == 1 && steps.strides[0] == 0; }

// Elements [begin, end) of a pass in which operands lie as the result does, or are numbers: each fills a tile once.
template <class T>
void run_numbers(const Pass& pass, npy_intp begin, npy_intp end) {
  constexpr npy_intp TILE = TILE_BYTES / sizeof(T);
  alignas(64) T tiles[FUSED_SLOTS][TILE];
  const void* in[FUSED_SLOTS] = {};
  void* out[FUSED_RESULTS] = {};
  for (int s = 0; s < FUSED_SLOTS; s++) {
    if (!(pass.stepped >> s & 1)) continue;
    std::fill_n(tiles[s], std::min(TILE, end - begin), *static_cast<const T*>(pass.in[s]));
    in[s] = tiles[s];
  }
  const unsigned flat = pass.used & ~pass.stepped;
  for (npy_intp at = begin; at < end; at += TILE) {
    for (int s = 0; s < FUSED_SLOTS; s++)
      if (flat >> s & 1) in[s] = moved(pass.in[s], at * pass.size);
    for (int r = 0; r < pass.results; r++) out[r] = moved(pass.out[r], at * pass.size);
    pass.loop(in, out, pass.params, std::min(TILE, end - at));
  }
}

// Elements [begin, end) tile by tile.
template <class T>
void run_tiles(const Pass& pass, npy_intp begin, npy_intp end) {
  constexpr npy_intp TILE = TILE_BYTES / sizeof(T);
  alignas(64) T tiles[FUSED_SLOTS][TILE];
  const Steps none = {0, {}, {}};
  Walk walks[FUSED_SLOTS] = {{pass.stepped & 1 ? pass.steps[0] : none, pass.in[0], begin},
                             {pass.stepped & 2 ? pass.steps[1] : none, pass.in[1], begin},
                             {pass.stepped & 4 ? pass.steps[2] : none, pass.in[2], begin},
                             {pass.stepped & 8 ? pass.steps[3] : none, pass.in[3], begin}};
  const void* in[FUSED_SLOTS] = {};
  void* out[FUSED_RESULTS] = {};
  for (npy_intp at = begin; at < end; at += TILE) {
    const npy_intp count = std::min(TILE, end - at);
    for (int s = 0; s < FUSED_SLOTS; s++) {
      if (!(pass.used >> s & 1)) continue;
      if (!(pass.stepped >> s & 1)) {
        in[s] = moved(pass.in[s], at * pass.size);
        continue;
      }
      in[s] = tiles[s];
      walks[s].take(tiles[s], count);
    }
    for (int r = 0; r < pass.results; r++) out[r] = moved(pass.out[r], at * pass.size);
    pass.loop(in, out, pass.params, count);
  }
}

template <class T>
void run_stepped(const Pass& pass, npy_intp begin, npy_intp end) {
  bool numbers = true;
  for (int s = 0; s < FUSED_SLOTS; s++) numbers = numbers && (!(pass.stepped >> s & 1) || is_number(pass.steps[s]));
  (numbers ? run_numbers<T> : run_tiles<T>)(pass, begin, end);
}

void run_part(const Pass& pass, npy_intp begin, npy_intp end) {
  if (pass.stepped == 0)
    run_flat(pass, begin, end);
  else if (pass.size == sizeof(std::uint32_t))
    run_stepped<std::uint32_t>(pass, begin, end);
  else
    run_stepped<std::uint64_t>(pass, begin, end);
}

}  // namespace

void run(const Pass& pass) {
  if (pass.n < LARGE) {
    if (pass.n > 0) run_part(pass, 0, pass.n);
    return;
  }
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(pass.n, GRAIN, [&](std::ptrdiff_t begin, std::ptrdiff_t end) { run_part(pass, begin, end); });
}

}  // namespace rg
