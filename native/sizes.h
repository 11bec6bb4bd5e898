// Products of sizes. Shapes may be virtual (a broadcast array has more elements than memory), so every product of
// lengths that decides about memory goes through here: none wraps around.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rg {

// *product *= factor; false where either is negative or the product is more than any memory has.
inline bool grow(std::ptrdiff_t* product, std::ptrdiff_t factor) {
  if (*product < 0 || factor < 0) return false;
#if defined(__GNUC__)
  return !__builtin_mul_overflow(*product, factor, product);
#else
  if (factor > 0 && *product > PTRDIFF_MAX / factor) return false;
  *product *= factor;
  return true;
#endif
}

// *product *= all lengths, also where one of them is 0: what lies beside it may not be too large either.
inline bool grow(std::ptrdiff_t* product, int count, const std::ptrdiff_t* lengths) {
  std::ptrdiff_t found = *product;
  bool empty = false;
  for (int i = 0; i < count; i++) {
    const std::ptrdiff_t n = lengths[i];
    empty |= n == 0;
    if (n != 0 && !grow(&found, n)) return false;
  }
  *product = empty ? 0 : found;
  return true;
}

}  // namespace rg
