// Products of sizes. Shapes may be virtual (a broadcast array has more elements than memory), so every product of
// lengths that decides about memory goes through here: none wraps around.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rg {

// *product = a * b for two that are not negative; false where that is more than any memory has.
inline bool multiplies(std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t* product) {
#if defined(__GNUC__)
  return !__builtin_mul_overflow(a, b, product);
#else
  if (b > 0 && a > PTRDIFF_MAX / b) return false;
  *product = a * b;
  return true;
#endif
}

// *product *= factor; false where either is negative or the product is too large.
inline bool grow(std::ptrdiff_t* product, std::ptrdiff_t factor) {
  return *product >= 0 && factor >= 0 && multiplies(*product, factor, product);
}

// *product *= all lengths, also where one of them is 0: what lies beside it may not be too large either.
inline bool grow(std::ptrdiff_t* product, int count, const std::ptrdiff_t* lengths) {
  std::ptrdiff_t found = *product;
  bool empty = false;
  if (found < 0) return false;
  for (int i = 0; i < count; i++) {
    if (lengths[i] > 0) {
      if (!multiplies(found, lengths[i], &found)) return false;
    } else {
      if (lengths[i] < 0) return false;
      empty = true;
    }
  }
  *product = empty ? 0 : found;
  return true;
}

}  // namespace rg
