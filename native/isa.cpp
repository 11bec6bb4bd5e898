#include "isa.h"

#include <cstdlib>
#include <cstring>

namespace rg {

namespace {

Isa best() {
#if RG_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::base;
}

Isa chosen() {
  Isa found = best();
  const char* asked = std::getenv("RETROGRAD_ISA");
  if (asked == nullptr) return found;
  if (std::strcmp(asked, "base") == 0) return Isa::base;
  if (std::strcmp(asked, "avx2") == 0 && found == Isa::avx512) return Isa::avx2;
  return found;
}

}  // namespace

Isa isa() {
  static const Isa found = chosen();
  return found;
}

const char* isa_name() { return isa() == Isa::avx512 ? "avx512" : isa() == Isa::avx2 ? "avx2" : "base"; }

}  // namespace rg
