// The loops of fused kernels, compiled for each instruction set, and the tables of what they compute. Both are written
// by tools/fuse.py when the pack is built; without them there are no fused kernels.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "fused.h"
#include "portable.h"

#if __has_include("fused_loops.inc")

namespace {
using std::ptrdiff_t;
const double INFINITE = std::numeric_limits<double>::infinity();
const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
}  // namespace

#define RG_KERNELS "fused_kernels.inc"
#include "versions.h"

namespace rg {
namespace {

using base::abs_of;
#define RG_LOOP(name, used, slow) {{RG_VERSIONS(name<float>)}, {RG_VERSIONS(name<double>)}, used, slow}
#include "fused_table.inc"

}  // namespace

const FusedTable fused_table = {loops, leaves, cases, kernels, static_cast<int>(sizeof kernels / sizeof *kernels)};

}  // namespace rg

#else

namespace rg {
const FusedTable fused_table = {nullptr, nullptr, nullptr, nullptr, 0};
}

#endif
