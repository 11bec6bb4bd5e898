// Which instruction sets this processor has, of those that kernels are compiled for.
#pragma once

// RETROGRAD_PORTABLE leaves out what only some processors, compilers and systems have, so that what is there for all
// others can be tested on any machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(RETROGRAD_PORTABLE)
#define RG_X86 1
#else
#define RG_X86 0
#endif

namespace rg {

enum class Isa { base, avx2, avx512 };

Isa isa();  // the best one, found once; RETROGRAD_ISA=base|avx2|avx512 asks for less
const char* isa_name();

// One entry per instruction set; `pick` gives that of this processor, `narrower` the one for what fills half a register.
template <class F>
struct Versions {
  F base, avx2, avx512;
  F pick() const { return isa() == Isa::avx512 ? avx512 : narrower(); }
  F narrower() const { return isa() == Isa::base ? base : avx2; }
};

}  // namespace rg
