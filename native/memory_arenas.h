// The memory behind Python's small objects: arenas that are kept for the next graph.
#pragma once
#include <cstddef>

namespace rg::arenas {

void keep(bool on);            // whether arenas are kept from now on
size_t kept();                 // bytes held for reuse
void set_limit(size_t bytes);  // of what is kept, if that is below the usual bound
void trim();                   // gives back what is kept

}  // namespace rg::arenas
