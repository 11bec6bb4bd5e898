// The noise of dropout. Random bits are those that NumPy's PCG64 would give; it is a linear congruential generator of
// 128 bits, so that threads can begin anywhere in its sequence.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "network.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "dropout.inc"
#include "versions.h"

namespace rg {

#if RG_GNU && defined(__SIZEOF_INT128__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr Wide wide(std::uint64_t high, std::uint64_t low) { return static_cast<Wide>(high) << 64 | low; }

constexpr Wide MULTIPLIER = wide(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u);
constexpr npy_intp DRAWS = 256;     // of 64 bits, made before they are used
constexpr npy_intp PIECE = 1 << 13;  // draws that one thread makes at a time

// x -> x * factor + term: one step of the generator, or many.
struct Steps {
  Wide factor, term;
  Wide operator()(Wide state) const { return state * factor + term; }
  Steps then(Steps next) const { return {factor * next.factor, term * next.factor + next.term}; }
};

Steps repeated(Steps step, std::uint64_t times) {
  Steps all{1, 0};
  for (; times != 0; times >>= 1, step = step.then(step))
    if (times & 1) all = all.then(step);
  return all;
}

inline std::uint64_t output(Wide state) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
  const unsigned turn = static_cast<unsigned>(state >> 122);
  return mixed >> turn | mixed << (-turn & 63);
}

// The draws that follow a state, four sequences side by side so that products need not wait for each other.
class Draws {
 public:
  Draws(Wide state, Steps step) : four_(repeated(step, 4)) {
    for (Wide& lane : lanes_) lane = state = step(state);
  }
  // n is a multiple of 4, but for the last call.
  void fill(std::uint64_t* to, npy_intp n) {
    for (npy_intp i = 0; i < n; i += 4)
      for (int lane = 0; lane < 4; lane++) {
        if (i + lane < n) to[i + lane] = output(lanes_[lane]);
        lanes_[lane] = four_(lanes_[lane]);
      }
  }

 private:
  Steps four_;
  Wide lanes_[4];
};

// Where a stream is: its state, and the half of a draw that is still to be used, if there is one.
struct Stream {
  Wide state;
  Steps step;
  bool half;
  std::uint32_t bits;
};

struct Choice {
  std::uint32_t cut;
  double scale;
};

// Noise for n numbers, two from each draw: the low half comes first.
template <class T>
void fill(const Stream& stream, const Choice& choice, T* out, npy_intp n) {
  static const auto run =
      Versions<void (*)(const std::uint32_t*, T*, Index, std::uint32_t, T)>{RG_VERSIONS(choose<T>)}.pick();
  const npy_intp draws = (n + 1) / 2, pieces = (draws + PIECE - 1) / PIECE;
  over(pieces, 2 * PIECE, [&](npy_intp first, npy_intp last) {
    std::uint64_t drawn[DRAWS];
    std::uint32_t bits[2 * DRAWS];
    Draws source(repeated(stream.step, static_cast<std::uint64_t>(first * PIECE))(stream.state), stream.step);
    for (npy_intp begin = first * PIECE, end = std::min(last * PIECE, draws); begin < end; begin += DRAWS) {
      const npy_intp count = std::min(DRAWS, end - begin);
      source.fill(drawn, count);
      std::memcpy(bits, drawn, sizeof bits);
      run(bits, out + 2 * begin, std::min(2 * count, n - 2 * begin), choice.cut, static_cast<T>(choice.scale));
    }
  });
}

// Fills an array and moves the stream on.
template <class T>
void draw(Stream* stream, const Choice& choice, PyObject* to) {
  T* out = data<T>(to);
  npy_intp n = size_of(to);
  if (stream->half && n > 0) {
    *out++ = (stream->bits >> 8) >= choice.cut ? static_cast<T>(choice.scale) : T(0);
    stream->half = false;
    n--;
  }
  fill(*stream, choice, out, n);
  if (n == 0) return;
  stream->state = repeated(stream->step, static_cast<std::uint64_t>((n + 1) / 2))(stream->state);
  stream->half = n % 2 != 0;
  stream->bits = static_cast<std::uint32_t>(output(stream->state) >> 32);
}

// (like, p, scale, state: six numbers of 64 bits or less): an array of `like`'s shape, and the state that follows
PyObject* py_noise(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(args[3])) return not_served();
  unsigned long long high, low, more_high, more_low;
  int half;
  unsigned int bits;
  double p, scale;
  if (!PyArg_ParseTuple(args[3], "KKKKpI", &high, &low, &more_high, &more_low, &half, &bits)) return nullptr;
  if (!read_real(args[1], &p) || !read_real(args[2], &scale)) return nullptr;
  if (!(p >= 0 && p <= 1) || !is_real(args[0])) return not_served();
  Ref out(new_like(args[0]));
  if (!out) return nullptr;
  Stream stream{wide(high, low), {MULTIPLIER, wide(more_high, more_low)}, half != 0, bits};
  const double cut = std::ceil(static_cast<double>(static_cast<float>(p)) * 16777216);  // 2**24
  const Choice choice{static_cast<std::uint32_t>(cut), scale};
  if (kind(args[0]) == NPY_FLOAT)
    draw<float>(&stream, choice, out.get());
  else
    draw<double>(&stream, choice, out.get());
  high = static_cast<unsigned long long>(stream.state >> 64);
  low = static_cast<unsigned long long>(stream.state);
  return Py_BuildValue("(NKKiI)", out.release(), high, low, static_cast<int>(stream.half), stream.bits);
}

}  // namespace

#else

namespace {

PyObject* py_noise(PyObject*, Args, Py_ssize_t) { return not_served(); }

}  // namespace

#endif

PyMethodDef dropout_methods[] = {
    method<py_noise>("noise", "noise(like, p, scale, state): 0 with probability p, else scale; and the next state."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
