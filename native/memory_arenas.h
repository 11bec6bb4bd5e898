// The memory behind Python's small objects: arenas that are kept for the next graph, if somebody asks for it.
#pragma once
#include <cstddef>

namespace rg::arenas {

void keep(bool wanted);        // from now on arenas are kept, or not any more; needs the GIL
size_t kept();                 // bytes held for reuse
void set_limit(size_t bytes);  // of what is kept, if that is below the usual bound
void trim();                   // gives back what is kept

}  // namespace rg::arenas
