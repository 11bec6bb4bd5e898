"""What only some processors, compilers and systems have stands behind a condition that says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = sorted(path for path in NATIVE.glob("*") if path.suffix in {".cpp", ".h", ".inc"})

# What a line may say only where one of the words stands in a condition around it.
GUARDED = {
    r"#include <(imm|x86|emm|xmm|arm_neon)\w*\.h>": ("RG_X86",),
    r"#include <(sys/\w+|unistd|pthread|dlfcn|sched|fcntl|signal)\.h>": ("RG_POSIX", "RG_LINUX"),
    r"#include <(windows|malloc|intrin|process)\.h>": ("RG_WINDOWS",),
    r"#include <sanitizer/": ("__SANITIZE_ADDRESS__",),
    r"\b_mm\d*_\w+\(|\b__m\d+i?\b|__builtin_cpu_|\bGCC target\b": ("RG_X86",),
    r"\b(madvise|mmap)\(": ("RG_LINUX",),
    r"\b(pthread_\w+|posix_memalign)\(": ("RG_POSIX",),
    r"\b_aligned_(malloc|free)\(": ("RG_WINDOWS",),
    r"__attribute__|__builtin_shuffle|__builtin_clz|_Pragma": ("RG_GNU", "RG_X86"),
    r"__builtin_mul_overflow": ("__GNUC__",),
    r"__int128": ("RG_GNU",),
}


def conditions(text: str) -> Iterator[tuple[int, str, str]]:
    """Lines with their number and what holds around them."""
    around: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if found is None:
            yield number, line.split("//")[0], " ".join(c for c in around if not c.startswith("!"))
        elif found[1] == "endif":
            around.pop()
        elif found[1] == "else":
            around[-1] = around[-1][1:] if around[-1].startswith("!") else f"!{around[-1]}"
        elif found[1] == "elif":
            around[-1] = found[2].strip()
        else:
            around.append(("!" if found[1] == "ifndef" else "") + found[2].strip())


def unguarded(name: str, text: str) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()}"
        for number, line, around in conditions(text)
        for pattern, words in GUARDED.items()
        if re.search(pattern, line) and not any(word in around for word in words)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_of_one_system_stands_alone(path: Path) -> None:
    assert unguarded(path.name, path.read_text(encoding="utf-8")) == []


def test_the_check_sees_what_it_looks_for() -> None:
    bare = "#include <immintrin.h>\n#include <sys/mman.h>\nvoid f() { _mm256_add_ps(a, b); }\n"
    assert len(unguarded("a.h", bare)) == 3
    good = "#if RG_X86\n#include <immintrin.h>\n#endif\n#if RG_LINUX\n#include <sys/mman.h>\n#endif\n"
    assert unguarded("a.h", good) == []
    assert unguarded("a.h", "#if RG_X86\n#else\n#include <immintrin.h>\n#endif\n") == [
        "a.h:3: #include <immintrin.h>"
    ]
    assert unguarded("a.h", "#if !RG_GNU\n#else\n__attribute__((x)) void f();\n#endif\n") == []
    assert len(unguarded("a.h", "#if !RG_GNU\n__attribute__((x)) void f();\n#endif\n")) == 1
