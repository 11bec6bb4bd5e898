// A Mersenne Twister, which Python holds as a capsule. Whoever draws holds the GIL.
#pragma once
#include <algorithm>
#include <cstdint>

#include "network.h"

namespace rg {

constexpr int TWISTER_WORDS = 624;
constexpr const char* TWISTER = "retrograd.twister";

// Turns the state over: its next words, as they are drawn.
using Turn = void (*)(std::uint32_t* state, std::uint32_t* drawn);

struct Twister {
  std::uint32_t state[TWISTER_WORDS];
  std::uint32_t drawn[TWISTER_WORDS];
  int place;  // of the next word in `drawn`; behind its end, the state is turned over first

  void seed(std::uint32_t number) {
    for (int i = 0; i < TWISTER_WORDS; i++) {
      state[i] = number;
      number = 1812433253u * (number ^ number >> 30) + static_cast<std::uint32_t>(i + 1);
    }
    place = TWISTER_WORDS;
  }
};

// Null with an exception set if it is none.
inline Twister* twister_of(PyObject* capsule) { return static_cast<Twister*>(PyCapsule_GetPointer(capsule, TWISTER)); }

class Words {
 public:
  Words(PyObject* capsule, Turn turn) : twister_(twister_of(capsule)), turn_(turn) {}
  explicit operator bool() const { return twister_ != nullptr; }  // else an exception is set
  std::uint32_t next() {
    turn_over();
    return twister_->drawn[twister_->place++];
  }
  std::uint64_t wide() {
    const std::uint64_t high = next();
    return high << 32 | next();
  }
  double unit() { return static_cast<double>(static_cast<std::int64_t>(wide() & 0x1fffffffffffffu)) * 0x1p-53; }

  // Calls make(words, out, n) for parts of n numbers, each of which takes `each` words.
  template <class T, class Make>
  void fill(T* out, npy_intp count, int each, const Make& make) {
    std::uint32_t words[MANY];
    for (npy_intp n; count > 0; count -= n, out += n) {
      n = std::min<npy_intp>(count, MANY / each);
      take(words, static_cast<int>(n) * each);
      make(words, out, n);
    }
  }

 private:
  static constexpr int MANY = 512;  // words that are drawn before they are used

  void turn_over() {
    if (twister_->place < TWISTER_WORDS) return;
    turn_(twister_->state, twister_->drawn);
    twister_->place = 0;
  }
  void take(std::uint32_t* out, int count) {
    for (int n; count > 0; count -= n, out += n) {
      turn_over();
      n = std::min(count, TWISTER_WORDS - twister_->place);
      std::copy_n(twister_->drawn + twister_->place, n, out);
      twister_->place += n;
    }
  }

  Twister* twister_;
  Turn turn_;
};

}  // namespace rg
